"""Statistics over time: the calls of the last hour, one record per minute, in bounded memory.

A duration is counted in one of a fixed number of classes, each 1.5 times as long as the one before. Percentiles are
exact to that factor, and records of several tools can be added up.
"""

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

MINUTE = 60.0
MINUTES = 60
"""The number of minutes that are kept."""

_FACTOR = 1.5
BOUNDS = tuple(1e-5 * _FACTOR**power for power in range(49))
"""Upper bounds of the classes of durations in seconds, from 10 microseconds to about 47 minutes."""


class MinuteRecord(NamedTuple):
    """The calls that ended in one minute."""

    start: float
    """The monotonic time of its beginning."""
    calls: int
    failures: Mapping[str, int]
    """Failures by error category, without cancelled calls."""
    cancellations: int
    durations: Mapping[int, int]
    """The number of durations by the index of their class."""

    def percentile(self, share: float) -> float | None:
        """Return the duration that this share of the calls did not exceed, in seconds; None without calls."""
        left = share * sum(self.durations.values())
        for index in sorted(self.durations):
            left -= self.durations[index]
            if left <= 0:
                return BOUNDS[min(index, len(BOUNDS) - 1)]
        return None


class MinuteSeries:
    """The records of one tool. `ToolStats` adds durations in batches, which all belong to the current minute."""

    __slots__ = ("_closed", "_durations", "cancellations", "failures", "start", "until")

    def __init__(self) -> None:
        self._closed: deque[MinuteRecord] = deque(maxlen=MINUTES - 1)
        self.start = 0.0
        self.until = 0.0
        """The monotonic time at which the current minute ends; 0 before the first call."""
        self._open()

    def _open(self) -> None:
        self.failures: Counter[str] = Counter()
        self.cancellations = 0
        self._durations: Counter[int] = Counter()

    def add_all(self, seconds: list[float]) -> None:
        """Count the durations of calls that ended in the current minute, with one search per class."""
        ordered = sorted(seconds)
        counted = 0
        for index, bound in enumerate(BOUNDS):
            below = bisect_right(ordered, bound, counted)
            if below > counted:
                self._durations[index] += below - counted
                counted = below
            if counted == len(ordered):
                return
        self._durations[len(BOUNDS)] += len(ordered) - counted

    def turn(self, now: float) -> None:
        """Begin the minute of a monotonic time."""
        if self._durations:
            self._closed.append(self._current())
            self._open()
        self.start = now - now % MINUTE
        self.until = self.start + MINUTE

    def read(self, now: float) -> list[MinuteRecord]:
        """Return the minutes of the last hour in which calls ended, oldest first."""
        records = [*self._closed, self._current()] if self._durations else self._closed
        first = now - now % MINUTE - (MINUTES - 1) * MINUTE
        return [record for record in records if record.start >= first]

    def _current(self) -> MinuteRecord:
        calls = self._durations.total()
        return MinuteRecord(self.start, calls, dict(self.failures), self.cancellations, dict(self._durations))


def merge_minutes(series: Iterable[Iterable[MinuteRecord]]) -> list[MinuteRecord]:
    """Add up the records of several tools by minute, oldest first."""
    by_start: dict[float, list[MinuteRecord]] = {}
    for records in series:
        for record in records:
            by_start.setdefault(record.start, []).append(record)
    return [_sum(by_start[start]) for start in sorted(by_start)]


def _sum(records: list[MinuteRecord]) -> MinuteRecord:
    failures, durations = Counter[str](), Counter[int]()
    for record in records:
        failures.update(record.failures)
        durations.update(record.durations)
    cancellations = sum(record.cancellations for record in records)
    return MinuteRecord(records[0].start, durations.total(), failures, cancellations, durations)
