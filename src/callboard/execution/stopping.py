"""Stops executions: cancellation, deadlines, and handlers that ignore both.

A handler is cancelled once and may clean up for the grace time. After that its execution ends without it.
"""

import logging
from dataclasses import dataclass

from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from .breakers import Breakers
from .deadlines import Deadlines
from .execution import Execution
from .failures import cancelled, timed_out
from .finishing import Finishing
from .lifecycle import Status
from .limits import SlotLimiter
from .time_limits import Due

log = logging.getLogger("callboard.execution")


@dataclass(eq=False, repr=False)
class Stopping:
    """Asks executions to stop, and watches the time limits of all live executions."""

    _clock: Clock
    _breakers: Breakers
    _slots: SlotLimiter
    _finishing: Finishing
    _live: dict[str, Execution]
    _grace: float

    def __post_init__(self) -> None:
        self.deadlines = Deadlines(self._clock, self._live, self._due)

    def cancel(self, execution: Execution) -> bool:
        """Cancel an execution. False if it has ended."""
        if execution.ended is not None:
            return False
        self.stop(execution, cancelled())
        return True

    def stop(self, execution: Execution, reason: ToolError) -> None:
        """Ask an execution to stop. It ends when its handler does, or when the grace time is over.

        If no attempt runs, it ends at once: there is nothing to clean up.
        """
        if not execution.request_stop(reason):
            return
        is_final = reason.category is ErrorCategory.CANCELLED or reason.retryable is False
        for child in tuple(execution.children or ()):  # those that end leave it
            if is_final or not child.is_keyed:  # else the next attempt may wait for it
                self.cancel(child)
        if execution.task is None or execution.status is not Status.EXECUTING:  # no attempt runs
            task = execution.task
            self._slots.withdraw(execution)
            self.end_stopped(execution)
            if task is not None:  # it waits, or has not taken its first step
                self._finishing.abandon(task)
                task.cancel()
            return
        execution.force_at(when := self._clock.monotonic() + self._grace)
        self.deadlines.watch(execution, when)
        execution.task.cancel()

    def end(self, execution: Execution, reason: ToolError) -> None:
        """End an execution now, whatever its handler does."""
        if execution.ended is None:
            self._live[execution.id] = execution
            task = execution.task
            self._slots.withdraw(execution)
            self.end_stopped(execution, reason)
            if task is not None:
                self._finishing.abandon(task)
                task.cancel()

    def give_up(self, execution: Execution) -> None:
        """End an execution whose handler ignores the cancellation."""
        log.warning("%s ignores its cancellation; its result is discarded", execution.name)
        if execution.task is not None:
            self._finishing.abandon(execution.task)
        self.end_stopped(execution)

    def end_stopped(self, execution: Execution, reason: ToolError | None = None) -> None:
        """End an execution with a reason, by default the one why it was stopped."""
        reason, entered = reason or execution.stop_reason or cancelled(), execution.status is Status.EXECUTING
        status = Status.CANCELLED if reason.category is ErrorCategory.CANCELLED else Status.FAILED
        self._finishing.fail(execution, reason, status)
        if entered:
            self._breakers.failed(execution, reason)

    def check_deadlines(self, execution: Execution) -> None:
        """Raise if an attempt returned too late: it blocked the event loop, so that the timer could not stop it."""
        now = self._clock.monotonic()
        if execution.deadline is not None and execution.deadline <= now:
            raise timed_out(execution.name, retryable=False)
        if execution.attempt_deadline is not None and execution.attempt_deadline <= now:
            raise timed_out(execution.name)

    def _due(self, execution: Execution, now: float) -> None:
        """Act on the time limits of an execution that have passed."""
        due = execution.take_due(now)
        if Due.FORCED in due:
            self.give_up(execution)
            return
        if Due.TOTAL in due:
            self.stop(execution, timed_out(execution.name, retryable=False))
        if Due.ATTEMPT in due:
            self.stop(execution, timed_out(execution.name))
        if Due.BUDGET in due and execution.ended is None:
            execution.promote()
