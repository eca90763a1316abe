"""One timer for the time limits of all live executions.

Each execution carries its limits as plain fields (see `time_limits`). The timer is set to the earliest of them; when it
fires, all live executions are checked. A call that ends before that, as nearly every call does, costs one comparison.
"""

import logging
from collections.abc import Callable, Iterable

from ..clock import Clock, Timer
from .execution import Execution

log = logging.getLogger("callboard.execution")

NEVER = float("inf")


class Deadlines:
    """Calls `due(execution, now)` for every live execution that has passed one of its time limits."""

    __slots__ = ("_clock", "_due", "_live", "_next", "_timer")

    def __init__(self, clock: Clock, live: Iterable[Execution], due: Callable[[Execution, float], None]) -> None:
        self._clock = clock
        self._live = live
        self._due = due
        self._next = NEVER
        self._timer: Timer | None = None

    def watch(self, when: float) -> None:
        """Have the timer fire at that time, or earlier."""
        if when < self._next:
            timer = self._clock.call_later(max(0.0, when - self._clock.monotonic()), self._check)
            if self._timer is not None:
                self._timer.cancel()
            self._next, self._timer = when, timer

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = NEVER

    def _check(self) -> None:
        self._next, self._timer = NEVER, None
        now = self._clock.monotonic()
        for execution in tuple(self._live):
            if execution.ended is None and (when := execution.next_due) is not None and when <= now:
                try:
                    self._due(execution, now)
                except Exception:  # the other executions are checked all the same
                    log.exception("the runtime failed when a time limit of %s passed", execution.name)
        times = [when for execution in self._live if (when := execution.next_due) is not None]
        if times:
            self.watch(min(times))
