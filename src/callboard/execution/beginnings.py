"""How executions begin: made and entered, given a place, their arguments read, their task started.

So far an execution is told of only if it has to wait: for its place, or in its first step.
"""

import asyncio
import secrets
from typing import Any, Protocol

from ..budget import LARGE
from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from ..events.calendar import Calendar
from ..events.kinds import EventKind
from ..tools.definition import Tool
from ..tools.policies import RetryPolicy
from ..tools.registry import Registry
from ..types import Mode
from .attempts import Attempts
from .book import Book
from .endings import Endings
from .execution import CALLED, ID_PREFIX, VALIDATED, Execution, Scope
from .failures import interrupted, presentable, timed_out
from .lifecycle import Status, move
from .limits import Gatekeeper
from .masking import shown_document
from .observer import Observer
from .starter import Starter
from .story import which_attempt

# Looking a member up in its enumeration costs more than what is done with it here.
_BACKGROUND, _VALIDATING = Mode.BACKGROUND, Status.VALIDATING

_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"

MOST_INTERRUPTIONS = 10
"""How often a call may be begun that its process does not survive: it may be what the process dies of."""


class CallScope(Scope, Protocol):
    """A session, as those see it who make calls."""

    @property
    def book(self) -> Book: ...

    def find(self, name: str) -> Tool:
        """The tool that the session sees under that name. Raises `ToolError` (not_found)."""
        ...


class Beginnings:
    """Makes executions, and lets them begin."""

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        calendar: Calendar,
        gate: Gatekeeper,
        starter: Starter,
        attempts: Attempts,
        endings: Endings,
        retry: RetryPolicy,
    ) -> None:
        self._registry = registry
        self._size = registry.argument_size
        self._harmless = self._size.harmless
        self._max_held = registry.settings.max_user_bytes
        self._clock = clock
        self._monotonic = clock.monotonic  # looked up once: it is on the path of every call
        self._calendar = calendar
        self._gate = gate
        self._starter = starter
        self._attempts = attempts
        self._endings = endings
        self._max_attempts = retry.max_attempts
        self._prefix = f"{ID_PREFIX}{secrets.token_hex(6)}-"
        self.count = 0
        """How many executions there were."""
        self.observers: list[Observer] = []

    def new(self, scope: CallScope, tool: Tool, name: str, document: bytes, call_id: str | None) -> Execution:
        """An execution, entered in its session's book."""
        self.count = count = self.count + 1
        number = f"{self._prefix}{count}"
        now, calendar = self._monotonic(), self._calendar
        if now >= calendar.until:
            calendar.turn(now)
        at = calendar.at + (now - calendar.since)
        execution = Execution(number, call_id or number, tool, name, scope, document, now, at)
        book = scope.book
        entries = book.entries
        entries.append(execution)
        if call_id is not None:
            book.calls[call_id] = execution
        if len(entries) > book.limit:
            book.forget()
        return execution

    def take_back(self, execution: Execution) -> None:
        """Enter an execution that was made before."""
        scope: Any = execution.scope
        scope.book.take_back(execution)
        if len(execution.document) > LARGE:
            execution.held = len(execution.document)
            scope.user.arguments += execution.held
        self._endings.live[execution.id] = execution

    def announce(self, execution: Execution) -> None:
        """Tell that a call was accepted, before its arguments were looked at."""
        self._wait(execution)
        execution.shown = shown_document(execution.tool, execution.document, self._size)
        execution.reached, execution.at = CALLED, self._clock.time()
        self._endings.tell(execution)

    def begin(self, execution: Execution) -> None:
        """Let an execution begin once it has its place: read its arguments, and let its task run."""
        tool, document, waited = execution.tool, execution.document, execution.placed
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
                    if not self._gate.enter(execution):
                        self.announce(execution)
                        return
                except ToolError as error:
                    self.announce(execution)
                    self._endings.fail(execution, error)
                    return
            else:
                execution.at = self._clock.time()
            execution.reached, execution.status = VALIDATED, _VALIDATING
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
                    execution.shown = document
                else:
                    execution.shown = shown_document(tool, document, self._size)
            work = self._attempts.carry_out(execution)
            if tool.mode is _BACKGROUND:
                # Its caller has the acknowledgement before anything happens, also where tasks begin eagerly.
                task: asyncio.Task[None] | None = asyncio.Task(work, loop=self._starter.loop)
            else:
                task = self._starter.start(work)
            if execution.ended is None:
                execution.task = task
                self._wait(execution)
                if execution.told < execution.reached:
                    self._endings.tell(execution)
            elif task is not None:  # it was stopped before it first waited
                self._endings.abandon(task)
                task.cancel()
        except Exception as error:
            self._endings.fault(execution, error)

    def resume(self, execution: Execution) -> None:
        """Go on with an execution that a process left behind, where that is safe."""
        self.take_back(execution)
        if execution.deadline is not None:
            if execution.deadline <= self._clock.monotonic():
                self._endings.fail(execution, timed_out(execution.name, retryable=False))
                return
            self._endings.deadlines.watch(execution.deadline)
        if execution.request is None:  # else it takes its place when its person has answered
            if execution.status is Status.PENDING and not self._gate.has_place(execution):
                self._gate.wait(execution)
                return
            self._gate.take(execution)
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
                self._endings.post(execution, EventKind.TOOL_RETRYING, b'%b,"error":%b,"delay":0.0}' % (which, shown))
        except Exception as error:
            self._endings.fail(execution, self._registry.errors.translate(error))
            return
        delay = self._attempts.delay(execution)
        execution.task = self._starter.loop.create_task(self._attempts.carry_out(execution, delay))

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
        self._endings.live[execution.id] = execution
        if execution.deadline is not None:
            self._endings.deadlines.watch(execution.deadline)

    def _refuse_arguments(self, execution: Execution, error: BaseException) -> None:
        failure = self._registry.errors.translate(error)
        if not execution.told:  # else it is there already
            execution.shown = shown_document(execution.tool, execution.document, self._size)
        self._endings.fail(execution, failure)
        if isinstance(failure.__cause__, KeyboardInterrupt):  # a person wants the process to end
            raise failure.__cause__
