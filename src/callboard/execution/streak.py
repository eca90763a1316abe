"""A limit on the calls that are made in a row, after which other tasks run."""

import asyncio
from collections import deque

STREAK = 64
"""The number of calls in a row after which other tasks run."""


class Streak:
    """The nested calls of one attempt. After every `STREAK` of them, the others wait for a turn of the event loop."""

    __slots__ = ("_made", "_waiting")

    def __init__(self) -> None:
        self._made = 0
        """The number of calls since the last turn that was waited for."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        """The calls that wait. If there are any, `_next` is scheduled."""

    def turn(self) -> asyncio.Future[None] | None:
        """Count a call. Returns a future to wait for before it is made, or None."""
        if self._made < STREAK:
            self._made += 1
            return None
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._next)
        self._waiting.append(future := loop.create_future())
        return future

    def _next(self) -> None:
        """Let the next of the calls that wait be made."""
        self._made = 0
        while self._waiting and self._made < STREAK:
            future = self._waiting.popleft()
            if not future.done():  # else its caller was cancelled
                future.set_result(None)
                self._made += 1
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._next)
