"""Deadlines without a timer per call.

Each running execution carries its times as plain fields. One timer for all of them is set to the earliest, and when it
fires the running ones are looked at. A call that ends before anything is due, which is nearly every call, costs one
comparison.
"""

import logging
from collections.abc import Callable, Iterable

from ..clock import Clock, Timer
from .execution import Execution

log = logging.getLogger("callboard.execution")

NEVER = float("inf")


class Deadlines:
    """Calls `due(execution, now)` for every execution of which a time has come."""

    __slots__ = ("_clock", "_due", "_next", "_running", "_timer")

    def __init__(self, clock: Clock, running: Iterable[Execution], due: Callable[[Execution, float], None]) -> None:
        self._clock = clock
        self._running = running
        self._due = due
        self._next = NEVER
        self._timer: Timer | None = None

    def watch(self, when: float) -> None:
        """Make sure that somebody looks at that time."""
        if when < self._next:
            timer = self._clock.call_later(max(0.0, when - self._clock.monotonic()), self._look)
            if self._timer is not None:
                self._timer.cancel()
            self._next, self._timer = when, timer

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = NEVER

    def _look(self) -> None:
        self._next, self._timer = NEVER, None
        now = self._clock.monotonic()
        for execution in tuple(self._running):
            if execution.ended is None and earliest(execution) <= now:
                try:
                    self._due(execution, now)
                except Exception:  # the others' times must come all the same
                    log.exception("the runtime failed while the time of %s came", execution.name)
        if (when := min(map(earliest, self._running), default=NEVER)) < NEVER:
            self.watch(when)


def earliest(execution: Execution) -> float:
    """The next time at which something is due for it."""
    return min(
        NEVER if execution.deadline is None else execution.deadline,
        NEVER if execution.attempt_deadline is None else execution.attempt_deadline,
        NEVER if execution.budget_at is None else execution.budget_at,
        NEVER if execution.forced_at is None else execution.forced_at,
    )
