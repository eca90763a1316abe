"""A limit on how often a server may do something: a burst, and a rate after it."""

from collections.abc import Callable


class Allowance:
    """A bucket of permits that fills up over time. `now` returns seconds of a monotonic clock."""

    def __init__(self, burst: int, per_second: float, now: Callable[[], float]) -> None:
        self._burst = burst
        self._per_second = per_second
        self._now = now
        self._left = float(burst)
        self._filled_at = now()

    def take(self) -> bool:
        """Take a permit. Returns whether there was one."""
        self._fill()
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def delay(self) -> float:
        """Return the seconds until there is a permit."""
        self._fill()
        return max(0.0, (1 - self._left) / self._per_second)

    def _fill(self) -> None:
        now = self._now()
        self._left = min(self._burst, self._left + (now - self._filled_at) * self._per_second)
        self._filled_at = now
