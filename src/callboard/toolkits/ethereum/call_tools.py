"""Tools that execute a contract's code without a transaction: `call_view_function` and `simulate_contract_call`."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from callboard import Tool, ToolContext, ToolError, tool

from .abi import Abi, AbiEntry, AbiInvalid
from .abi_tools import FunctionSignature
from .abi_values import Arguments, DecodedValue, decode_values, encode_call, shortened_hex
from .client import EthereumClient
from .revert import Revert, decode_revert
from .rpc_errors import Reverted
from .signature import read_signature
from .standards import all_standards
from .values import Address, BlockTag, ChainId, HexData, Wei, block_parameter, read_data, read_quantity


class ViewResult(BaseModel):
    """The values that a function returned."""

    function: str = Field(description="Signature of the function that was called")
    outputs: list[DecodedValue]
    return_data: str | None = Field(default=None, description="Data that no known ABI can decode")


class Simulation(BaseModel):
    """The outcome that a transaction would have now."""

    success: bool
    outputs: list[DecodedValue] = Field(default=[], description="Decoded return values, if the function is known")
    return_data: str | None = None
    gas_estimate: int | None = Field(default=None, description="Gas that the transaction would need")
    revert: Revert | None = Field(default=None, description="Why it would be reverted")


def call_tools(client: EthereumClient) -> tuple[Tool, ...]:
    """Make the tools that execute code without a transaction."""

    @tool(idempotent=True)
    async def call_view_function(
        ctx: ToolContext,
        chain_id: ChainId,
        contract_address: Annotated[Address, Field(description="Address of the contract")],
        function_signature: FunctionSignature,
        arguments: Arguments = [],  # noqa: B006
        from_address: Annotated[Address | None, Field(description="Account that calls, if it matters")] = None,
        tag: BlockTag = "latest",
    ) -> ViewResult:
        """Call a function of a contract that only reads, and return its values.

        Nothing is sent. Write the signature with `returns (…)`, or leave that out for verified contracts and tokens.
        """
        entry = read_signature(function_signature)
        data = encode_call(entry, arguments)
        call = _call(contract_address, data, from_address)
        try:
            answer = read_data(await client.rpc(chain_id).call("eth_call", call, block_parameter(tag)))
        except Reverted as error:
            raise error.explained(await _abis(client, ctx, chain_id, contract_address, error.data)) from None
        entry = await with_outputs(client, ctx, chain_id, contract_address, entry)
        if not answer and (entry.outputs or await _has_no_code(client, chain_id, contract_address, tag)):
            raise ToolError(
                f"There is no contract at {contract_address} on chain {chain_id}, or it has no such function.",
                category="not_found",
            )
        outputs = _outputs(entry, answer)
        return ViewResult(
            function=str(entry).removeprefix("function "),
            outputs=outputs or [],
            return_data=shortened_hex(answer) if outputs is None and answer else None,
        )

    @tool(idempotent=True)
    async def simulate_contract_call(
        ctx: ToolContext,
        chain_id: ChainId,
        to: Annotated[Address, Field(description="Address of the contract")],
        function_signature: Annotated[FunctionSignature | None, Field(description="Signature; or give data")] = None,
        arguments: Arguments = [],  # noqa: B006
        data: Annotated[HexData | None, Field(description="Calldata, in place of signature and arguments")] = None,
        from_address: Annotated[Address | None, Field(description="Account that would send it")] = None,
        value: Annotated[Wei, Field(description="Amount to send along, in wei")] = "0",
        tag: BlockTag = "latest",
    ) -> Simulation:
        """Execute a transaction without sending it: what it would return, its gas, or why it would be reverted."""
        if (data is None) == (function_signature is None):
            raise ToolError("Give function_signature with arguments, or data.", category="validation")
        entry = None if function_signature is None else read_signature(function_signature)
        content = bytes.fromhex((data or "0x")[2:]) if entry is None else encode_call(entry, arguments)
        rpc, call = client.rpc(chain_id), _call(to, content, from_address, int(value))
        try:
            answer = read_data(await rpc.call("eth_call", call, block_parameter(tag)))
            gas = read_quantity(await rpc.call("eth_estimateGas", call), "an amount of gas")
        except Reverted as error:
            abis = await _abis(client, ctx, chain_id, to, error.data)
            return Simulation(success=False, revert=decode_revert(error.data, abis))
        outputs = None
        if entry is not None and answer:
            outputs = _outputs(await with_outputs(client, ctx, chain_id, to, entry), answer)
        return Simulation(
            success=True,
            outputs=outputs or [],
            return_data=shortened_hex(answer) if outputs is None and answer else None,
            gas_estimate=gas,
        )

    return call_view_function, simulate_contract_call


async def with_outputs(
    client: EthereumClient, ctx: ToolContext, chain_id: int, address: str, entry: AbiEntry
) -> AbiEntry:
    """Complete a function without return types from the ABI of the contract, or from the standards."""
    if entry.outputs:
        return entry
    if (known := all_standards().functions.get(entry.selector)) is not None:
        return known
    abi = await client.contracts.abi_of(chain_id, address, client.stored_contracts(ctx))
    return entry if abi is None else abi.functions.get(entry.selector, entry)


async def _abis(client: EthereumClient, ctx: ToolContext, chain_id: int, address: str, data: bytes) -> list[Abi]:
    """The ABI of a contract, if its reverts cannot be decoded without it."""
    if decode_revert(data).kind != "unknown":
        return []
    abi = await client.contracts.abi_of(chain_id, address, client.stored_contracts(ctx))
    return [] if abi is None else [abi]


async def _has_no_code(client: EthereumClient, chain_id: int, address: str, tag: str) -> bool:
    return not read_data(await client.rpc(chain_id).call("eth_getCode", address, block_parameter(tag)))


def _call(to: str, data: bytes, from_address: str | None, value: int = 0) -> dict[str, Any]:
    call = {"to": to, "data": f"0x{data.hex()}"}
    if from_address is not None:
        call["from"] = from_address
    if value:
        call["value"] = hex(value)
    return call


def _outputs(entry: AbiEntry, answer: bytes) -> list[DecodedValue] | None:
    try:
        return decode_values(entry.outputs, answer) if entry.outputs else None
    except AbiInvalid:
        return None
