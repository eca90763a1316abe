"""Lanes: how many expensive questions of one user are answered at once. The others wait, and other users do not."""

import asyncio
from weakref import WeakValueDictionary


class Lanes:
    """One for each user who asks."""

    __slots__ = ("_lanes", "_width")

    def __init__(self, width: int = 4) -> None:
        self._width = width
        self._lanes: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, user_id: str) -> asyncio.Semaphore:
        """The lane of a user, to be entered with `async with`."""
        lane = self._lanes.get(user_id)
        if lane is None:
            lane = self._lanes[user_id] = asyncio.Semaphore(self._width)
        return lane
