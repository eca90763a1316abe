"""A cumulative histogram with fixed bounds, in constant memory."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3_600.0)
"""Bounds for durations."""


class Histogram:
    """Counts values by bounds. A value equal to a bound counts as below it."""

    __slots__ = ("_counts", "bounds", "total")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        """The sum of all values."""

    def add(self, value: float) -> None:
        self._counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def add_all(self, values: list[float]) -> None:
        """Count many values at once. Values below the first bound cost little."""
        self.total += sum(values)
        bounds, counts = self.bounds, self._counts
        first = bounds[0]
        slow = [value for value in values if value > first] if max(values, default=0.0) > first else ()
        counts[0] += len(values) - len(slow)
        for value in slow:
            counts[bisect_left(bounds, value)] += 1

    def below(self) -> list[int]:
        """Return the number of values below each bound; the last element is the number of all values."""
        return list(accumulate(self._counts))
