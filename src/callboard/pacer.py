"""Pacing of work that blocks the event loop: one piece at a time, with a pause after each according to its cost.

Parsing a large body or a schema blocks the event loop and holds the interpreter lock. The pause lets other work run
before the next piece. Users take turns, whatever the number of their requests.
"""

import asyncio
from collections import deque


class Pacer:
    """A queue of expensive pieces of work."""

    __slots__ = ("_busy", "_queues")

    def __init__(self) -> None:
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        """Waiting requests by user; the first user is next."""
        self._busy = False

    def __len__(self) -> int:
        """Return the number of waiting requests."""
        return sum(map(len, self._queues.values()))

    def waiting(self, user_id: str) -> int:
        """Return the number of waiting requests of one user."""
        return len(self._queues.get(user_id, ()))

    async def enter(self, user_id: str, seconds: float) -> None:
        """Wait for the turn of this request. The next one follows after at least `seconds`."""
        loop = asyncio.get_running_loop()
        if self._busy:
            waiting: asyncio.Future[None] = loop.create_future()
            self._queues.setdefault(user_id, deque()).append(waiting)
            try:
                await waiting
            except asyncio.CancelledError:
                if waiting.done() and not waiting.cancelled():  # cancelled in its own turn
                    self._next()
                raise
        self._busy = True
        loop.call_later(seconds, self._next)

    def _next(self) -> None:
        while self._queues:
            user_id = next(iter(self._queues))
            queue = self._queues.pop(user_id)
            waiting = queue.popleft()
            if queue:
                self._queues[user_id] = queue  # behind all other users
            if not waiting.done():
                waiting.set_result(None)
                return
        self._busy = False
