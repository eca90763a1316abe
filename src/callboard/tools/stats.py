"""Statistics per tool: counters, times and percentiles, since the last reset and by minute, in constant memory.

Recording is on the path of every call, so durations are buffered and added to a percentile sketch in batches. The
sketch is an optional dependency; without it, percentiles are None.
"""

from collections import Counter
from datetime import datetime
from typing import Any, NamedTuple

from ..errors import ErrorCategory
from .histogram import Histogram
from .minute_series import MinuteRecord, MinuteSeries

_BUFFER = 1_024


class Statistics(NamedTuple):
    """The statistics of one tool since its last reset. Times are in seconds."""

    calls: int
    successes: int
    failures: dict[str, int]
    """Failures by error category, without cancelled calls."""
    cancellations: int
    retries: int
    total_time: float
    average_time: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    success_rate: float | None
    """Share of successes among the calls that were not cancelled."""
    last_error_at: datetime | None
    breaker: str


class ToolStats:
    """Live counters of one tool."""

    __slots__ = (
        "_calls",
        "_durations",
        "_histogram",
        "_minutes",
        "_sketch",
        "breaker",
        "cancellations",
        "failures",
        "last_error_at",
        "retries",
    )

    def __init__(self) -> None:
        self.breaker = "closed"
        self.reset()

    def reset(self) -> None:
        """Reset all counters. The state of the breaker is not a statistic and stays."""
        self.failures: Counter[str] = Counter()
        self.cancellations = 0
        self.retries = 0
        self.last_error_at: datetime | None = None
        self._calls = 0
        self._durations: list[float] = []
        self._sketch: Any = None
        self._histogram = Histogram()
        self._minutes = MinuteSeries()

    def ended(self, seconds: float) -> None:
        """Record the duration of a call that ended."""
        self._durations.append(seconds)
        if len(self._durations) >= _BUFFER:
            self._flush()

    def ended_at(self, now: float, seconds: float) -> None:
        """Record the duration of a call that ended at a monotonic time, which puts it into a minute."""
        if now >= self._minutes.until:
            self._flush()  # the buffered durations belong to the minute before
            self._minutes.turn(now)
        self._durations.append(seconds)
        if len(self._durations) >= _BUFFER:
            self._flush()

    def failed(self, category: ErrorCategory, seconds: float, at: datetime, now: float = -1.0) -> None:
        """Record a call that failed or was cancelled, at a monotonic time if it is to be in a minute."""
        self.ended_at(now, seconds)
        if category is ErrorCategory.CANCELLED:
            self.cancellations += 1
            self._minutes.cancellations += 1
        else:
            self.failures[category.value] += 1
            self._minutes.failures[category.value] += 1
            self.last_error_at = at

    def minutes(self, now: float) -> list[MinuteRecord]:
        """Return the minutes of the hour before a monotonic time in which calls ended, oldest first."""
        self._flush()
        return self._minutes.read(now)

    def histogram(self) -> Histogram:
        """Return the current histogram of durations."""
        self._flush()
        return self._histogram

    @property
    def calls(self) -> int:
        """The number of calls that ended."""
        return self._calls + len(self._durations)

    def read(self) -> Statistics:
        """Return the current statistics."""
        self._flush()
        calls, kept = self._calls, self._sketch
        p50, p95, p99 = (None, None, None) if kept is None else (kept.quantile(q) for q in (0.5, 0.95, 0.99))
        finished = calls - self.cancellations
        successes = finished - self.failures.total()
        return Statistics(
            calls=calls,
            successes=successes,
            failures=dict(self.failures),
            cancellations=self.cancellations,
            retries=self.retries,
            total_time=self._histogram.total,
            average_time=self._histogram.total / calls if calls else None,
            p50=p50,
            p95=p95,
            p99=p99,
            success_rate=successes / finished if finished else None,
            last_error_at=self.last_error_at,
            breaker=self.breaker,
        )

    def _flush(self) -> None:
        """Add the buffered durations to the histogram, the sketch and the current minute."""
        if not self._durations:
            return
        self._calls += len(self._durations)
        self._histogram.add_all(self._durations)
        if self._minutes.until:
            self._minutes.add_all(self._durations)
        if self._sketch is None:
            self._sketch = _new_sketch()
        if self._sketch is not None:
            self._sketch.batch_update(self._durations)
        self._durations.clear()


def _new_sketch() -> Any:
    try:
        from fastdigest import TDigest
    except ImportError:
        return None
    return TDigest()
