"""The beginning of executions: they are indexed, get a slot, have their arguments validated, and their task starts.

Until then an execution is reported only if it waits: for its slot, or in the first step of its task.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..budget import LARGE
from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from ..events.millisecond_clock import MillisecondClock
from ..tools.definition import Tool
from ..tools.policies import RetryPolicy
from ..tools.registry import Registry
from ..types import Mode
from .execution import ID_PREFIX, Execution, Priority
from .failures import interrupted, presentable, timed_out
from .finishing import Finishing
from .index import ExecutionIndex
from .lifecycle import Status
from .lifecycle_events import retrying_event
from .limits import SlotLimiter
from .masking import mask_document
from .observer import Observer
from .outcome import Outcome
from .reporting import report
from .runner import Runner
from .scope import HumanDecision, SessionScope
from .stopping import Stopping
from .tasks import start_task

# Looking a member up in its enumeration costs more than comparing with it.
_BACKGROUND, _HUMAN = Mode.BACKGROUND, Mode.HUMAN

_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"

MAX_INTERRUPTIONS = 10
"""The deaths of its process after which a call is not started again: the call itself may be the cause."""


class CallScope(SessionScope[Execution], Protocol):
    """A session, as the manager needs it to make calls."""

    @property
    def index(self) -> ExecutionIndex: ...

    def find(self, name: str) -> Tool:
        """Return the tool that the session sees under that name. Raises `ToolError` (not_found)."""
        ...

    async def recorded_call(self, parent: Execution, call_id: str, name: str, document: bytes) -> Outcome | None:
        """Return the outcome of a nested call that only the store knows, once it has ended; None if there is none.

        Waits for a store that does not answer, as long as the parent's attempt continues.
        """
        ...


@dataclass(eq=False, repr=False)
class Admission:
    """Makes executions and starts them."""

    _registry: Registry
    _clock: Clock
    _millisecond_clock: MillisecondClock
    _slots: SlotLimiter
    _runner: Runner
    _finishing: Finishing
    _stopping: Stopping
    _live: dict[str, Execution]
    _observers: list[Observer]
    _retry: RetryPolicy
    queue_of: Callable[[Execution], str | None] | None = field(default=None, init=False)
    """Returns the queue of the workers that carry an execution out; None: this process does."""
    check_room: Callable[[str, str], None] = field(default=lambda queue, user_id: None, init=False)
    """Raises `ToolError` (resource) if too many executions wait in a queue."""
    loop: asyncio.AbstractEventLoop = field(init=False)
    """The loop of all tasks, set when the manager is entered."""
    count: int = field(default=0, init=False)
    """The number of executions made so far."""

    def __post_init__(self) -> None:
        self._size = self._registry.argument_size
        self._unchecked_bytes = self._size.unchecked_bytes
        self._max_held = self._registry.settings.max_user_bytes
        self._monotonic = self._clock.monotonic  # looked up once: it is on the path of every call
        self._prefix = f"{ID_PREFIX}{secrets.token_hex(6)}-"

    def new(
        self,
        scope: CallScope,
        tool: Tool,
        name: str,
        document: bytes,
        call_id: str | None,
        priority: Priority = Priority.NORMAL,
    ) -> Execution:
        """Make an execution and add it to its session's index."""
        self.count = count = self.count + 1
        execution_id = f"{self._prefix}{count}"
        now, clock_ms = self._monotonic(), self._millisecond_clock
        if now >= clock_ms.until:
            clock_ms.turn(now)
        at = clock_ms.at + (now - clock_ms.since)
        attempts = (tool.retry or self._retry).max_attempts
        execution = Execution(
            execution_id, call_id or execution_id, tool, name, scope, document, now, at, attempts, priority
        )
        scope.index.add(execution)
        return execution

    def add_recovered(self, execution: Execution) -> None:
        """Add an execution that another process began to its session's index."""
        scope: Any = execution.scope
        scope.index.add_recovered(execution)
        if len(execution.document) > LARGE:
            execution.hold_arguments()
        self._live[execution.id] = execution

    def announce(self, execution: Execution) -> None:
        """Report that a call was accepted, before its arguments are validated."""
        self._keep_live(execution)
        display_arguments = mask_document(execution.tool, execution.document, self._size)
        execution.accept(self._clock.time(), display_arguments)
        report(execution)

    def begin(self, execution: Execution) -> None:
        """Start an execution, or queue it until it has a slot; then this is called again."""
        tool, document, was_queued = execution.tool, execution.document, execution.has_slot
        try:
            if was_queued:
                if execution.task is not None:  # its person had answered before it was queued
                    self._runner.go_on(execution)
                    return
                execution.set_phase_time(self._clock.time())
            else:
                if self._observers:
                    for observer in self._observers:
                        observer.called(execution)
                if tool.total_timeout is not None:
                    execution.set_timeout(tool.total_timeout)
                if (
                    self.queue_of is not None
                    and tool.mode is not _HUMAN  # a person is asked here, before it is sent
                    and (queue := self.queue_of(execution)) is not None
                ):
                    self._hand_over(execution, queue)
                    return
                try:
                    if len(document) > LARGE:
                        self._hold_arguments(execution)
                    if not self._slots.acquire(execution):
                        self.announce(execution)
                        return
                except ToolError as error:
                    self.announce(execution)
                    self._finishing.fail(execution, error)
                    return
            try:
                if len(document) > self._unchecked_bytes:
                    self._size.check(document)
                arguments = tool.arguments.parse(tool.name, document)
            except BaseException as error:  # a validator may raise anything
                self._refuse_arguments(execution, error)
                return
            if was_queued:
                execution.start(arguments, execution.display_arguments, self._monotonic())
            elif tool.secret is False and not (_LINE_FEED in document or _CARRIAGE_RETURN in document):
                execution.start(arguments, document, execution.queued)
            else:
                execution.start(arguments, mask_document(tool, document, self._size), execution.queued)
            work = self._runner.carry_out(execution)
            background = tool.mode is _BACKGROUND  # its caller is acknowledged before the handler begins
            task = asyncio.Task(work, loop=self.loop) if background else start_task(work, self.loop)
            if execution.ended is None:
                if not task.done():  # else it asked a person
                    execution.run_in(task)
                self._keep_live(execution)
                if execution.attempt or background:  # else the task reports in its first step
                    report(execution)
            elif not task.done():  # it was stopped before it first waited
                self._finishing.abandon(task)
                task.cancel()
        except Exception as error:
            self._finishing.fault(execution, error)

    def _hand_over(self, execution: Execution, queue: str) -> None:
        """Validate the arguments of a call, and leave it to a worker. It takes no slot here."""
        tool, document = execution.tool, execution.document
        try:
            self.check_room(queue, execution.scope.user_id)
        except ToolError as error:
            self.announce(execution)
            self._finishing.fail(execution, error)
            return
        try:
            if len(document) > self._unchecked_bytes:
                self._size.check(document)
            arguments = tool.arguments.parse(tool.name, document)
        except BaseException as error:  # a validator may raise anything
            self._refuse_arguments(execution, error)
            return
        execution.start(arguments, mask_document(tool, document, self._size), execution.queued)
        self._finishing.hand_over(execution, queue)

    def resume(self, execution: Execution) -> None:
        """Continue an execution of a process that died, if that is safe."""
        self.add_recovered(execution)
        if execution.queue:
            execution.start_on_worker(self._clock.monotonic())
        if execution.deadline is not None:
            if execution.deadline <= self._clock.monotonic():
                self._finishing.fail(execution, timed_out(execution.name, retryable=False))
                return
            self._stopping.deadlines.watch(execution, execution.deadline)
        if execution.request is None:  # else it takes its slot after the answer of its person
            if execution.status is Status.PENDING and not self._slots.has_slot_for(execution):
                self._slots.enqueue(execution)
                return
            self._slots.take(execution)
        if execution.status is Status.PENDING:
            self.begin(execution)
            return
        try:
            execution.set_arguments(execution.tool.arguments.parse(execution.name, execution.document))
            if execution.status is Status.EXECUTING:
                failure, error_json = presentable(interrupted())
                times = 1 + sum(error.category is failure.category for error in execution.errors)
                execution.wait_for_retry(failure, None)
                if times >= MAX_INTERRUPTIONS:
                    raise interrupted(times)
                report(execution, retrying_event(execution, self._clock.time(), error_json, 0.0))
        except Exception as error:
            self._finishing.fail(execution, self._registry.errors.translate(error))
            return
        delay = self._runner.delay(execution)
        execution.run_in(self.loop.create_task(self._runner.carry_out(execution, delay)))

    def answered(self, execution: Execution, decision: HumanDecision) -> None:
        """Continue an execution that waits for a person."""
        if execution.ended is None:
            execution.run_in(self.loop.create_task(self._runner.carry_out(execution, answer=decision)))

    def _hold_arguments(self, execution: Execution) -> None:
        """Count large arguments against the user's limit. Raises `ToolError` (resource) if that is reached."""
        held = execution.scope.user.arguments
        if held + len(execution.document) > self._max_held:
            raise ToolError(
                f"The arguments of this user's calls that have not ended take {held:,} bytes; {self._max_held:,} are "
                "allowed. Nothing was done; try again when some of them have ended.",
                category=ErrorCategory.RESOURCE,
                retryable=True,
            )
        execution.hold_arguments()

    def _keep_live(self, execution: Execution) -> None:
        """Add it to the live executions, and watch its deadlines."""
        self._live[execution.id] = execution
        if execution.deadline is not None:
            self._stopping.deadlines.watch(execution, execution.deadline)
        if execution.attempt_deadline is not None:  # it began its attempt before it was live
            self._stopping.deadlines.watch(execution, execution.attempt_deadline)

    def _refuse_arguments(self, execution: Execution, error: BaseException) -> None:
        failure = self._registry.errors.translate(error)
        reported = execution.reported_phase
        shown = (
            execution.display_arguments if reported else mask_document(execution.tool, execution.document, self._size)
        )
        execution.reject_arguments(shown)
        self._finishing.fail(execution, failure)
        if isinstance(failure.__cause__, KeyboardInterrupt):
            raise failure.__cause__
