"""Sends transactions of the server itself, on development chains alone.

With a key, a transaction is prepared and signed before it is sent, so that a caller can store its hash and nonce first
and send it again without harm. Without one, an account of the node is used.
"""

from dataclasses import dataclass
from typing import Any, cast

from callboard import ToolError

from .chain import PUBLIC_IDS
from .rpc import RpcClient
from .rpc_errors import AlreadyKnown
from .signer import DevelopmentSigner, SignedTransaction
from .values import bad_answer, read_address, read_hash, read_quantity


@dataclass(frozen=True, slots=True)
class TransactionRequest:
    """A transaction to send."""

    to: str | None
    """The recipient, or None to create a contract."""
    value: int = 0
    data: str = "0x"
    gas_limit: int | None = None
    """The gas limit; None: what the node estimates."""
    from_address: str | None = None
    """The account that sends; None: that of the key, or the first of the node."""

    def fields(self, sender: str) -> dict[str, Any]:
        """The transaction as JSON-RPC has it."""
        made: dict[str, Any] = {"from": sender, "data": self.data, "value": hex(self.value)}
        if self.to is not None:
            made["to"] = self.to
        return made


class DevelopmentSender:
    """Sends transactions on one development chain."""

    def __init__(self, rpc: RpcClient, signer: DevelopmentSigner | None = None) -> None:
        self._rpc = rpc
        self._signer = signer

    async def send(self, request: TransactionRequest) -> tuple[str, str]:
        """Send a transaction. Returns its hash and the sender.

        Raises `ToolError`: `permission` on any other chain, or an error that names why the node refuses it.
        """
        await self.check_chain()
        if self._signer is None:
            sender = await self._node_account(request.from_address)
            fields = await self._with_gas(request, sender)
            async with self._rpc.sending:  # a node gives requests that come at the same time the same nonce
                return read_hash(await self._rpc.call_once("eth_sendTransaction", fields)) or "", sender
        async with self._rpc.sending:
            signed = await self.prepare(request)
            await self.broadcast(signed)
        return signed.hash, self._signer.address

    async def check_chain(self) -> None:
        """Ask the node for its chain id. Raises `ToolError` (`permission`) if it is not the development chain."""
        chain = self._rpc.chain
        if not chain.development:
            raise ToolError(
                f"{chain} is not a development chain, so nothing is sent. Use send_transaction_to_wallet.",
                category="permission",
            )
        if (found := await self._rpc.chain_id()) != chain.id or found in PUBLIC_IDS:
            message = f"The node of {chain} reports the chain id {found}, so nothing is sent there."
            raise ToolError(message, category="permission")

    async def prepare(self, request: TransactionRequest) -> SignedTransaction:
        """Choose nonce, gas and fees, and sign. A transaction that would be reverted raises here. Needs a key."""
        signer = self._signer
        if signer is None:
            raise ToolError(
                "There is no key for development chains. Set CALLBOARD_ETHEREUM_KEY.", category="configuration"
            )
        if request.from_address not in (None, signer.address):
            message = f"The key for development chains is that of {signer.address}, not of {request.from_address}."
            raise ToolError(message, category="permission")
        fields = await self._with_gas(request, signer.address)
        price = read_quantity(await self._rpc.call("eth_gasPrice"), "a gas price")
        nonce = await self._rpc.call("eth_getTransactionCount", signer.address, "pending")
        return signer.sign(
            {
                **{name: value for name, value in fields.items() if name in ("to", "data")},
                "value": request.value,
                "gas": int(fields["gas"], 16),
                "nonce": read_quantity(nonce, "a nonce"),
                "chainId": self._rpc.chain.id,
                "maxFeePerGas": 2 * price,
                "maxPriorityFeePerGas": min(price, 10**9),
                "type": 2,
            }
        )

    async def broadcast(self, signed: SignedTransaction) -> None:
        """Send a signed transaction. Sending it again is harmless. Raises `ToolError`."""
        try:
            await self._rpc.call("eth_sendRawTransaction", signed.raw)
        except AlreadyKnown:
            return

    async def _with_gas(self, request: TransactionRequest, sender: str) -> dict[str, Any]:
        fields = request.fields(sender)
        gas = request.gas_limit
        if gas is None:
            gas = read_quantity(await self._rpc.call("eth_estimateGas", fields), "an amount of gas")
        return {**fields, "gas": hex(gas)}

    async def _node_account(self, wanted: str | None) -> str:
        listed = await self._rpc.call("eth_accounts")
        if not isinstance(listed, list):
            raise bad_answer("a list of accounts")
        accounts = [read_address(each) for each in cast("list[object]", listed)]
        chosen = wanted or next(iter(accounts), None)
        if chosen is None or chosen not in accounts:
            raise ToolError(
                "The node has no such account, and there is no key. Use an account of the node, or set "
                "CALLBOARD_ETHEREUM_KEY.",
                category="configuration" if wanted is None else "not_found",
            )
        return chosen
