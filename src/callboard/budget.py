"""Memory limits for large values: per session, per user and in total.

A large value is an event, the arguments of a call or a result of more than `LARGE` bytes; the number of smaller values
is bounded elsewhere. A `Holding` counts the bytes kept by one board or one execution index. Above a limit, the oldest
values are evicted: first from the same holding, then from the same user, then from the user that keeps most. A store
can read them again; without a store they are lost.
"""

from collections.abc import Callable
from dataclasses import dataclass

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


class _User:
    """The bytes and holdings of one user."""

    __slots__ = ("holdings", "kept")

    def __init__(self) -> None:
        self.kept = 0
        self.holdings: dict[Holding, None] = {}
        """Holdings that keep something, the most recently grown one last."""


class Budget:
    """Counts the large values of all sessions in a process, and evicts the oldest ones above a limit."""

    def __init__(self, limits: MemoryLimits | None = None) -> None:
        self.limits = limits or MemoryLimits()
        self.kept = 0
        """Bytes of all large values."""
        self._users: dict[str, _User] = {}
        """Users that keep something."""

    def holding(self, user_id: str, shed: Callable[[int], None]) -> "Holding":
        """Make a holding. `shed` evicts its oldest values until that many bytes are free or it is empty."""
        return Holding(self, user_id, shed)

    def grew(self, holding: "Holding", size: int) -> None:
        """Count a value that a holding is about to keep, and evict older values if it does not fit."""
        user = self._users.get(holding.user_id)
        if user is None:
            user = self._users[holding.user_id] = _User()
        user.holdings.pop(holding, None)
        user.holdings[holding] = None
        user.kept += size
        self.kept += size
        if (excess := holding.kept - self.limits.session // 2) > 0:
            holding.shed(excess)
        if user.kept > self.limits.user:
            self._relieve(user, self.limits.user)
        if self.kept > self.limits.total:
            self._relieve_all()

    def shrank(self, holding: "Holding", size: int) -> None:
        """Count bytes that a holding no longer keeps."""
        user = self._users[holding.user_id]
        user.kept -= size
        self.kept -= size
        if not holding.kept:
            del user.holdings[holding]
            if not user.holdings:
                del self._users[holding.user_id]

    def _relieve(self, user: _User, limit: int) -> None:
        """Evict a user's oldest values, an eighth of the limit more than necessary, so that this runs rarely."""
        for holding in [*user.holdings]:
            if (excess := user.kept - limit + limit // 8) <= 0:
                return
            holding.shed(excess)

    def _relieve_all(self) -> None:
        """Evict values of the users that keep most."""
        for user in sorted(self._users.values(), key=lambda each: each.kept, reverse=True):
            if (excess := self.kept - self.limits.total + self.limits.total // 8) <= 0:
                return
            self._relieve(user, max(0, user.kept - excess))


class Holding:
    """The bytes of large values kept by one board or one execution index."""

    __slots__ = ("_budget", "_closed", "kept", "shed", "user_id")

    def __init__(self, budget: Budget, user_id: str, shed: Callable[[int], None]) -> None:
        self._budget = budget
        self._closed = False
        self.user_id = user_id
        self.kept = 0
        self.shed = shed

    def add(self, size: int) -> None:
        """Count a value before it is kept. Older values may be evicted for it."""
        if size and not self._closed:
            self.kept += size
            self._budget.grew(self, size)

    def free(self, size: int) -> None:
        """Count bytes that are no longer kept."""
        if size and not self._closed:
            self.kept -= size
            self._budget.shrank(self, size)

    def close(self) -> None:
        """Stop counting. Values kept from now on are freed with their session."""
        self.free(self.kept)
        self._closed = True
