"""A limit on the bytes that are held in memory at once, per user and in total."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from ..protocols.problem import Problem

MIB = 1_048_576


class ByteBudget:
    """Counts the held bytes of each user."""

    __slots__ = ("_held", "_per_user", "_refuse", "_total", "held")

    def __init__(self, refuse: Callable[[], Problem], *, per_user: int, total: int) -> None:
        self._refuse = refuse
        """Creates the problem for a user above the limit."""
        self._per_user = per_user
        self._total = total
        self._held: dict[str, int] = {}
        self.held = 0
        """Bytes of all users."""

    def held_by(self, user_id: str) -> int:
        """Return the bytes of one user."""
        return self._held.get(user_id, 0)

    def check(self, user_id: str, size: int) -> None:
        """Raise `Problem` (429, 503) if `holding` would refuse these bytes now."""
        mine = self.held_by(user_id)
        if mine and mine + size > self._per_user:
            raise self._refuse()
        if self.held and self.held + size > self._total:
            raise Problem(503, "overloaded", "Not available", "The server is overloaded.", {"retry-after": "5"})

    @contextmanager
    def holding(self, user_id: str, size: int) -> Generator[None]:
        """Reserve bytes until the end of the `with`. Raises `Problem` (429, 503) if they exceed a limit.

        A single reservation is always granted, whatever its size.
        """
        self.check(user_id, size)
        self._held[user_id] = self.held_by(user_id) + size
        self.held += size
        try:
            yield
        finally:
            self.held -= size
            self._held[user_id] -= size
            if not self._held[user_id]:
                del self._held[user_id]
