"""What replaced a transaction that a wallet sent: the same one with a higher fee, or another one that cancels it.

A wallet replaces a transaction by another one with the same nonce. Only the new one is mined, and nodes forget the old
hash.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, cast

from callboard import ToolError

from .clock import Clock
from .rpc import RpcClient
from .sender import TransactionRequest
from .tx_status import Follower
from .values import read_address, read_data, read_hash, read_quantity

MAX_BLOCKS = 1_000
"""Blocks that are searched for a transaction that a wallet may have sent."""
UNKNOWN_SECONDS = 120.0
"""Seconds for which the nodes must not know a transaction before another one is searched: they learn of it late."""


class Replacement(NamedTuple):
    """A mined transaction in place of another one."""

    hash: str
    is_same: bool
    """Whether it does the same, with another fee."""


class ReplacementWatch:
    """Watches one transaction of a wallet until it is mined, or replaced."""

    def __init__(
        self,
        rpc: RpcClient,
        clock: Clock,
        request: TransactionRequest,
        journal: Mapping[str, Any],
        others: Callable[[], Collection[object]],
    ) -> None:
        """`journal` is the note of the operation; `others` returns the hashes of other operations of the plan."""
        self._rpc = rpc
        self._clock = clock
        self._request = request
        self._others = others
        self.nonce: int | None = journal.get("nonce")
        """The nonce of the transaction, if a node has shown it."""
        self._first = int(journal.get("block", 0))
        self._sent: int | None = journal.get("sent")
        self._unknown_since: float | None = None

    async def look(self, follower: Follower, transaction_hash: str) -> Replacement | None:
        """Return the transaction that replaced the followed one.

        Raises `ToolError` (interrupted) if the nodes do not know the followed one, others of its account were mined,
        and none of them is certain to be its replacement.
        """
        account = str(self._request.from_address)
        if follower.is_known:
            self._unknown_since = None
            if follower.sender == account:
                self.nonce = follower.nonce
            return None
        now = self._clock.monotonic()
        if self._unknown_since is None:
            self._unknown_since = now
        lowest = self._sent if self.nonce is None else self.nonce
        if lowest is None or now - self._unknown_since < UNKNOWN_SECONDS:
            return None
        if await count_sent(self._rpc, account, "latest") <= lowest:
            return None
        if (found := await self._search(lowest)) is not None:
            return found
        raise unknown_transaction(transaction_hash, account)

    async def _search(self, lowest: int) -> Replacement | None:
        """Search the newest blocks. Without its nonce, only a transaction that does the same can be recognized."""
        head = read_quantity(await self._rpc.call("eth_blockNumber"), "a block number")
        first = max(self._first, head - MAX_BLOCKS + 1, 0)
        for number in range(head, first - 1, -1):
            for each in await transactions_of(self._rpc, number, str(self._request.from_address)):
                nonce = read_quantity(each.get("nonce"), "a nonce")
                found, is_same = read_hash(each.get("hash")) or "", is_request(each, self._request)
                if nonce == self.nonce or (
                    self.nonce is None and nonce >= lowest and is_same and found not in self._others()
                ):
                    return Replacement(found, is_same)
        return None


def unknown_transaction(transaction_hash: str, account: str) -> ToolError:
    """Make the error for a transaction that the nodes do not know, and that may be replaced."""
    return ToolError(
        f"The nodes do not know the transaction {transaction_hash}. The wallet may have replaced or cancelled it. "
        f"Check the history of {account}. If it was replaced or cancelled, make a new plan for what is missing; if "
        "not, execute the plan again to wait on.",
        category="interrupted",
    )


async def count_sent(rpc: RpcClient, account: str, tag: str) -> int:
    """Count the transactions of an account."""
    return read_quantity(await rpc.call("eth_getTransactionCount", account, tag), "a nonce")


async def transactions_of(rpc: RpcClient, number: int, account: str) -> list[dict[str, Any]]:
    """Return the transactions of an account in a block."""
    block = cast("dict[str, Any]", await rpc.call("eth_getBlockByNumber", hex(number), True) or {})
    listed = cast("list[dict[str, Any]]", block.get("transactions") or [])
    return [each for each in listed if read_address(each.get("from")) == account]


def is_request(fields: Mapping[str, Any], request: TransactionRequest) -> bool:
    """Whether a transaction of the chain does what was requested, whatever it pays for it."""
    return (
        read_address(fields.get("to")) == request.to
        and read_data(fields.get("input")) == bytes.fromhex(request.data[2:])
        and read_quantity(fields.get("value"), "an amount") == request.value
    )
