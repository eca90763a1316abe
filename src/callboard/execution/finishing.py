"""The end of an execution: its record, the one terminal event, its statistics, and everything that it held.

An execution ends once. A later end has no effect. Why it ends is decided above: by `runner`, `stopping` or the manager.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from ..budget import LARGE
from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from ..events.millisecond_clock import MillisecondClock
from ..tools.registry import Registry
from ..types import Mode
from .breakers import Breakers
from .execution import Execution
from .failures import detach, log_failure, presentable
from .lifecycle import Status
from .lifecycle_events import failure_events, success_events
from .limits import SlotLimiter
from .observer import Observer
from .reporting import report

log = logging.getLogger("callboard.execution")


@dataclass(eq=False, repr=False)
class Finishing:
    """Ends executions, and releases what they hold."""

    _registry: Registry
    _clock: Clock
    _millisecond_clock: MillisecondClock
    _breakers: Breakers
    _slots: SlotLimiter
    _live: dict[str, Execution]
    _observers: list[Observer]
    _cancel: Callable[[Execution], object]
    """Cancels the nested calls of an execution that has ended."""

    def __post_init__(self) -> None:
        self._counters = self._registry.counters_by_name
        self._monotonic = self._clock.monotonic  # looked up once: it is on the path of every call
        self._abandoned: set[asyncio.Task[None]] = set()

    def succeed(self, execution: Execution, result_json: bytes) -> None:
        """End an execution with its result."""
        if execution.ended is not None:
            return
        now, clock_ms = self._monotonic(), self._millisecond_clock
        if now >= clock_ms.until:
            clock_ms.turn(now)
        execution.succeed(now, result_json)
        index = execution.scope.index
        index.ended(execution)
        if len(result_json) > LARGE:
            index.count_bytes(execution)
        was_reported = execution.reported_phase
        try:
            if self._observers or execution.delivers_late:
                self._notify(execution)
            execution.scope.append_events(success_events(execution, clock_ms, result_json), execution)
            if (counters := self._counters.get(execution.tool.name)) is not None:  # else the tool was removed
                counters.ended_at(now, now - (now if execution.started is None else execution.started))
            if self._breakers.in_use:
                self._breakers.succeeded(execution)
        finally:
            if was_reported or execution.extras is not None:
                self._release(execution)
            else:  # it never waited, so it holds nothing but its slot
                self._slots.release(execution)

    def fail(self, execution: Execution, error: ToolError, status: Status = Status.FAILED) -> None:
        """End an execution with an error, as failed or cancelled."""
        if execution.ended is not None:
            return
        now, at = self._clock.monotonic(), self._clock.time()
        error, error_json = presentable(error)
        execution.fail(now, error, status)
        execution.scope.index.ended(execution)
        try:
            self._notify(execution)
            execution.scope.append_events(failure_events(execution, at, error_json), execution)
            spent = now - (execution.queued if execution.started is None else execution.started)
            counters = self._registry.counters_of(execution.tool)
            counters.failed(error.category, spent, datetime.fromtimestamp(at, UTC), now)
            log_failure(execution, error)
            detach(error, execution.tool)
        finally:
            self._release(execution)

    def fault(self, execution: Execution, error: Exception) -> None:
        """End an execution because of a bug in the runtime."""
        log.error("the runtime failed while it carried out %s", execution.name, exc_info=error)
        fault = ToolError("The system failed.", category=ErrorCategory.UNKNOWN, report=repr(error))
        self.fail(execution, fault)

    def disown(self, execution: Execution) -> None:
        """Stop an execution that another process owns, without a terminal event."""
        if execution.ended is not None:
            execution.lose()
            return
        task = execution.task
        execution.disown(self._clock.monotonic())
        execution.scope.index.ended(execution)
        for observer in self._observers:
            observer.ended(execution)
        if not execution.has_slot:
            self._slots.withdraw(execution)
        self._release(execution)
        if task is not None:
            self.abandon(task)
            task.cancel()

    def release(self, execution: Execution) -> None:
        """Store an execution that waits for a person without an owner, and stop it here."""
        execution.lose()
        execution.scope.append_events((), execution)
        self.disown(execution)

    def hand_over(self, execution: Execution, queue: str) -> None:
        """Store an execution for a worker of a queue, without an owner, and stop it here. The ledger submits it."""
        execution.hand_over(queue)
        if execution.tool.mode is not Mode.INLINE and execution.parent is None:
            execution.deliver_late()
        report(execution)
        self.disown(execution)

    def hand_back(self, execution: Execution) -> None:
        """End an attempt that another process begins again: neither an attempt nor an interruption is counted."""
        execution.hand_back()
        report(execution)

    def caller_left(self, execution: Execution) -> None:
        """Note that a caller stopped waiting. Without another caller, the result is kept until it is taken."""
        if not (execution.waiters or execution.delivers_late or execution.lost):
            execution.deliver_late()
            if execution.ended is not None:
                execution.scope.add_late_result(execution)

    def abandon(self, task: asyncio.Task[None]) -> None:
        """Keep a reference to the task of an execution that has ended, until the task ends too."""
        self._abandoned.add(task)
        task.add_done_callback(self._abandoned.discard)

    def _notify(self, execution: Execution) -> None:
        """Notify observers of the end, and the session of a late result, before the terminal event is appended."""
        for observer in self._observers:
            observer.ended(execution)
        if execution.delivers_late:
            execution.scope.add_late_result(execution)

    def _release(self, execution: Execution) -> None:
        """Release everything that an execution held, whatever failed before, so that no caller waits forever."""
        self._live.pop(execution.id, None)
        if execution.waiters is not None:
            execution.release_waiters()
        if execution.extras is not None:
            if execution.release_arguments() and not execution.lost:
                execution.scope.index.count_bytes(execution)
            if execution.request is not None:
                execution.scope.stop_asking(execution)
        if execution.children:
            for child in tuple(execution.children):  # those that end leave it
                self._cancel(child)
        if execution.has_slot:
            self._slots.release(execution)
