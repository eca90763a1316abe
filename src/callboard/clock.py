"""Time as a port, so that nothing in the runtime or in its tests has to wait for the wall.

`SystemClock` is what production uses; `callboard.testing.ManualClock` moves only when told to.
"""

import asyncio
import time as host
from collections.abc import Callable, Coroutine
from typing import Any, Protocol


class Timer(Protocol):
    """Something that will happen, and can be called off."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Two readings and two ways to wait."""

    def time(self) -> float:
        """Seconds since the epoch, for records. It may jump when the host's clock is set."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back, for durations and deadlines."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], Any]) -> Timer:
        """Call back on the running event loop after that many seconds of `monotonic`."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds of `monotonic`; cancellation ends it at once."""
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
    """Wait for something, but not longer than that; then it is stopped. Raises what went wrong with it."""
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
