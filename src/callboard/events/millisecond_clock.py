"""The time of day at a reading of the monotonic clock, as events say it."""

from math import inf

from ..clock import Clock, SystemClock
from .event import written

_MARGIN = 1e-6
"""A millisecond counts as over so many seconds before its end, since times of day are not more exact than that."""


class MillisecondClock:
    """Turns readings of the monotonic clock into times of day.

    Events say their time to the millisecond, and to read a clock is among the dearest things that a call does. So the
    host is asked for the time of day once in each millisecond; where it was set meanwhile, that is seen in the next. A
    clock of another kind may be set without any time passing, and is asked each time.

    `text`, `at` and `since` hold for readings before `until`. Whoever has a later one calls `turn` with it first.
    """

    __slots__ = ("_steady", "_time", "at", "since", "text", "until")

    def __init__(self, clock: Clock) -> None:
        self._time = clock.time
        self._steady = isinstance(clock, SystemClock)
        self.since = self.until = -inf
        self.at = 0.0
        """The time of day at `since`."""
        self.text = ""
        """The time of day, written; the same for all readings until the next turn."""

    def turn(self, now: float) -> None:
        """Ask for the time of day at this reading."""
        self.at = at = self._time()
        self.since = now
        self.text = written(at).decode()
        if self._steady:
            self.until = now + (int(at * 1000) + 1) / 1000 - at - _MARGIN
