"""A limit on how much a server may do: a burst, and a rate after it."""

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

    def spend(self, permits: int) -> float:
        """Take permits, borrowing from the future if needed, and return the seconds to wait."""
        self._fill()
        self._left -= permits
        return max(0.0, -self._left / self._per_second)

    def _fill(self) -> None:
        now = self._now()
        self._left = min(self._burst, self._left + (now - self._filled_at) * self._per_second)
        self._filled_at = now
