"""A clock for tests: it stands still until somebody moves it, and then everything that is due happens, in order."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from typing import Any


class ManualTimer:
    """Something that will happen when the clock gets there."""

    __slots__ = ("callback", "cancelled")

    def __init__(self, callback: Callable[[], Any]) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """Time under control. `advance` is the only thing that makes it pass."""

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
        """How many timers wait for the clock."""
        return sum(not timer.cancelled for _, _, timer in self._timers)

    async def advance(self, seconds: float) -> None:
        """Let time pass. Timers fire in their order, each at its own time, and what they wake runs before the next."""
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
    """Let everything run that can run without time passing."""
    for _ in range(turns):
        await asyncio.sleep(0)
