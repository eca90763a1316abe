"""A turnstile: expensive requests pass one at a time, with a rest after each that take_fitting its cost.

Reading a large body holds the event loop, and the interpreter lock with it. It cannot be made shorter than one body,
but between two of them everything else has its turn. Users take turns too, however many each has sent.
"""

import asyncio
from collections import deque


class Turnstile:
    """Made once per server."""

    __slots__ = ("_closed", "_queues")

    def __init__(self) -> None:
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        """Requests that wait, by user; the first user is the next."""
        self._closed = False

    def __len__(self) -> int:
        """How many requests wait."""
        return sum(map(len, self._queues.values()))

    async def enter(self, user_id: str, seconds: float) -> None:
        """Return when it is this request's turn. The next one follows `seconds` later at the earliest."""
        loop = asyncio.get_running_loop()
        if self._closed:
            waiting: asyncio.Future[None] = loop.create_future()
            self._queues.setdefault(user_id, deque()).append(waiting)
            try:
                await waiting
            except asyncio.CancelledError:
                if waiting.done() and not waiting.cancelled():  # its turn had come
                    self._next()
                raise
        self._closed = True
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
        self._closed = False
