"""Rate limits: a bucket per name, which fills again as time passes. Only so many names are remembered."""

from collections import OrderedDict

from ...clock import Clock

MOST = 10_000
"""Names that are remembered. Who was seen least recently is forgotten first, and begins anew with a full bucket."""


class RateLimiter:
    """Each name may take `burst` at once, and `rate` per second in the long run. With a rate of 0, anything."""

    def __init__(self, rate: float, burst: float, clock: Clock, most: int = MOST) -> None:
        self._rate, self._burst, self._clock, self._most = rate, burst, clock, most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """What was in each bucket, and when."""

    def __len__(self) -> int:
        return len(self._levels)

    def take(self, name: str) -> float:
        """Take one. Returns 0, or, where there is none, after how many seconds there will be one."""
        if wait := self.wait(name):
            return wait
        if self._rate:
            self._levels[name] = self._level(name) - 1, self._clock.monotonic()
            self._levels.move_to_end(name)
            if len(self._levels) > self._most:
                self._levels.popitem(last=False)
        return 0.0

    def wait(self, name: str) -> float:
        """After how many seconds there will be one to take; 0: now."""
        return max(0.0, 1 - self._level(name)) / self._rate if self._rate else 0.0

    def _level(self, name: str) -> float:
        level, at = self._levels.get(name, (self._burst, 0.0))
        return min(self._burst, level + (self._clock.monotonic() - at) * self._rate)
