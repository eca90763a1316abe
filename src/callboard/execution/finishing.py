"""How executions end: told to stop, given up, out of time, taken over by another process, or simply done.

Whatever happens to an execution, it ends here, once: with its record, the one terminal event, its statistics and its
place given back.
"""

import asyncio
import logging
from datetime import UTC, datetime

from pydantic_core import to_json

from ..budget import LARGE
from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from ..events.event import encode_event, written
from ..events.kinds import EventKind
from ..events.millisecond_clock import MillisecondClock
from ..storage.rows import WORKER
from ..tools.registry import Registry
from .breakers import Breakers
from .deadlines import Deadlines
from .execution import Execution
from .failures import cancelled, detach, presentable, report, timed_out
from .lifecycle import Status, move
from .lifecycle_events import head, opening, success
from .limits import SlotLimiter
from .observer import Observer

log = logging.getLogger("callboard.execution")

_EXECUTING, _SUCCEEDED, _CANCELLED = Status.EXECUTING, Status.SUCCEEDED, ErrorCategory.CANCELLED


class Finishing:
    """Knows the executions that have not ended, and ends them."""

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        clock_ms: MillisecondClock,
        breakers: Breakers,
        slots: SlotLimiter,
        grace: float,
    ) -> None:
        self._registry = registry
        self._counters = registry.counters_by_name
        self._clock = clock
        self._monotonic = clock.monotonic
        self._millisecond_clock = clock_ms
        self._breakers = breakers
        self._slots = slots
        self._grace = grace
        self.live: dict[str, Execution] = {}
        """Those that wait for something: a place, their handler, a person, their next attempt."""
        self.deadlines = Deadlines(clock, self.live.values(), self._due)
        self._abandoned: set[asyncio.Task[None]] = set()
        self.observers: list[Observer] = []

    # What is told

    def post(self, execution: Execution, kind: EventKind, fields: bytes = b"}") -> None:
        """Post an event of an execution. `fields` goes on where the ids end: `,"name":value}`."""
        at = written(self._clock.time())
        self.tell(execution, b'{"kind":"%b","at":"%b%b%b}' % (kind.encode(), at, head(execution), fields))

    def tell(self, execution: Execution, *events: bytes) -> None:
        """Post how it began, if that was not told yet, and events."""
        told = (*opening(execution), *events)
        if execution.kind == WORKER and execution.ended is None:
            told = ()
        execution.scope.tell(told, execution)

    # Stopping

    def cancel(self, execution: Execution) -> bool:
        """Stop an execution. Its handler may clean up for the grace time. False where it had ended already."""
        if execution.terminal:
            return False
        self.stop(execution, cancelled())
        return True

    def stop(self, execution: Execution, reason: ToolError) -> None:
        """Tell an execution to stop. It ends when its handler does, or when the grace time is over."""
        if execution.stop is not None:
            final = reason.category is _CANCELLED or reason.retryable is False
            if final and execution.stop.category is not _CANCELLED:
                execution.stop = reason  # the attempt was timing out; now nobody wants another one either
            return
        execution.stop = reason
        for child in execution.children or ():
            self.cancel(child)
        if execution.task is None or not execution.attempt:  # it waits for its place, or its task has not begun
            if execution.task is not None:
                execution.task.cancel()
            self._slots.withdraw(execution)
            self.end_stopped(execution)
            return
        execution.forced_at = self._clock.monotonic() + self._grace
        self.deadlines.watch(execution.forced_at)
        execution.task.cancel()

    def end(self, execution: Execution, reason: ToolError) -> None:
        """End an execution now, whatever its handler does."""
        if execution.ended is None:
            self.live[execution.id] = execution
            execution.stop, task = reason, execution.task
            self._slots.withdraw(execution)
            self.end_stopped(execution)
            if task is not None:
                self.abandon(task)
                task.cancel()

    def give_up(self, execution: Execution) -> None:
        """End an execution whose handler ignores the cancellation."""
        log.warning("%s goes on although it was told to stop; its result is discarded", execution.name)
        if execution.task is not None:
            self.abandon(execution.task)
        self.end_stopped(execution)

    def end_stopped(self, execution: Execution) -> None:
        reason, inside = execution.stop or cancelled(), execution.status is _EXECUTING
        status = Status.CANCELLED if reason.category is _CANCELLED else Status.FAILED
        self.fail(execution, reason, status)
        if inside:
            self._breakers.failed(execution, reason)

    def _due(self, execution: Execution, now: float) -> None:
        """Something's time has come."""
        if execution.forced_at is not None and execution.forced_at <= now:
            execution.forced_at = None
            self.give_up(execution)
            return
        if execution.deadline is not None and execution.deadline <= now:
            execution.deadline = None
            self.stop(execution, timed_out(execution.name, retryable=False))
        if execution.attempt_deadline is not None and execution.attempt_deadline <= now:
            execution.attempt_deadline = None
            self.stop(execution, timed_out(execution.name))
        if execution.budget_at is not None and execution.budget_at <= now and execution.ended is None:
            self.promote(execution)

    def check_times(self, execution: Execution) -> None:
        """Raise why an attempt that gave a value is too late: it held up the event loop, so nobody could stop it."""
        if execution.deadline is None and execution.attempt_deadline is None:
            return
        now = self._clock.monotonic()
        if execution.deadline is not None and execution.deadline <= now:
            raise timed_out(execution.name, retryable=False)
        if execution.attempt_deadline is not None and execution.attempt_deadline <= now:
            raise timed_out(execution.name)

    def promote(self, execution: Execution) -> None:
        """Let go whoever waits for an inline call: it goes on, and its result comes late."""
        execution.budget_at = None
        execution.promoted = execution.late = True
        release_waiters(execution)

    def remaining(self, execution: Execution) -> float | None:
        """Seconds until the attempt or the execution must have ended, whichever comes first."""
        times = [when for when in (execution.deadline, execution.attempt_deadline) if when is not None]
        return max(0.0, min(times) - self._clock.monotonic()) if times else None

    # Custody

    def disown(self, execution: Execution) -> None:
        """An execution is not this process's any more: stop it here, and say nothing."""
        execution.lost = True
        if execution.ended is not None:
            return
        execution.ended, task = self._clock.monotonic(), execution.task
        execution.scope.index.ended(execution)
        execution.arguments = execution.task = None
        for observer in self.observers:
            observer.ended(execution)
        self.live.pop(execution.id, None)
        release_arguments(execution)
        if execution.has_slot:
            self._slots.leave(execution)
        else:
            self._slots.withdraw(execution)
        release_waiters(execution)
        for child in execution.children or ():
            self.cancel(child)
        if task is not None:
            self.abandon(task)
            task.cancel()

    def release(self, execution: Execution) -> None:
        """Leave an execution to whoever goes on with it, once its person has answered."""
        execution.lost = True
        execution.scope.tell((), execution)
        self.disown(execution)

    # The end

    def succeed(self, execution: Execution, encoded: bytes) -> None:
        """The end of one that gave a value. Only the first end has an effect."""
        if execution.ended is not None:
            return
        now, clock_ms = self._monotonic(), self._millisecond_clock
        if now >= clock_ms.until:
            clock_ms.turn(now)
        execution.status = _SUCCEEDED if execution.status is _EXECUTING else move(execution.status, _SUCCEEDED)
        execution.ended, execution.result_json = now, encoded
        execution.scope.index.ended(execution)
        if len(encoded) > LARGE:
            execution.scope.index.weigh(execution)
        execution.arguments = execution.task = None
        known = execution.reported_phase  # somebody may wait for it
        try:
            if self.observers or execution.late:
                self._notify(execution)
            if execution.seldom is not None and execution.kind == WORKER:
                execution.scope.tell((_response(execution, clock_ms.at + (now - clock_ms.since), b""),), execution)
            else:
                execution.scope.tell(success(execution, clock_ms, encoded), execution)
            if (counters := self._counters.get(execution.tool.name)) is not None:  # else it was removed meanwhile
                counters.ended(now - (now if execution.started is None else execution.started))
            if self._breakers.remember:
                self._breakers.succeeded(execution)
        finally:
            if known or execution.seldom is not None:
                self._let_go(execution)
            else:
                self._slots.leave(execution)

    def fail(self, execution: Execution, error: ToolError, status: Status = Status.FAILED) -> None:
        """The end of one that gave none: it failed, or was stopped. Only the first end has an effect."""
        if execution.ended is not None:
            return
        now, at = self._clock.monotonic(), self._clock.time()
        error, shown = presentable(error)
        execution.status = move(execution.status, status)
        execution.ended, execution.error = now, error
        execution.scope.index.ended(execution)
        execution.arguments = execution.task = None
        try:
            self._notify(execution)
            if execution.kind == WORKER:
                execution.scope.tell((_response(execution, at, shown),), execution)
            else:
                self.post(execution, EventKind.TOOL_RESULT, b',"status":"%b","error":%b}' % (status.encode(), shown))
            spent = now - (execution.queued if execution.started is None else execution.started)
            self._registry.counters_of(execution.tool).failed(error.category, spent, datetime.fromtimestamp(at, UTC))
            report(execution, error)
            detach(error)
        finally:
            self._let_go(execution)

    def _notify(self, execution: Execution) -> None:
        """Tell those who look on that it has ended, and the session that its result waits, before people are told."""
        for observer in self.observers:
            observer.ended(execution)
        if execution.late:
            execution.scope.late(execution)

    def _let_go(self, execution: Execution) -> None:
        """Free what it holds. Whatever failed before, nobody waits for ever."""
        self.live.pop(execution.id, None)
        if execution.held:
            release_arguments(execution)
            execution.scope.index.weigh(execution)
        if execution.waiters is not None:
            release_waiters(execution)
        if execution.children is not None:
            for child in execution.children:
                self.cancel(child)
        if execution.has_slot:
            self._slots.leave(execution)

    def fault(self, execution: Execution, error: Exception) -> None:
        """End an execution because the runtime itself failed in it."""
        log.error("the runtime failed while it carried out %s", execution.name, exc_info=error)
        fault = ToolError("The system failed.", category=ErrorCategory.UNKNOWN, report=repr(error))
        self.fail(execution, fault)

    def abandon(self, task: asyncio.Task[None]) -> None:
        """Keep hold of a task whose execution has ended, until it ends too."""
        self._abandoned.add(task)
        task.add_done_callback(self._abandoned.discard)

    # Waiting for it

    async def released(self, execution: Execution) -> None:
        """Return when the execution has ended, or was promoted."""
        future = asyncio.get_running_loop().create_future()
        execution.waiters = (*(execution.waiters or ()), future)
        try:
            await future
        except asyncio.CancelledError:
            execution.waiters = tuple(each for each in execution.waiters or () if each is not future) or None
            raise

    def miss(self, execution: Execution) -> None:
        """A caller is gone. If nobody else waits for the result, it waits to be taken, also if it is there already."""
        if not (execution.waiters or execution.late or execution.lost):
            execution.late = True
            if execution.ended is not None:
                execution.scope.late(execution)


def _response(execution: Execution, at: float, shown: bytes) -> bytes:
    """How a worker's execution ends for people: with the answer to their request."""
    result = (
        b'"payload":null,"error":%b' % shown if shown else b'"payload":%b,"error":null' % (execution.result_json or b"")
    )
    ids = b'"request_id":%b,"request_kind":"%b"' % (to_json(execution.call_id), execution.name.encode())
    return encode_event(EventKind.USER_RESPONSE, at, b"{%b,%b}" % (ids, result))


def release_arguments(execution: Execution) -> None:
    """The arguments of an execution that has ended count no more among those of its user's open calls."""
    execution.scope.user.arguments -= execution.held
    execution.held = 0


def release_waiters(execution: Execution) -> None:
    """Let go whoever waits for it."""
    waiters, execution.waiters = execution.waiters, None
    for future in waiters or ():
        if not future.done():
            future.set_result(None)
