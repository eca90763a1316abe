"""The execution manager: the one path that every call takes, whoever makes it and whatever its mode.

It owns the tasks of all executions, from `async with` until its end. Below it are pure decisions (lifecycle, retry,
breaker) and small mechanisms (places, deadlines); above it are sessions, which know who may call what. It speaks to no
store and no protocol: what it tells a session, the session writes.
"""

import asyncio
import random
import secrets
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self

from anyio import CancelScope

from ..clock import Clock
from ..errors import ToolError
from ..events.calendar import Calendar
from ..events.kinds import EventKind
from ..storage.rows import WORKER
from ..tools.arguments import AnyArguments
from ..tools.definition import Tool
from ..tools.document import encode, same_document, too_large
from ..tools.policies import BreakerPolicy, RetryPolicy
from ..tools.registry import Registry
from ..tools.result import Result
from ..types import Mode
from .attempts import Attempts
from .book import Book
from .breakers import Breakers
from .endings import Endings
from .execution import CALLED, VALIDATED, Execution, Priority, Scope, made
from .failures import NestedFailure, conflict, interrupted, presentable, timed_out
from .lifecycle import Status, move
from .limits import Gatekeeper, Limits
from .masking import shown_document
from .observer import Observer
from .outcome import Outcome, OutcomeStatus
from .reporting import AttemptReporter
from .starter import Starter
from .storing import fingerprint_of
from .story import which_attempt
from .threads import Threads

# Looking a member up in its enumeration costs more than what is done with it here.
_INLINE, _BACKGROUND, _SUCCEEDED = Mode.INLINE, Mode.BACKGROUND, OutcomeStatus.SUCCEEDED
_VALIDATING, _NORMAL = Status.VALIDATING, Priority.NORMAL

_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"

STREAK = 64
"""After so many calls that ended at once the caller lets others go first: a loop of calls must not hold them up."""

MOST_INTERRUPTIONS = 10
"""How often a call may be begun that its process does not survive: it may be what the process dies of."""

NO_TOOL = Tool(name="none", description="Stands for no tool.", arguments=AnyArguments(), result=Result(), handler=None)
"""The tool of a call that named none."""


class CallScope(Scope, Protocol):
    """A session, as the manager sees it."""

    @property
    def book(self) -> Book: ...

    def find(self, name: str) -> Tool:
        """The tool that the session sees under that name. Raises `ToolError` (not_found)."""
        ...


class ExecutionManager:
    """Carries calls out. Every method is called on the event loop that entered it."""

    def __init__(
        self,
        registry: Registry,
        *,
        clock: Clock,
        limits: Limits | None = None,
        retry: RetryPolicy | None = None,
        breaker: BreakerPolicy | None = None,
        grace: float = 5.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._registry = registry
        self._max_bytes = registry.settings.max_argument_bytes
        self._clock = clock
        self._monotonic = clock.monotonic  # looked up once: it is on the path of every call
        self._calendar = Calendar(clock)
        self._limits = limits or Limits()
        self._retry = retry or RetryPolicy()
        self._max_attempts = self._retry.max_attempts
        self._grace = grace
        self._breakers = Breakers(breaker or BreakerPolicy(), registry, clock)
        self._gate = Gatekeeper(self._limits, self._begin)
        self._endings = Endings(registry, clock, self._calendar, self._breakers, self._gate, grace)
        self._attempts = Attempts(
            registry, clock, self._breakers, self._gate, self._endings, self._retry, chance, self._reporter
        )
        self._prefix = f"x{secrets.token_hex(6)}-"
        self._count = 0
        """How many executions there were."""
        self._turn = STREAK
        """With which of them others are let go first."""
        self._starter = Starter()
        self._observers: list[Observer] = []
        self.unknown = 0
        """How many calls named a tool that their caller does not see, or had arguments that are none."""
        self._loop: asyncio.AbstractEventLoop

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._attempts.threads = Threads(self._limits.threads)
        await self._starter.open()
        self._gate.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop what runs, wait for its clean-up at most the grace time, and end the rest as cancelled.

        Where there is a store, what waits for people, and late work that may run twice, is left to whoever goes on.
        """
        self._gate.close()
        tasks = [execution.task for execution in self.live if execution.task is not None]
        for execution in self.live:
            if execution.scope.durable and execution.request is not None and execution.status is Status.WAITING:
                self.release(execution)
            elif execution.scope.durable and _goes_on_later(execution):
                self.disown(execution)
        for execution in sorted(self.live, key=lambda execution: execution.task is not None):  # first those who wait
            self.cancel(execution)
        try:
            if tasks:
                with CancelScope(shield=True):
                    await asyncio.wait(tasks, timeout=self._grace)
        finally:
            for execution in self.live:
                self._endings.give_up(execution)
            self._endings.deadlines.close()
            self._breakers.close()
            await self._starter.close()

    @property
    def live(self) -> tuple[Execution, ...]:
        """Every execution that has not ended. One that is in its first step comes among them if it waits."""
        return tuple(self._endings.live.values())

    @property
    def queued(self) -> int:
        """How many executions wait for a place."""
        return self._gate.queued

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Let somebody look on, until what this returns is called."""

        def over() -> None:
            set_to([each for each in self._observers if each is not observer])

        def set_to(observers: list[Observer]) -> None:
            self._observers = self._attempts.observers = self._endings.observers = observers

        set_to([*self._observers, observer])
        return over

    # Calling

    async def call(
        self,
        scope: CallScope,
        tool: Tool,
        document: bytes,
        call_id: str | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> Outcome:
        """Carry a call out. An inline call that ends within its budget gives its result, any other an acknowledgement.

        Cancelling the caller does not cancel the execution: it goes on, and is on the board. The same `call_id` runs
        once; with other arguments it is a conflict, which is an outcome like any other failure.
        """
        if call_id is not None and (known := scope.book.by_call(call_id)) is not None:
            if known.name == tool.name and _same(known, document):
                return await self._awaited(scope, known, again=True)
            return conflict(known, tool.name)
        execution = self._new(scope, tool, tool.name, document, call_id)
        if priority is not _NORMAL:
            execution.priority = priority
        self._begin(execution)
        if execution.ended is None:
            if tool.mode is not _INLINE:
                execution.late = True
        elif execution.seldom is None and not scope.durable and self._count < self._turn:  # it has given a value
            return made(Outcome, (_SUCCEEDED, execution.id, execution.call_id, execution.name, execution.encoded, None))
        return await self._awaited(scope, execution)

    async def _awaited(self, scope: CallScope, execution: Execution, *, again: bool = False) -> Outcome:
        """How a call stands for its caller: when it has ended or was promoted, and what is told of it is stored.

        `again` is for a caller who makes a call that was made before.
        """
        try:
            if execution.ended is not None:
                await self._give_way()
            elif execution.tool.mode is _INLINE and not execution.promoted:
                if execution.budget_at is None:
                    execution.budget_at = execution.queued + execution.tool.inline_budget
                    self._endings.deadlines.watch(execution.budget_at)
                await self._endings.released(execution)
            outcome = execution.outcome()
            if execution.promoted and not again:  # even if it has ended since: its result comes late
                started = OutcomeStatus.STARTED
                outcome = Outcome(started, execution.id, execution.call_id, execution.name, execution.acknowledgement())
            if scope.durable:
                await scope.settle()
                if execution.lost:
                    return await scope.elsewhere(execution)
        except asyncio.CancelledError:
            if not again or execution.ended is None:
                self._endings.miss(execution)
            raise
        return outcome

    async def _give_way(self) -> None:
        """Let others go first, if it is time for that."""
        if self._count >= self._turn:
            self._turn = self._count + STREAK
            await asyncio.sleep(0)

    async def refuse(
        self, scope: CallScope, name: str, call_id: str | None, error: ToolError, parent: Execution | None = None
    ) -> Outcome:
        """Record a call that cannot be carried out at all: of a tool that the caller does not see."""
        if call_id is not None and (known := scope.book.by_call(call_id)) is not None:
            return known.outcome() if known.tool is NO_TOOL and known.name == name else conflict(known, name)
        execution = self._new(scope, NO_TOOL, name, b"null", call_id)
        execution.parent = parent
        self.unknown += 1
        for observer in self._observers:
            observer.called(execution)
        self._announce(execution)
        self._endings.fail(execution, error)
        if scope.durable:
            await scope.settle()
            if execution.lost:
                return await scope.elsewhere(execution)
        return execution.outcome()

    async def wait(self, execution: Execution) -> None:
        """Return when it has ended."""
        while execution.ended is None:
            await self._endings.released(execution)

    async def nested(self, parent: Execution, name: str, arguments: Any) -> Any:
        """A call that a handler makes: it ends no later than its parent, and is cancelled with it."""
        scope: Any = parent.scope
        document = encode(arguments)
        if parent.told < parent.reached:  # its story begins before that of what it calls
            self._endings.tell(parent)
        try:
            tool = scope.find(name)
        except ToolError as error:
            refused = await self.refuse(scope, name, None, error, parent)
            raise NestedFailure(name, refused.error or error) from None
        execution = self._new(scope, tool, tool.name, document, None)
        _adopt(parent, execution)
        self._begin(execution)
        try:
            if execution.ended is None:
                await self.wait(execution)
            else:
                await self._give_way()
        except asyncio.CancelledError:
            self.cancel(execution)
            raise
        outcome = execution.outcome()
        if outcome.error is not None:
            raise NestedFailure(execution.name, outcome.error)
        return outcome.value

    def cancel(self, execution: Execution) -> bool:
        """Stop an execution. Its handler may clean up for the grace time. False where it had ended already."""
        return self._endings.cancel(execution)

    def prepare(
        self, scope: CallScope, worker: Tool, document: bytes, request_id: str, priority: Priority
    ) -> Execution:
        """An execution of what people asked of the system, which ends with the answer. It does not begin yet."""
        execution = self._new(scope, worker, worker.name, document, request_id)
        execution.kind, execution.priority = WORKER, priority
        return execution

    def begin(self, execution: Execution) -> None:
        """Let an execution begin that was prepared, if nobody has stopped it meanwhile."""
        if execution.ended is None:
            self._begin(execution)

    def resume(self, execution: Execution) -> None:
        """Go on with an execution that a process left behind, where that is safe."""
        self._enroll(execution)
        if execution.deadline is not None:
            if execution.deadline <= self._clock.monotonic():
                self._endings.fail(execution, timed_out(execution.name, retryable=False))
                return
            self._endings.deadlines.watch(execution.deadline)
        if execution.request is None:  # else it takes its place when its person has answered
            self._gate.take(execution)
        if execution.status is Status.PENDING:
            self._begin(execution)
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
        execution.task = self._loop.create_task(self._attempts.carry_out(execution))

    def promote(self, execution: Execution) -> None:
        """Let go whoever waits for an inline call, before its budget is used up."""
        if execution.ended is None and execution.tool.mode is _INLINE and execution.parent is None:
            self._endings.promote(execution)

    def end(self, execution: Execution, reason: ToolError) -> None:
        """End an execution now, whatever its handler does."""
        self._endings.end(execution, reason)

    def disown(self, execution: Execution) -> None:
        """An execution is not this process's any more: stop it here, and say nothing."""
        self._endings.disown(execution)

    def release(self, execution: Execution) -> None:
        """Leave an execution to whoever goes on with it, once its person has answered."""
        self._endings.release(execution)

    def interrupt(self, execution: Execution) -> None:
        """End an execution that a process left behind, and of which nobody knows how far it came."""
        self._enroll(execution)
        self._endings.fail(execution, interrupted())

    def hides(self, scope: Scope, tool: Tool) -> bool:
        """Whether a tool's breaker is open and its policy says that it is not shown meanwhile."""
        return self._breakers.remember and self._breakers.hides(tool, scope)

    def forget(self, scope: Scope) -> None:
        """A session has ended: nothing is remembered for it."""
        self._breakers.forget(scope)

    def _reporter(self, execution: Execution) -> AttemptReporter:
        return AttemptReporter(self._endings, self.nested, execution)

    # From the call to the first attempt

    def _new(self, scope: CallScope, tool: Tool, name: str, document: bytes, call_id: str | None) -> Execution:
        self._count = count = self._count + 1
        number = f"{self._prefix}{count}"
        now, calendar = self._monotonic(), self._calendar
        if now >= calendar.until:
            calendar.turn(now)
        execution = Execution(number, call_id or number, tool, name, scope, document, now, now + calendar.offset)
        book = scope.book
        entries = book.entries
        entries.append(execution)
        if call_id is not None:
            book.calls[call_id] = execution
        if len(entries) > book.limit:
            book.forget()
        return execution

    def _enroll(self, execution: Execution) -> None:
        """Enter an execution that was made before."""
        scope: Any = execution.scope
        scope.book.take_back(execution)
        self._endings.live[execution.id] = execution

    def _announce(self, execution: Execution) -> None:
        """Tell that a call was accepted, before its arguments were looked at."""
        self._wait(execution)
        execution.shown = shown_document(execution.tool, execution.document, self._max_bytes)
        execution.reached, execution.at = CALLED, self._clock.time()
        self._endings.tell(execution)

    def _wait(self, execution: Execution) -> None:
        """Know it among those that have not ended, and when it must have."""
        self._endings.live[execution.id] = execution
        if execution.deadline is not None:
            self._endings.deadlines.watch(execution.deadline)

    def _begin(self, execution: Execution) -> None:
        """Let an execution begin once it has its place: read its arguments, and let its task run."""
        tool, document, waited = execution.tool, execution.document, execution.placed
        try:
            if not waited:
                if self._observers:
                    for observer in self._observers:
                        observer.called(execution)
                execution.max_attempts = self._max_attempts if tool.retry is None else tool.retry.max_attempts
                if tool.total_timeout is not None:
                    limit = execution.queued + tool.total_timeout
                    execution.deadline = limit if execution.deadline is None else min(limit, execution.deadline)
                try:
                    if not self._gate.enter(execution):
                        self._announce(execution)
                        return
                except ToolError as error:
                    self._announce(execution)
                    self._endings.fail(execution, error)
                    return
            else:
                execution.at = self._clock.time()
            execution.reached, execution.status = VALIDATED, _VALIDATING
            try:
                if len(document) > self._max_bytes:
                    raise too_large(len(document), self._max_bytes)
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
                    execution.shown = shown_document(tool, document, self._max_bytes)
            work = self._attempts.carry_out(execution)
            if tool.mode is _BACKGROUND:
                # Its caller has the acknowledgement before anything happens, also where tasks begin eagerly.
                task: asyncio.Task[None] | None = asyncio.Task(work, loop=self._loop)
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

    def _refuse_arguments(self, execution: Execution, error: BaseException) -> None:
        failure = self._registry.errors.translate(error)
        if not execution.told:  # else it is there already
            execution.shown = shown_document(execution.tool, execution.document, self._max_bytes)
        self._endings.fail(execution, failure)
        if isinstance(failure.__cause__, KeyboardInterrupt):  # a person wants the process to end
            raise failure.__cause__


def _same(known: Execution, document: bytes) -> bool:
    """Whether a call comes with the arguments that the first one came with, which a person may have edited since."""
    if known.fingerprint:
        return known.fingerprint == fingerprint_of(document)
    return same_document(known.document, document)


def _adopt(parent: Execution, child: Execution) -> None:
    child.parent, child.priority = parent, parent.priority
    parent.children = (*(known for known in parent.children or () if not known.terminal), child)
    times = (parent.deadline, parent.attempt_deadline, child.deadline)
    child.deadline = min((when for when in times if when is not None), default=None)


def _goes_on_later(execution: Execution) -> bool:
    """Whether an execution can be left to another process: nobody here waits for it, and it may be run again."""
    may_run = execution.tool.idempotent or not execution.attempt
    return execution.stored and execution.late and may_run and execution.parent is None and not execution.stop
