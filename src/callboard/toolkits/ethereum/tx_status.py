"""The tool and worker `tx_status`: follows a transaction until it has enough confirmations.

A reorganisation can move a transaction to another block or back to the waiting ones. It is noticed by the hash of the
block, reported as progress, and counted; the transaction is then followed on.
"""

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, Field

from callboard import Tool, ToolContext, ToolError, tool

from .client import EthereumClient
from .rpc import RpcClient
from .transactions import Receipt, read_receipt
from .values import Amount, ChainId, TransactionHash, amount, optional_quantity, read_address, read_hash, read_quantity

MAX_SECONDS = 3_600


class TxStatus(BaseModel):
    """The state of a followed transaction."""

    transaction_hash: str
    chain_id: int
    status: Literal["confirmed", "reverted", "pending", "unknown"] = Field(
        description="pending: it waits, or has too few confirmations; unknown: the nodes do not know it"
    )
    confirmations: int
    wanted_confirmations: int
    block_number: int | None
    block_hash: str | None
    reorganisations: int = Field(description="How often the chain moved the transaction to another block")
    timed_out: bool = Field(description="Whether the time was over before the confirmations were reached")
    contract_address: str | None = Field(description="Contract that it created")
    fee: Amount | None


class Follower:
    """Follows one transaction. Each `look` asks the nodes once."""

    def __init__(self, rpc: RpcClient, transaction_hash: str, wanted: int) -> None:
        self._rpc = rpc
        self._hash = transaction_hash
        self._wanted = wanted
        self.receipt: Receipt | None = None
        self.confirmations = 0
        self.reorganisations = 0
        self.is_known = False
        self.sender: str | None = None
        self.nonce: int | None = None
        """Of a transaction that was seen before it was mined."""
        self.is_final = False

    async def look(self) -> None:
        """Ask for the receipt and the newest block. Raises `ToolError`."""
        receipt = read_receipt(await self._rpc.call("eth_getTransactionReceipt", self._hash))
        if self.receipt is not None and (receipt is None or receipt.block_hash != self.receipt.block_hash):
            self.reorganisations += 1
        self.receipt = receipt
        if receipt is None:
            self.confirmations = 0
            found = await self._rpc.call("eth_getTransactionByHash", self._hash)
            self.is_known = found is not None
            if isinstance(found, dict):
                fields = cast("dict[str, Any]", found)
                self.sender, self.nonce = read_address(fields.get("from")), optional_quantity(fields.get("nonce"))
            return
        self.is_known = True
        head = read_quantity(await self._rpc.call("eth_blockNumber"), "a block number")
        self.confirmations = max(0, head - receipt.block_number + 1)
        if self.confirmations >= self._wanted:
            self.is_final = await self._is_canonical(receipt)

    async def _is_canonical(self, receipt: Receipt) -> bool:
        """Whether the block of the receipt is still part of the chain."""
        block = await self._rpc.call("eth_getBlockByNumber", hex(receipt.block_number), False)
        fields = cast("dict[str, Any]", block) if isinstance(block, dict) else {}
        return read_hash(fields.get("hash")) == receipt.block_hash

    def status(self, timed_out: bool) -> TxStatus:
        """The state at the last look."""
        receipt, chain = self.receipt, self._rpc.chain
        fee = None if receipt is None else receipt.fee
        status = "pending" if self.is_known else "unknown"
        if self.is_final and receipt is not None:
            status = "confirmed" if receipt.succeeded else "reverted"
        return TxStatus(
            transaction_hash=self._hash,
            chain_id=chain.id,
            status=status,
            confirmations=self.confirmations,
            wanted_confirmations=self._wanted,
            block_number=None if receipt is None else receipt.block_number,
            block_hash=None if receipt is None else receipt.block_hash,
            reorganisations=self.reorganisations,
            timed_out=timed_out,
            contract_address=None if receipt is None else receipt.contract_address,
            fee=None if fee is None else amount(fee, chain.symbol, chain.decimals),
        )


async def follow(
    client: EthereumClient, ctx: ToolContext, chain_id: int, transaction_hash: str, wanted: int, seconds: float
) -> TxStatus:
    """Follow a transaction on the client's clock, and report progress at each change.

    A node that fails for a moment is asked again until the time is over. Raises `ToolError` for other failures.
    """
    rpc, clock = client.rpc(chain_id), client.clock
    follower, deadline = Follower(rpc, transaction_hash, wanted), clock.monotonic() + seconds
    reported: tuple[object, ...] | None = None
    while True:
        failure: ToolError | None = None
        try:
            await follower.look()
        except ToolError as error:
            if not error.may_retry:
                raise
            failure = error
        state = (follower.confirmations, follower.reorganisations, follower.is_known)
        if state != reported and failure is None:
            await _report(ctx, follower, wanted, has_moved=reported is not None and state[1] != reported[1])
            reported = state
        if follower.is_final:
            return follower.status(timed_out=False)
        if (left := deadline - clock.monotonic()) <= 0:
            if failure is not None and reported is None:
                raise failure
            return follower.status(timed_out=True)
        await clock.sleep(min(rpc.chain.poll_seconds, left))


async def _report(ctx: ToolContext, follower: Follower, wanted: int, *, has_moved: bool) -> None:
    counted = f"{min(follower.confirmations, wanted)} of {wanted} confirmations"
    if has_moved:
        message = "The chain was reorganised, and the transaction has left its block"
        await ctx.progress("reorganised", min(1.0, follower.confirmations / wanted), f"{message}; {counted}")
    elif follower.receipt is not None:
        await ctx.progress("confirming", min(1.0, follower.confirmations / wanted), counted)
    else:
        await ctx.progress("waiting", 0.0, "not mined yet" if follower.is_known else "not known to the nodes yet")


def status_tool(client: EthereumClient) -> Tool:
    """Make the tool `tx_status`, which is also a worker."""

    @tool(mode="background", idempotent=True, timeout=MAX_SECONDS + 60.0, logout="keep_running")
    async def tx_status(
        ctx: ToolContext,
        chain_id: ChainId,
        transaction_hash: TransactionHash,
        confirmations: Annotated[int, Field(ge=1, le=100, description="Blocks to wait for, with its own")] = 1,
        timeout_seconds: Annotated[int, Field(ge=1, le=MAX_SECONDS, description="Seconds to wait at most")] = 300,
    ) -> TxStatus:
        """Follow a transaction until it has enough confirmations, and return its final state.

        A reorganisation of the chain is noticed and counted. When the time is over, the present state is returned.
        """
        return await follow(client, ctx, chain_id, transaction_hash, confirmations, timeout_seconds)

    return tx_status
