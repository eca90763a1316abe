"""Tools for calldata and logs: `encode_function_call`, `decode_calldata` and `decode_logs`."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import BaseModel, Field

from callboard import Tool, ToolContext, ToolError, tool

from .abi import Abi, AbiEntry, AbiInvalid
from .abi_values import Arguments, DecodedValue, decode_values, encode_call
from .client import EthereumClient
from .contracts import ContractStore
from .logs import DecodedLog, Log, decode_log
from .signature import MAX_SIGNATURE, read_signature
from .standards import all_standards
from .values import Address, HexData, OptionalChain, TransactionHash, read_address, read_data, read_hash, read_quantity

MAX_LOGS = 200
MAX_LOOKUPS = 8
"""Contracts whose ABIs are looked up for the logs of one transaction."""

FunctionSignature = Annotated[
    str,
    Field(
        max_length=MAX_SIGNATURE,
        description="Signature such as transfer(address to, uint256 amount); with `returns (…)` outputs can be decoded",
    ),
]
EventSignature = Annotated[str, Field(max_length=MAX_SIGNATURE)]


class EncodedCall(BaseModel):
    """The calldata of a function call."""

    signature: str = Field(description="Canonical signature")
    selector: str
    data: str = Field(description="Calldata, to use as `data` of a call or transaction")


class DecodedCall(BaseModel):
    """Calldata as a call of a function."""

    known: bool = Field(description="Whether the function is known")
    selector: str
    signature: str | None = None
    arguments: list[DecodedValue] = []
    abi_source: str | None = Field(
        default=None, description="Where the names are from: given, contract or standard (a guess by the selector)"
    )
    note: str | None = None


class DecodedLogs(BaseModel):
    """The events of logs."""

    logs: list[DecodedLog]
    left_out: int = Field(default=0, description="Further logs of the transaction that are not returned")


def abi_tools(client: EthereumClient) -> tuple[Tool, ...]:
    """Make the tools for calldata and logs."""

    @tool(idempotent=True)
    async def encode_function_call(function_signature: FunctionSignature, arguments: Arguments) -> EncodedCall:
        """Encode a call of a contract's function as calldata."""
        entry = read_signature(function_signature)
        data = encode_call(entry, arguments)
        return EncodedCall(signature=entry.signature, selector=f"0x{entry.selector.hex()}", data=f"0x{data.hex()}")

    @tool(idempotent=True)
    async def decode_calldata(
        ctx: ToolContext,
        data: Annotated[HexData, Field(description="Calldata, beginning with the selector of the function")],
        function_signature: Annotated[FunctionSignature | None, Field(description="Signature, if it is known")] = None,
        chain_id: OptionalChain = None,
        contract_address: Annotated[
            Address | None, Field(description="The called contract, whose verified ABI is used")
        ] = None,
    ) -> DecodedCall:
        """Decode calldata to the function and its arguments.

        Without a signature, the verified ABI of the contract and the token standards are searched.
        """
        stored = client.stored_contracts(ctx)
        return await decode_call(client, stored, data, function_signature, chain_id, contract_address)

    @tool(idempotent=True)
    async def decode_logs(
        ctx: ToolContext,
        chain_id: OptionalChain = None,
        transaction_hash: Annotated[
            TransactionHash | None, Field(description="Decode the logs of this transaction")
        ] = None,
        logs: Annotated[tuple[Log, ...], Field(max_length=MAX_LOGS, description="Or logs to decode")] = (),
        event_signatures: Annotated[
            tuple[EventSignature, ...],
            Field(
                max_length=50,
                description="Signatures of events, such as Paid(address indexed by, uint256 amount)",
            ),
        ] = (),
    ) -> DecodedLogs:
        """Decode the logs of a transaction, or given logs, to events with their arguments.

        Given signatures, the verified ABIs of the contracts and the token standards are searched, in this order.
        """
        given = Abi(read_signature(text, "event", "event_signatures") for text in event_signatures)
        left_out = 0
        if transaction_hash is not None:
            if chain_id is None:
                raise ToolError("transaction_hash needs chain_id.", category="validation")
            logs, left_out = await _logs_of(client, chain_id, transaction_hash)
        elif not logs:
            raise ToolError("Give chain_id and transaction_hash, or logs.", category="validation")
        known: dict[str, Abi | None] = {}
        stored = client.stored_contracts(ctx)
        made: list[DecodedLog] = []
        for log in logs:
            abis: list[Abi] = [given]
            if chain_id is not None and log.address is not None:
                if log.address not in known and len(known) < MAX_LOOKUPS:
                    known[log.address] = await client.contracts.abi_of(chain_id, log.address, stored)
                abis += [each for each in (known.get(log.address),) if each is not None]
            made.append(decode_log(log, [*abis, all_standards()]))
        return DecodedLogs(logs=made, left_out=left_out)

    return encode_function_call, decode_calldata, decode_logs


async def decode_call(
    client: EthereumClient,
    stored: ContractStore,
    data: str,
    function_signature: str | None = None,
    chain_id: int | None = None,
    contract_address: str | None = None,
) -> DecodedCall:
    """Decode calldata with a signature, the ABI of a contract, or the standards. Raises `ToolError`."""
    content = bytes.fromhex(data[2:])
    if len(content) < 4:
        raise ToolError("Calldata begins with a selector of four bytes; this is shorter.", category="validation")
    selector = content[:4]
    if function_signature is not None:
        entry = read_signature(function_signature)
        if entry.selector != selector:
            message = (
                f"The calldata has the selector 0x{selector.hex()}, but {entry.signature} has 0x{entry.selector.hex()}."
            )
            raise ToolError(message, category="validation")
        if (found := _decoded(entry, content, "given")) is None:
            raise ToolError(f"The calldata does not fit {entry.signature}.", category="validation")
        return found
    if chain_id is not None and contract_address is not None:
        abi = await client.contracts.abi_of(chain_id, contract_address, stored)
        entry = None if abi is None else abi.functions.get(selector)
        if entry is not None and (found := _decoded(entry, content, "contract")) is not None:
            return found
    entry = all_standards().functions.get(selector)
    if entry is not None and (found := _decoded(entry, content, "standard")) is not None:
        return found
    note = (
        "No known ABI has this function. Give its signature, or chain_id and contract_address of a verified contract."
    )
    return DecodedCall(known=False, selector=f"0x{selector.hex()}", note=note)


def _decoded(entry: AbiEntry, content: bytes, source: str) -> DecodedCall | None:
    try:
        values = decode_values(entry.inputs, content[4:], is_whole=True)
    except AbiInvalid:
        return None
    return DecodedCall(
        known=True,
        selector=f"0x{entry.selector.hex()}",
        signature=str(entry).removeprefix("function "),
        arguments=values,
        abi_source=source,
    )


async def _logs_of(client: EthereumClient, chain_id: int, transaction_hash: str) -> tuple[tuple[Log, ...], int]:
    receipt = await client.rpc(chain_id).call("eth_getTransactionReceipt", transaction_hash)
    if not isinstance(receipt, dict):
        raise ToolError(
            f"The transaction {transaction_hash} has no receipt: it does not exist or is not mined.",
            category="not_found",
        )
    listed = cast("dict[str, Any]", receipt).get("logs")
    found = cast("list[Mapping[str, Any]]", listed) if isinstance(listed, list) else []
    return tuple(_read_log(each) for each in found[:MAX_LOGS]), max(0, len(found) - MAX_LOGS)


def _read_log(fields: Mapping[str, Any]) -> Log:
    topics = [read_hash(each) or "" for each in list(fields.get("topics") or ())[:4]]
    return Log.model_construct(  # without its limits, which are those of arguments: a node may return more
        address=read_address(fields.get("address")),
        topics=topics,
        data=f"0x{read_data(fields.get('data')).hex()}",
        log_index=read_quantity(fields.get("logIndex")),
    )
