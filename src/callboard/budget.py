"""The memory that large values may take: per session, per user and in total.

A large value is an event, a call's arguments or a result of more than `LARGE` bytes; smaller ones are bounded by their
number. A `Holding` counts what one board or one book keeps. When a bound is passed, the oldest values go: those of the
same holding first, then those of the same user, then those of the user that keeps most. Where there is a store they can
be read again; in memory they are gone.
"""

from collections.abc import Callable
from dataclasses import dataclass

LARGE = 4_096
"""Bytes from which on a value is counted by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """Bytes of large values that are kept at once."""

    session: int = 64 * 1024 * 1024
    """Of one session: half of it for events, half for arguments and results."""
    user: int = 128 * 1024 * 1024
    """Of all sessions of one user, and as much again for the arguments of its calls that have not ended."""
    total: int = 512 * 1024 * 1024
    """Of all sessions."""


class _User:
    """What is kept of one user."""

    __slots__ = ("holdings", "kept")

    def __init__(self) -> None:
        self.kept = 0
        self.holdings: dict[Holding, None] = {}
        """Those that keep something, the one that grew last at the end."""


class Budget:
    """Counts what all sessions of a process keep, and has it reduced where it is too much."""

    def __init__(self, limits: MemoryLimits | None = None) -> None:
        self.limits = limits or MemoryLimits()
        self.kept = 0
        """Bytes of all large values."""
        self._users: dict[str, _User] = {}
        """Those that keep something."""

    def holding(self, user_id: str, shed: Callable[[int], None]) -> "Holding":
        """A place to count in. `shed` lets the oldest go until so many bytes are free, or nothing is left."""
        return Holding(self, user_id, shed)

    def grew(self, holding: "Holding", size: int) -> None:
        """Count a value that a holding is about to keep, and have older ones go where it does not fit."""
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
        """Count what a holding let go of."""
        user = self._users[holding.user_id]
        user.kept -= size
        self.kept -= size
        if not holding.kept:
            del user.holdings[holding]
            if not user.holdings:
                del self._users[holding.user_id]

    def _relieve(self, user: _User, limit: int) -> None:
        """Let a user's oldest values go, and an eighth more than need be: not every value has it done again."""
        for holding in [*user.holdings]:
            if (excess := user.kept - limit + limit // 8) <= 0:
                return
            holding.shed(excess)

    def _relieve_all(self) -> None:
        """Have the users let go that keep most."""
        for user in sorted(self._users.values(), key=lambda each: each.kept, reverse=True):
            if (excess := self.kept - self.limits.total + self.limits.total // 8) <= 0:
                return
            self._relieve(user, max(0, user.kept - excess))


class Holding:
    """What one board or one book keeps."""

    __slots__ = ("_budget", "_closed", "kept", "shed", "user_id")

    def __init__(self, budget: Budget, user_id: str, shed: Callable[[int], None]) -> None:
        self._budget = budget
        self._closed = False
        self.user_id = user_id
        self.kept = 0
        self.shed = shed

    def add(self, size: int) -> None:
        """Count a value before it is kept: what is older may be let go for it."""
        if size and not self._closed:
            self.kept += size
            self._budget.grew(self, size)

    def free(self, size: int) -> None:
        """Keep so many bytes less."""
        if size and not self._closed:
            self.kept -= size
            self._budget.shrank(self, size)

    def close(self) -> None:
        """Count no more: whatever is kept from now on goes with its session."""
        self.free(self.kept)
        self._closed = True
