"""The time of day at a reading of the monotonic clock, as events say it."""

from math import inf

from ..clock import Clock
from .event import written

_SOON = 1e-6
"""Seconds before the end of a millisecond in which it is asked again: times of day are not more exact than that."""


class Calendar:
    """Turns readings into times of day.

    Events say their time to the millisecond. So the time of day is asked once for each, and not once for each event: to
    read a clock is among the dearest things that a call does. Where it was set meanwhile, the next millisecond has it.

    Whoever has a reading that is not before `until` calls `turn` with it; what is here holds for that one then.
    """

    __slots__ = ("_time", "offset", "since", "text", "until")

    def __init__(self, clock: Clock) -> None:
        self._time = clock.time
        self.since = self.until = -inf
        """The readings of which the rest is known."""
        self.offset = 0.0
        """What to add to a reading to have its time of day."""
        self.text = ""
        """The time of day, written."""

    def turn(self, now: float) -> None:
        """A millisecond is over, so ask again."""
        at = self._time()
        self.offset = at - now
        self.since, self.until = now, now + (int(at * 1000) + 1) / 1000 - at - _SOON
        self.text = written(at).decode()
