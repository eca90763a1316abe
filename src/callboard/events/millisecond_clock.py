"""A clock that reads the time of day at most once per millisecond."""

from math import inf

from ..clock import Clock, SystemClock
from .event import iso_time

_MARGIN = 1e-6
"""Seconds by which a millisecond ends early, since times of day are not more exact than that."""


class MillisecondClock:
    """Converts readings of the monotonic clock into times of day.

    Events have times in milliseconds, and reading a clock is expensive within a call. So the system's time of day is
    read once per millisecond; a change of the system's time takes effect in the next. Any other clock may change
    without time passing, and is read each time.

    `text`, `at` and `since` are valid for readings before `until`. For a later reading, call `turn` first.
    """

    __slots__ = ("_steady", "_time", "at", "since", "text", "until")

    def __init__(self, clock: Clock) -> None:
        self._time = clock.time
        self._steady = isinstance(clock, SystemClock)
        self.since = self.until = -inf
        self.at = 0.0
        """The time of day at `since`."""
        self.text = ""
        """The time of day in ISO 8601."""

    def turn(self, now: float) -> None:
        """Read the time of day at this reading of the monotonic clock."""
        self.at = at = self._time()
        self.since = now
        self.text = iso_time(at).decode()
        if self._steady:
            self.until = now + (int(at * 1000) + 1) / 1000 - at - _MARGIN
