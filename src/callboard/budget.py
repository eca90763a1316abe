"""Memory limits for large values: per session, per user and in total.

A large value is an event, the arguments of a call or a result of more than `LARGE` bytes; the number of smaller values
is bounded elsewhere. A `MemoryAccount` counts the bytes kept by one board or one execution index. Above a limit, the
oldest values are evicted: first from the same account, then from the same user, then from the user that keeps most. A
store can read them again; without a store they are lost.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

LARGE = 4_096
"""Size in bytes above which a value is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """Bytes of large values that may be kept in memory."""

    session: int = 64 * 1024 * 1024
    """Limit per session: half for events, half for arguments and results."""
    user: int = 128 * 1024 * 1024
    """Limit for all sessions of a user, and again for the arguments of the user's unfinished calls."""
    total: int = 512 * 1024 * 1024
    """Limit for all sessions."""


@dataclass(slots=True, eq=False)
class _User:
    """The bytes and accounts of one user."""

    kept: int = 0
    accounts: "dict[MemoryAccount, None]" = field(default_factory=dict["MemoryAccount", None])
    """Accounts that keep something, the most recently grown one last."""


class Budget:
    """Counts the large values of all sessions in a process, and evicts the oldest ones above a limit."""

    def __init__(self, limits: MemoryLimits | None = None) -> None:
        self.limits = limits or MemoryLimits()
        self.kept = 0
        """Bytes of all large values."""
        self._users: dict[str, _User] = {}
        """Users that keep something."""

    def count_added(self, account: "MemoryAccount", size: int) -> None:
        """Count a value that an account is about to keep, and evict older values if it does not fit."""
        user = self._users.get(account.user_id)
        if user is None:
            user = self._users[account.user_id] = _User()
        user.accounts.pop(account, None)
        user.accounts[account] = None
        user.kept += size
        self.kept += size
        if (excess := account.kept - self.limits.session // 2) > 0:
            account.evict(excess)
        if user.kept > self.limits.user:
            self._evict_from(user, self.limits.user)
        if self.kept > self.limits.total:
            self._evict_from_all()

    def count_removed(self, account: "MemoryAccount", size: int) -> None:
        """Count bytes that an account no longer keeps."""
        user = self._users[account.user_id]
        user.kept -= size
        self.kept -= size
        if not account.kept:
            del user.accounts[account]
            if not user.accounts:
                del self._users[account.user_id]

    def _evict_from(self, user: _User, limit: int) -> None:
        """Evict a user's oldest values, an eighth of the limit more than necessary, so that this runs rarely."""
        for account in [*user.accounts]:
            if (excess := user.kept - limit + limit // 8) <= 0:
                return
            account.evict(excess)

    def _evict_from_all(self) -> None:
        """Evict values of the users that keep most."""
        for user in sorted(self._users.values(), key=lambda each: each.kept, reverse=True):
            if (excess := self.kept - self.limits.total + self.limits.total // 8) <= 0:
                return
            self._evict_from(user, max(0, user.kept - excess))


class MemoryAccount:
    """The bytes of large values kept by one board or one execution index."""

    __slots__ = ("_budget", "_closed", "evict", "kept", "user_id")

    def __init__(self, budget: Budget, user_id: str, evict: Callable[[int], None]) -> None:
        """Make an account. `evict` drops its oldest values until that many bytes are free or it is empty."""
        self._budget = budget
        self._closed = False
        self.user_id = user_id
        self.kept = 0
        self.evict = evict

    def add(self, size: int) -> None:
        """Count a value before it is kept. Older values may be evicted for it."""
        if size and not self._closed:
            self.kept += size
            self._budget.count_added(self, size)

    def remove(self, size: int) -> None:
        """Count bytes that are no longer kept."""
        if size and not self._closed:
            self.kept -= size
            self._budget.count_removed(self, size)

    def close(self) -> None:
        """Stop counting. Values kept from now on are freed with their session."""
        self.remove(self.kept)
        self._closed = True
