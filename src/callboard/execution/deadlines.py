"""One timer for the time limits of all live executions.

Each execution carries its limits as plain fields (see `time_limits`). A heap orders their times, and the timer is set
to the earliest. A call that ends earlier, as nearly every call does, leaves its entries in the heap, and those of ended
calls are dropped together: setting a limit and acting on one cost the logarithm of the number of live executions.
"""

import logging
from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush

from ..clock import Clock, Timer
from .execution import Execution

log = logging.getLogger("callboard.execution")

NEVER = float("inf")
SLACK = 256
"""The number of entries of limits that are gone which are kept in any case."""


class Deadlines:
    """Calls `due(execution, now)` for each live execution at the times that are watched for it.

    `live` has the live executions by id. The limits of one that is not live may be forgotten: watch them when it is.
    """

    __slots__ = ("_clock", "_due", "_heap", "_limit", "_live", "_next", "_timer")

    def __init__(self, clock: Clock, live: Mapping[str, Execution], due: Callable[[Execution, float], None]) -> None:
        self._clock = clock
        self._live = live
        self._due = due
        self._heap: list[tuple[float, str]] = []
        """An entry with the execution's id for each limit of each live execution, and for limits that are gone."""
        self._limit = SLACK
        """The number of entries above which those of limits that are gone are dropped."""
        self._next = NEVER
        self._timer: Timer | None = None

    def __len__(self) -> int:
        """Return the number of entries, with those of limits that are gone."""
        return len(self._heap)

    def watch(self, execution: Execution, when: float) -> None:
        """Have `due` called at that time, which is one of the execution's limits."""
        heappush(self._heap, (when, execution.id))
        if when < self._next:
            self._set_timer(when)
        if len(self._heap) > self._limit:
            self._rebuild()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._heap.clear()
        self._next = NEVER

    def _set_timer(self, when: float) -> None:
        timer = self._clock.call_later(max(0.0, when - self._clock.monotonic()), self._check)
        if self._timer is not None:
            self._timer.cancel()
        self._next, self._timer = when, timer

    def _rebuild(self) -> None:
        """Drop the entries of limits that are gone. The more are left, the later this happens again."""
        self._heap[:] = [(when, each.id) for each in self._live.values() for when in each.limits()]
        heapify(self._heap)
        self._limit = 2 * len(self._heap) + SLACK

    def _check(self) -> None:
        self._next, self._timer = NEVER, None
        now, heap = self._clock.monotonic(), self._heap
        passed: dict[str, None] = {}
        while heap and heap[0][0] <= now:
            passed[heappop(heap)[1]] = None
        for execution_id in passed:
            if (execution := self._live.get(execution_id)) is not None:
                try:
                    self._due(execution, now)
                except Exception:  # the other executions are checked all the same
                    log.exception("the runtime failed when a time limit of %s passed", execution.name)
        while heap and heap[0][1] not in self._live:
            heappop(heap)
        if heap and heap[0][0] < self._next:
            self._set_timer(heap[0][0])
