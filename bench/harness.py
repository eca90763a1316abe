"""Timing: the cost of a case as a multiple of its floor.

The cost is CPU time of this process, not wall-clock time, so that other processes do not count. Each batch of the case
is between two batches of the floor and is divided by their mean, so that a change of the machine's speed affects both.
The garbage collector stays on, because garbage is part of a call's cost, but each sample starts from a clean heap.
"""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Unit = Callable[[], Awaitable[str | bytes]]
WARM_UP = 20


class Sample(NamedTuple):
    """One bracketed measurement: seconds of CPU time of the case and of its floor."""

    case: float
    floor: float

    @property
    def ratio(self) -> float:
        return self.case / self.floor


class Summary(NamedTuple):
    """A median with its quartiles."""

    low: float
    median: float
    high: float


def summarise(values: Sequence[float]) -> Summary:
    """Return the median and quartiles of at least one value."""
    if len(values) == 1:
        return Summary(values[0], values[0], values[0])
    return Summary(*statistics.quantiles(values, n=4, method="inclusive"))


def timed(action: Callable[[], object]) -> float:
    """Return the CPU seconds of an action, without those of freeing its result."""
    started = time.process_time_ns()
    kept = action()
    elapsed = time.process_time_ns() - started
    del kept
    return elapsed / 1e9


def bracket(case: Callable[[], float], floor: Callable[[], float]) -> Sample:
    """Run a case, which returns its own seconds, between two runs of its floor."""
    gc.collect()
    before, middle, after = floor(), case(), floor()
    return Sample(middle, (before + after) / 2)


@dataclass(frozen=True, slots=True)
class Batches:
    """An asynchronous case with its floor, and the number of calls of each in a batch."""

    case: Unit
    floor: Unit
    case_calls: int
    floor_calls: int

    @classmethod
    async def calibrated(cls, case: Unit, floor: Unit, seconds: float) -> "Batches":
        """Warm both up and size their batches to take about the given CPU time each."""
        return cls(case, floor, await _calls_in(case, seconds), await _calls_in(floor, seconds))

    async def bracket(self) -> Sample:
        """Measure one batch of the case between two batches of the floor, per call."""
        gc.collect()
        before = await _per_call(self.floor, self.floor_calls)
        middle = await _per_call(self.case, self.case_calls)
        after = await _per_call(self.floor, self.floor_calls)
        return Sample(middle, (before + after) / 2)


async def _calls_in(unit: Unit, seconds: float) -> int:
    calls = WARM_UP
    await _per_call(unit, calls)
    while (cost := await _per_call(unit, calls)) * calls < seconds / 4:
        calls *= 4
    return max(1, round(seconds / cost))


async def _per_call(unit: Unit, calls: int) -> float:
    started = time.process_time_ns()
    for _ in range(calls):
        await unit()
    return (time.process_time_ns() - started) / 1e9 / calls
