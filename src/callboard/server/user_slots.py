"""Concurrency slots per user: a user's further queries wait, and other users are not affected."""

import asyncio
from weakref import WeakValueDictionary


class UserSlots:
    """A semaphore for each user with a query in progress."""

    __slots__ = ("_per_user", "_semaphores")

    def __init__(self, per_user: int = 4) -> None:
        self._per_user = per_user
        self._semaphores: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, user_id: str) -> asyncio.Semaphore:
        """Return the semaphore of a user, to be entered with `async with`."""
        return self._semaphores.setdefault(user_id, asyncio.Semaphore(self._per_user))
