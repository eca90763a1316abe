"""A bounded number of threads for handlers that are not async.

A thread cannot be stopped. When its call is cancelled or times out, the call ends and the thread continues; it counts
until it ends, so that handlers that hang cannot pile up threads. One user has at most three quarters of the threads,
and free threads go to each user in turn.
"""

import asyncio
import contextlib
import math
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter

T = TypeVar("T")


class Threads:
    """Runs functions in at most `limit` threads. Belongs to one event loop."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._per_user = math.ceil(limit * 3 / 4)
        self._unlimited = CapacityLimiter(math.inf)
        self._used: Counter[str] = Counter()
        """The number of busy threads of each user."""
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """The calls that wait for a thread, by user; the user whose turn it is comes first."""
        self.busy = 0
        """The number of busy threads, with those of calls that have ended."""

    async def run(self, function: Callable[[], T], user_id: str = "") -> T:
        """Return the function's value. Cancellation returns at once; the thread continues, and still counts."""
        loop = asyncio.get_running_loop()
        await self._acquire(user_id)
        unclaimed = [user_id]  # the thread or the caller empties it, whichever comes first

        def work() -> T:
            unclaimed.pop()
            try:
                return function()
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(partial(self._release, user_id))

        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._unlimited)
        finally:
            with contextlib.suppress(IndexError):
                unclaimed.pop()
                self._release(user_id)

    async def _acquire(self, user_id: str) -> None:
        if self._may_run(user_id):
            self._take(user_id)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(user_id, deque())
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it got a thread in the same moment
                self._release(user_id)
            elif turn in queue:
                queue.remove(turn)
                if not queue:
                    del self._waiting[user_id]
            raise

    def _may_run(self, user_id: str) -> bool:
        return self.busy < self._limit and self._used[user_id] < self._per_user

    def _take(self, user_id: str) -> None:
        self.busy += 1
        self._used[user_id] += 1

    def _release(self, user_id: str) -> None:
        self.busy -= 1
        self._used[user_id] -= 1
        if not self._used[user_id]:
            del self._used[user_id]
        while (chosen := next((each for each in self._waiting if self._may_run(each)), None)) is not None:
            queue = self._waiting.pop(chosen)
            turn = queue.popleft()
            if queue:
                self._waiting[chosen] = queue  # at the end
            if not turn.done():  # else its caller was cancelled and has not left the queue yet
                self._take(chosen)
                turn.set_result(None)
