"""How executions begin: made and entered, given a place, their arguments read, their task started.

So far an execution is told of only if it has to wait: for its place, or in its first step.
"""

import asyncio
import secrets
from typing import Any, Protocol

from ..budget import LARGE
from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from ..events.kinds import EventKind
from ..events.millisecond_clock import MillisecondClock
from ..tools.definition import Tool
from ..tools.policies import RetryPolicy
from ..tools.registry import Registry
from ..types import Mode
from .execution import CALLED, ID_PREFIX, VALIDATED, Execution, Scope
from .failures import interrupted, presentable, timed_out
from .finishing import Finishing
from .index import ExecutionIndex
from .lifecycle import Status, move
from .lifecycle_events import which_attempt
from .limits import SlotLimiter
from .masking import shown_document
from .observer import Observer
from .runner import Runner
from .starter import Starter

# Looking a member up in its enumeration costs more than what is done with it here.
_BACKGROUND, _VALIDATING = Mode.BACKGROUND, Status.VALIDATING

_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"

MOST_INTERRUPTIONS = 10
"""How often a call may be begun that its process does not survive: it may be what the process dies of."""


class CallScope(Scope, Protocol):
    """A session, as those see it who make calls."""

    @property
    def index(self) -> ExecutionIndex: ...

    def find(self, name: str) -> Tool:
        """The tool that the session sees under that name. Raises `ToolError` (not_found)."""
        ...


class Admission:
    """Makes executions, and lets them begin."""

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        clock_ms: MillisecondClock,
        slots: SlotLimiter,
        starter: Starter,
        runner: Runner,
        finishing: Finishing,
        retry: RetryPolicy,
    ) -> None:
        self._registry = registry
        self._size = registry.argument_size
        self._harmless = self._size.unchecked_bytes
        self._max_held = registry.settings.max_user_bytes
        self._clock = clock
        self._monotonic = clock.monotonic  # looked up once: it is on the path of every call
        self._millisecond_clock = clock_ms
        self._slots = slots
        self._starter = starter
        self._runner = runner
        self._finishing = finishing
        self._max_attempts = retry.max_attempts
        self._prefix = f"{ID_PREFIX}{secrets.token_hex(6)}-"
        self.count = 0
        """How many executions there were."""
        self.observers: list[Observer] = []

    def new(self, scope: CallScope, tool: Tool, name: str, document: bytes, call_id: str | None) -> Execution:
        """An execution, entered in its session's book."""
        self.count = count = self.count + 1
        number = f"{self._prefix}{count}"
        now, clock_ms = self._monotonic(), self._millisecond_clock
        if now >= clock_ms.until:
            clock_ms.turn(now)
        at = clock_ms.at + (now - clock_ms.since)
        execution = Execution(number, call_id or number, tool, name, scope, document, now, at)
        index = scope.index
        entries = index.entries
        entries.append(execution)
        if call_id is not None:
            index.calls[call_id] = execution
        if len(entries) > index.limit:
            index.forget()
        return execution

    def take_back(self, execution: Execution) -> None:
        """Enter an execution that was made before."""
        scope: Any = execution.scope
        scope.index.take_back(execution)
        if len(execution.document) > LARGE:
            execution.held = len(execution.document)
            scope.user.arguments += execution.held
        self._finishing.live[execution.id] = execution

    def announce(self, execution: Execution) -> None:
        """Tell that a call was accepted, before its arguments were looked at."""
        self._wait(execution)
        execution.display_arguments = shown_document(execution.tool, execution.document, self._size)
        execution.phase, execution.at = CALLED, self._clock.time()
        self._finishing.tell(execution)

    def begin(self, execution: Execution) -> None:
        """Let an execution begin once it has its place: read its arguments, and let its task run."""
        tool, document, waited = execution.tool, execution.document, execution.has_slot
        large = len(document) > LARGE
        try:
            if not waited:
                if self.observers:
                    for observer in self.observers:
                        observer.called(execution)
                execution.max_attempts = self._max_attempts if tool.retry is None else tool.retry.max_attempts
                if tool.total_timeout is not None:
                    limit = execution.queued + tool.total_timeout
                    execution.deadline = limit if execution.deadline is None else min(limit, execution.deadline)
                try:
                    if large:
                        self._hold_arguments(execution)
                    if not self._slots.enter(execution):
                        self.announce(execution)
                        return
                except ToolError as error:
                    self.announce(execution)
                    self._finishing.fail(execution, error)
                    return
            else:
                execution.at = self._clock.time()
            execution.phase, execution.status = VALIDATED, _VALIDATING
            try:
                if len(document) > self._harmless:
                    self._size.check(document)
                execution.arguments = tool.arguments.parse(tool.name, document)
            except BaseException as error:  # a validator may raise anything
                self._refuse_arguments(execution, error)
                return
            if waited:
                execution.started = self._monotonic()
            else:
                execution.started = execution.queued
                if tool.secret is False and not (_LINE_FEED in document or _CARRIAGE_RETURN in document):
                    execution.display_arguments = document
                else:
                    execution.display_arguments = shown_document(tool, document, self._size)
            work = self._runner.carry_out(execution)
            if tool.mode is _BACKGROUND:
                # Its caller has the acknowledgement before anything happens, also where tasks begin eagerly.
                task: asyncio.Task[None] | None = asyncio.Task(work, loop=self._starter.loop)
            else:
                task = self._starter.start(work)
            if execution.ended is None:
                execution.task = task
                self._wait(execution)
                if execution.reported_phase < execution.phase:
                    self._finishing.tell(execution)
            elif task is not None:  # it was stopped before it first waited
                self._finishing.abandon(task)
                task.cancel()
        except Exception as error:
            self._finishing.fault(execution, error)

    def resume(self, execution: Execution) -> None:
        """Go on with an execution that a process left behind, where that is safe."""
        self.take_back(execution)
        if execution.deadline is not None:
            if execution.deadline <= self._clock.monotonic():
                self._finishing.fail(execution, timed_out(execution.name, retryable=False))
                return
            self._finishing.deadlines.watch(execution.deadline)
        if execution.request is None:  # else it takes its place when its person has answered
            if execution.status is Status.PENDING and not self._slots.has_slot_for(execution):
                self._slots.wait(execution)
                return
            self._slots.take(execution)
        if execution.status is Status.PENDING:
            self.begin(execution)
            return
        try:
            execution.arguments = execution.tool.arguments.parse(execution.name, execution.document)
            if execution.status is Status.EXECUTING:
                failure, shown = presentable(interrupted())
                execution.errors = (*execution.errors, failure)
                times = sum(error.category is failure.category for error in execution.errors)
                if times >= MOST_INTERRUPTIONS:
                    raise interrupted(times)
                execution.status = move(execution.status, Status.WAITING)
                which = which_attempt(execution.attempt, execution.max_attempts)
                self._finishing.post(execution, EventKind.TOOL_RETRYING, b'%b,"error":%b,"delay":0.0}' % (which, shown))
        except Exception as error:
            self._finishing.fail(execution, self._registry.errors.translate(error))
            return
        delay = self._runner.delay(execution)
        execution.task = self._starter.loop.create_task(self._runner.carry_out(execution, delay))

    def _hold_arguments(self, execution: Execution) -> None:
        """Count large arguments among those of the user's open calls. Raises `ToolError` where they are too many."""
        user, size = execution.scope.user, len(execution.document)
        if user.arguments + size > self._max_held:
            raise ToolError(
                f"The arguments of this user's calls that have not ended take {user.arguments:,} bytes; "
                f"{self._max_held:,} are allowed. Nothing was done; try again when some of them have ended.",
                category=ErrorCategory.RESOURCE,
                retryable=True,
            )
        user.arguments += size
        execution.held = size

    def _wait(self, execution: Execution) -> None:
        """Know it among those that have not ended, and when it must have."""
        self._finishing.live[execution.id] = execution
        if execution.deadline is not None:
            self._finishing.deadlines.watch(execution.deadline)

    def _refuse_arguments(self, execution: Execution, error: BaseException) -> None:
        failure = self._registry.errors.translate(error)
        if not execution.reported_phase:  # else it is there already
            execution.display_arguments = shown_document(execution.tool, execution.document, self._size)
        self._finishing.fail(execution, failure)
        if isinstance(failure.__cause__, KeyboardInterrupt):  # a person wants the process to end
            raise failure.__cause__
