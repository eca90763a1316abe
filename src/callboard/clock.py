"""Time as a port, so that nothing in the runtime or in its tests has to wait for the wall.

`SystemClock` is what production uses; `callboard.testing.ManualClock` moves only when told to.
"""

import asyncio
import time as host
from collections.abc import Callable
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
