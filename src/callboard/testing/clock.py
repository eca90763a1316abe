"""A manual clock for tests: time passes only when the test advances it, and timers fire in order."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from typing import Any


class ManualTimer:
    """A pending callback of a `ManualClock`."""

    __slots__ = ("callback", "cancelled")

    def __init__(self, callback: Callable[[], Any]) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """A clock whose time passes only in `advance`."""

    def __init__(self, time: float = 1_800_000_000.0) -> None:
        self._epoch = time
        self._now = 0.0
        self._timers: list[tuple[float, int, ManualTimer]] = []
        self._order = itertools.count()

    def time(self) -> float:
        return self._epoch + self._now

    def monotonic(self) -> float:
        return self._now

    def call_later(self, seconds: float, callback: Callable[[], Any]) -> ManualTimer:
        timer = ManualTimer(callback)
        heapq.heappush(self._timers, (self._now + max(0.0, seconds), next(self._order), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        timer = self.call_later(seconds, lambda: future.done() or future.set_result(None))
        try:
            await future
        finally:
            timer.cancel()

    @property
    def pending(self) -> int:
        """The number of pending timers."""
        return sum(not timer.cancelled for _, _, timer in self._timers)

    async def advance(self, seconds: float) -> None:
        """Advance the time. Timers fire in order, each at its own time, and tasks they resume run before the next."""
        target = self._now + seconds
        await settle()
        while self._timers and self._timers[0][0] <= target:
            when, _, timer = heapq.heappop(self._timers)
            if not timer.cancelled:
                self._now = max(self._now, when)
                timer.callback()
                await settle()
        self._now = target
        await settle()


async def settle(turns: int = 25) -> None:
    """Run all tasks as far as they get without time passing."""
    for _ in range(turns):
        await asyncio.sleep(0)
