"""Rate limits: token buckets by name, for a bounded number of names."""

from collections import OrderedDict
from collections.abc import Callable

from ...clock import Clock

MAX_NAMES = 10_000
"""Names with a bucket. The least recently used is dropped first, and would start again with a full bucket."""


class RateLimiter:
    """Token buckets: each name may take `burst` at once, and `rate` per second on average. A rate of 0 is no limit.

    `sharing` returns the number of processes that share the limits: each allows its part of them.
    """

    def __init__(
        self, rate: float, burst: float, clock: Clock, most: int = MAX_NAMES, sharing: Callable[[], int] = lambda: 1
    ) -> None:
        self._full_rate, self._full_burst, self._clock, self._most, self._sharing = rate, burst, clock, most, sharing
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """The level of each bucket, and when it was measured."""

    @property
    def _rate(self) -> float:
        return self._full_rate / self._sharing()

    @property
    def _burst(self) -> float:
        return max(1.0, self._full_burst / self._sharing())

    def __len__(self) -> int:
        return len(self._levels)

    def take(self, name: str) -> float:
        """Take a token. Returns 0, or the seconds until there is one."""
        if wait := self.wait(name):
            return wait
        if self._rate:
            self._levels[name] = self._level(name) - 1, self._clock.monotonic()
            self._levels.move_to_end(name)
            if len(self._levels) > self._most:
                self._levels.popitem(last=False)
        return 0.0

    def wait(self, name: str) -> float:
        """Return the seconds until there is a token; 0 if there is one."""
        return max(0.0, 1 - self._level(name)) / self._rate if self._rate else 0.0

    def _level(self, name: str) -> float:
        level, at = self._levels.get(name, (self._burst, 0.0))
        return min(self._burst, level + (self._clock.monotonic() - at) * self._rate)
