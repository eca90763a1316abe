"""The clock port, so that tests control time instead of waiting.

`SystemClock` is for production; `callboard.testing.ManualClock` advances only on request.
"""

import asyncio
import time as host
from collections.abc import Callable, Coroutine
from typing import Any, Protocol


class Timer(Protocol):
    """A scheduled callback that can be cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """The current time, and two ways to wait."""

    def time(self) -> float:
        """Return the seconds since the epoch, for records. It may jump when the host's clock is set."""
        ...

    def monotonic(self) -> float:
        """Return the seconds since an arbitrary start, never decreasing, for durations and deadlines."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], Any]) -> Timer:
        """Schedule a callback on the running event loop after that many seconds of `monotonic`."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds of `monotonic`. Cancellation ends the wait."""
        ...


class SystemClock:
    """The host's clock."""

    __slots__ = ()

    time = staticmethod(host.time)
    monotonic = staticmethod(host.monotonic)

    def call_later(self, seconds: float, callback: Callable[[], Any]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def within(clock: Clock, seconds: float | None, work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine and cancel it after that many seconds (None: no limit). Raises its exception."""
    if seconds is not None and seconds <= 0:
        work.close()
        return
    task = asyncio.ensure_future(work)
    timer = None if seconds is None else clock.call_later(seconds, task.cancel)
    try:
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()
    finally:
        task.cancel()
        if timer is not None:
            timer.cancel()
