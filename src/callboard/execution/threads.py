"""The threads in which handlers run that are not async: a bounded number, whatever they do.

A thread cannot be stopped. When its call is cancelled or times out, the call ends and the thread goes on; it keeps its
place until it really ends, so that handlers that hang cannot pile threads up.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter

T = TypeVar("T")


class Threads:
    """Runs functions in at most `limit` threads. Belongs to one event loop."""

    def __init__(self, limit: int) -> None:
        self._places = CapacityLimiter(limit)
        self._unlimited = CapacityLimiter(math.inf)

    @property
    def busy(self) -> int:
        """How many threads run something, wanted or not."""
        return self._places.borrowed_tokens

    async def run(self, function: Callable[[], T]) -> T:
        """Its value. Cancellation returns at once and leaves the thread to itself, with its place."""
        loop, place = asyncio.get_running_loop(), object()
        await self._places.acquire_on_behalf_of(place)
        unclaimed = [place]  # whoever takes it out, thread or caller, decides whether the function runs

        def work() -> T:
            unclaimed.pop()
            try:
                return function()
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(partial(self._places.release_on_behalf_of, place))

        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._unlimited)
        finally:
            with contextlib.suppress(IndexError):
                unclaimed.pop()
                self._places.release_on_behalf_of(place)
