"""Time as a port, so that nothing in the runtime or in its tests has to wait for the wall.

`SystemClock` is what production uses; `callboard.testing.ManualClock` moves only when told to.
"""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Two readings and one wait."""

    def now(self) -> datetime:
        """The date and time in UTC, for records. It may jump when the host's clock is set."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back, for durations and deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds of `monotonic`; cancellation ends it at once."""
        ...


class SystemClock:
    """The host's clock."""

    __slots__ = ()

    monotonic = staticmethod(time.monotonic)

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
