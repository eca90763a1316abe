"""The time that followed transactions, breakers and caches use. The runtime's clock, or a manual one in tests, fits."""

import time
from typing import Protocol

import anyio


class Clock(Protocol):
    """A source of time, and a way to wait."""

    def time(self) -> float:
        """Return the time of day, in seconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Return the seconds since an arbitrary start, never decreasing."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds of `monotonic`."""
        ...


class SystemClock:
    """The host's clock."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)
