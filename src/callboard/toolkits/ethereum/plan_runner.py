"""Carries out the operations of plans for Ethereum: sources, compiler, simulation, broadcast, confirmation."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from callboard import ToolError
from callboard.toolkits.plans import Step

from .abi import Abi, AbiEntry
from .abi_values import as_text, encode_arguments, encode_call
from .broadcast import Broadcast
from .client import EthereumClient
from .compiler import CompiledContract, Compiler
from .contracts import ContractQuery
from .plan_operations import DeployOperation, EthereumGroup, SendOperation
from .rpc_errors import Reverted
from .sender import TransactionRequest
from .signature import read_signature
from .signer import DevelopmentSigner
from .values import ZERO_ADDRESS, Address, read_quantity

_ADDRESS: TypeAdapter[str] = TypeAdapter(Address)
_NO_ARGUMENTS = AbiEntry(kind="constructor", name="constructor", inputs=())


class EthereumRunner:
    """Carries out operations of `EthereumGroup`."""

    def __init__(self, client: EthereumClient, compiler: Compiler) -> None:
        self._client = client
        self._compiler = compiler

    async def run(self, group: EthereumGroup, number: int, step: Step) -> Any:
        """See `OperationRunner.run`."""
        operation, fields = group.operations[number], step.fields
        if isinstance(operation, DeployOperation):
            compiled = await self._compiled(group, operation.contract, step)
            constructor = next((each for each in compiled.abi.entries if each.kind == "constructor"), _NO_ARGUMENTS)
            data = compiled.code + encode_arguments(constructor, _arguments(fields)).hex()
            return await self._send(group, operation, step, None, data, compiled.abi)
        if isinstance(operation, SendOperation):
            to, data = _address(fields["to"], f"operations[{number}].to"), str(fields["data"])
            if operation.function_signature is not None:
                entry = read_signature(operation.function_signature)
                data = f"0x{encode_call(entry, _arguments(fields)).hex()}"
            return await self._send(group, operation, step, to, data, Abi(()))
        await step.report(fields["tool"])
        return await step.ctx.call(fields["tool"], fields["arguments"], key=step.key)

    async def _compiled(self, group: EthereumGroup, name: str, step: Step) -> CompiledContract:
        planned = next((each for each in group.contracts if each.name == name), None)
        if planned is None:
            raise ToolError(f"The group has no contract {name!r} in `contracts`.", category="validation")
        await step.report("sources", name)
        if planned.source_code is not None:
            files = {f"{name}.sol": planned.source_code}
        else:
            by_address = planned.address is not None
            query = ContractQuery(planned.chain_id, planned.address, None if by_address else name.rpartition(":")[2])
            files = (await self._client.contracts.get(query)).files
            if not files:
                raise ToolError(f"There is an ABI but no source code for {query}.", category="not_found")
        await step.report("compile", name)
        contracts = await self._compiler.compile(files)
        if (found := contracts.get(name)) is None:
            if same := [each for each in contracts if each.endswith(f":{name}")]:
                message = f"Several files have a contract {name!r}. Name the one to deploy: {', '.join(same[:20])}."
                raise ToolError(message, category="validation")
            known = ", ".join(sorted(contracts)[:20])
            raise ToolError(f"The source code has no contract {name!r}, but {known}.", category="not_found")
        if found.code == "0x":
            raise ToolError(f"{name} is abstract or an interface, so it cannot be deployed.", category="validation")
        if "_" in found.code:
            raise ToolError(f"{name} needs libraries that are not linked.", category="validation")
        return found

    async def _send(
        self,
        group: EthereumGroup,
        operation: DeployOperation | SendOperation,
        step: Step,
        to: str | None,
        data: str,
        abi: Abi,
    ) -> Any:
        account = operation.from_address
        if account is None and (key := self._client.development_key) is not None:
            account = DevelopmentSigner(key).address
        request = TransactionRequest(to, int(operation.value), data, None, account)
        broadcast = Broadcast(self._client, step, operation.chain_id)
        if step.journal is None:
            await step.report("simulate")
            await self._simulate(operation.chain_id, request, abi)
        if operation.broadcast == "wallet":
            transaction_hash = await broadcast.by_wallet(_wallet_fields(group, operation, step, request), request)
        else:
            await step.report("broadcast", "with the key for development chains")
            transaction_hash = await broadcast.by_key(request)
        status = await broadcast.confirm(transaction_hash, operation.confirmations, request)
        return status.model_dump(
            mode="json", include={"transaction_hash", "chain_id", "block_number", "contract_address", "fee"}
        )

    async def _simulate(self, chain_id: int, request: TransactionRequest, abi: Abi) -> None:
        """Execute the transaction without sending it. Raises `ToolError` with the reason if it would be reverted."""
        call = request.fields(request.from_address or ZERO_ADDRESS)
        try:
            read_quantity(await self._client.rpc(chain_id).call("eth_estimateGas", call), "an amount of gas")
        except Reverted as error:
            known = None if request.to is None else await self._client.contracts.abi_of(chain_id, request.to)
            raise error.explained([abi] if known is None else [abi, known]) from None


def _arguments(fields: Mapping[str, Any]) -> list[str]:
    """The arguments of a function as texts. A reference may have become a value of any type, such as a list."""
    return [as_text(each) for each in fields["arguments"]]


def _wallet_fields(
    group: EthereumGroup, operation: DeployOperation | SendOperation, step: Step, request: TransactionRequest
) -> dict[str, Any]:
    what = f"create the contract {operation.contract}" if isinstance(operation, DeployOperation) else "send"
    if isinstance(operation, SendOperation) and operation.function_signature is not None:
        what = f"call {operation.function_signature}"
    return {
        "to": request.to,
        "value": operation.value,
        "data": request.data,
        "description": f"{group.description}: {what} (step {step.key} of the plan)"[:1_000],
        "chain_id": operation.chain_id,
        "from_address": operation.from_address,
        "abi": operation.function_signature if isinstance(operation, SendOperation) else None,
        "confirmations": 1,
    }


def _address(text: Any, where: str) -> str:
    try:
        return _ADDRESS.validate_python(text)
    except ValidationError:
        raise ToolError(f"{where}: {str(text)[:60]!r} is not an address.", category="validation") from None
