"""The execution manager: the one path that every call takes, whoever makes it and whatever its mode.

It owns the tasks of all executions, from `async with` until its end. Below it are pure decisions (lifecycle, retry,
breaker) and small mechanisms (places, deadlines); above it are sessions, which know who may call what. It knows no
store and no protocol.
"""

import asyncio
import itertools
import logging
import random
import secrets
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import lru_cache, partial
from types import TracebackType
from typing import Any, Protocol, Self

from anyio import CancelScope
from pydantic_core import to_json

from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from ..events.event import encode_event, written
from ..events.kinds import EventKind
from ..tools.arguments import AnyArguments
from ..tools.context import ToolContext
from ..tools.definition import Tool
from ..tools.document import encode, same_document, too_large
from ..tools.handler import Handler, HandlerKind
from ..tools.policies import BreakerPolicy, RetryPolicy
from ..tools.registry import Registry
from ..tools.result import Result
from ..types import Mode
from .book import Book
from .breakers import Breakers
from .deadlines import Deadlines
from .execution import Execution, Priority, Scope
from .failures import cancelled, conflict, interrupted, presentable, report, timed_out
from .lifecycle import Status, move
from .limits import Gatekeeper, Limits
from .masking import shown_arguments
from .outcome import Outcome
from .reporting import AttemptReporter
from .retry import decide
from .starter import Starter
from .threads import Threads

log = logging.getLogger("callboard.execution")

# Looking a member up in its enumeration costs more than what is done with it here.
_INLINE, _BACKGROUND, _HUMAN = Mode.INLINE, Mode.BACKGROUND, Mode.HUMAN
_VALIDATING, _EXECUTING, _SUCCEEDED = Status.VALIDATING, Status.EXECUTING, Status.SUCCEEDED
_NORMAL = Priority.NORMAL
_CANCELLED = ErrorCategory.CANCELLED

STREAK = 64
"""After so many calls that ended at once the caller lets others go first: a loop of calls must not hold them up."""

_WORKER = "worker"

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
        self._limits = limits or Limits()
        self._retry = retry or RetryPolicy()
        self._grace = grace
        self._chance = chance
        self._breakers = Breakers(breaker or BreakerPolicy(), registry, clock)
        self._live: dict[str, Execution] = {}
        self._entering: Execution | None = None
        """The one that is in its first step now: it comes among the live ones if it waits."""
        self._abandoned: set[asyncio.Task[None]] = set()
        self._gate = Gatekeeper(self._limits, self._begin)
        self._deadlines = Deadlines(clock, self._live.values(), self._due)
        self._prefix = f"x{secrets.token_hex(6)}-"
        self._numbers = itertools.count(1)
        self._starter = Starter()
        self._streak = 0
        self._threads: Threads
        self._loop: asyncio.AbstractEventLoop

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._threads = Threads(self._limits.threads)
        await self._starter.open()
        self._gate.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel what runs, wait for its clean-up at most the grace time, and end the rest as cancelled."""
        self._gate.close()
        for execution in self.live:
            if execution.scope.durable and execution.request is not None and execution.status is Status.WAITING:
                self.release(execution)
        for execution in sorted(self.live, key=lambda execution: execution.task is not None):  # first those who wait
            self.cancel(execution)
        try:
            if tasks := [execution.task for execution in self.live if execution.task is not None]:
                with CancelScope(shield=True):
                    await asyncio.wait(tasks, timeout=self._grace)
        finally:
            for execution in self.live:
                self._give_up(execution)
            self._deadlines.close()
            await self._starter.close()

    @property
    def live(self) -> tuple[Execution, ...]:
        """Every execution that has not ended."""
        live, entering = tuple(self._live.values()), self._entering
        return live if entering is None or entering.ended is not None else (*live, entering)

    @property
    def queued(self) -> int:
        """How many executions wait for a place."""
        return self._gate.queued

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
            if known.name != tool.name or not same_document(known.document, document):
                return conflict(known, tool.name)
            execution = known
        else:
            execution = self._submit(scope, tool, document, call_id, priority)
        if execution.ended is not None:
            self._streak += 1
            if self._streak >= STREAK:
                self._streak = 0
                await asyncio.sleep(0)
        elif tool.mode is _INLINE and not execution.promoted:
            if execution.budget_at is None:
                execution.budget_at = execution.queued + tool.inline_budget
                self._deadlines.watch(execution.budget_at)
            await self._released(execution)
        if scope.durable:
            await scope.settle()
            if execution.lost:
                return await scope.elsewhere(execution)
        return execution.outcome()

    async def refuse(self, scope: CallScope, name: str, call_id: str | None, error: ToolError) -> Outcome:
        """Record a call that cannot be carried out at all: of a tool that the caller does not see."""
        if call_id is not None and (known := scope.book.by_call(call_id)) is not None:
            return known.outcome() if known.tool is NO_TOOL and known.name == name else conflict(known, name)
        execution = self._new(scope, NO_TOOL, name, b"null", call_id)
        self._announce(execution)
        self._finish(execution, Status.FAILED, error)
        if scope.durable:
            await scope.settle()
        return execution.outcome()

    async def wait(self, execution: Execution) -> None:
        """Return when it has ended."""
        while execution.ended is None:
            await self._released(execution)

    async def nested(self, parent: Execution, name: str, arguments: Any) -> Any:
        """A call that a handler makes: it ends no later than its parent, and is cancelled with it."""
        scope: Any = parent.scope
        execution = self._submit(scope, scope.find(name), encode(arguments), None, parent.priority, parent)
        try:
            await self.wait(execution)
        except asyncio.CancelledError:
            self.cancel(execution)
            raise
        outcome = execution.outcome()
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def cancel(self, execution: Execution) -> bool:
        """Stop an execution. Its handler may clean up for the grace time. False where it had ended already."""
        if execution.terminal:
            return False
        self._stop(execution, cancelled())
        return True

    def prepare(
        self, scope: CallScope, worker: Tool, document: bytes, request_id: str, priority: Priority
    ) -> Execution:
        """An execution of what people asked of the system, which ends with the answer. It does not begin yet."""
        execution = self._new(scope, worker, worker.name, document, request_id)
        execution.kind, execution.priority = _WORKER, priority
        return execution

    def begin(self, execution: Execution) -> None:
        """Let an execution begin that was prepared."""
        self._place(execution, execution.priority)

    def resume(self, execution: Execution) -> None:
        """Go on with an execution that a process left behind, where that is safe."""
        self._enroll(execution)
        if execution.request is None:  # else it takes its place when its person has answered
            self._gate.take(execution)
        if execution.status is Status.PENDING:
            self._begin(execution)
            return
        try:
            execution.arguments = execution.tool.arguments.parse(execution.name, execution.document)
            if execution.status is _EXECUTING:
                failure, shown = presentable(interrupted())
                execution.errors = (*execution.errors, failure)
                execution.status = move(execution.status, Status.WAITING)
                which = _which(execution.attempt, execution.max_attempts)[:-1]
                self.post(execution, EventKind.TOOL_RETRYING, b'%b,"error":%b,"delay":0.0}' % (which, shown))
        except Exception as error:
            self._finish(execution, Status.FAILED, self._registry.errors.translate(error))
            return
        execution.task = self._loop.create_task(self._carry_out(execution))

    def end(self, execution: Execution, reason: ToolError) -> None:
        """End an execution now, whatever its handler does."""
        if execution.ended is None:
            self._live[execution.id] = execution
            execution.stop, task = reason, execution.task
            self._gate.withdraw(execution)
            self._end_stopped(execution)
            if task is not None:
                self._abandon(task)
                task.cancel()

    def interrupt(self, execution: Execution) -> None:
        """End an execution that a process left behind, and of which nobody knows how far it came."""
        self._enroll(execution)
        self._finish(execution, Status.FAILED, interrupted())

    def disown(self, execution: Execution) -> None:
        """An execution is not this process's any more: stop it here, and say nothing."""
        execution.lost = True
        if execution.ended is not None:
            return
        execution.ended, task = self._clock.monotonic(), execution.task
        execution.arguments = execution.task = None
        self._live.pop(execution.id, None)
        if execution.placed:
            self._gate.leave(execution)
        else:
            self._gate.withdraw(execution)
        _release(execution)
        for child in execution.children:
            self.cancel(child)
        if task is not None:
            self._abandon(task)
            task.cancel()

    def release(self, execution: Execution) -> None:
        """Leave an execution to whoever goes on with it, once its person has answered."""
        execution.lost = True
        execution.scope.tell((), execution)
        self.disown(execution)

    def hides(self, scope: Scope, tool: Tool) -> bool:
        """Whether a tool's breaker is open and its policy says that it is not shown meanwhile."""
        return bool(self._breakers.known) and self._breakers.hides(tool, scope)

    def forget(self, scope: Scope) -> None:
        """A session has ended: nothing is remembered for it."""
        self._breakers.forget(scope)

    def remaining(self, execution: Execution) -> float | None:
        """Seconds until the attempt or the execution must have ended, whichever comes first."""
        times = [when for when in (execution.deadline, execution.attempt_deadline) if when is not None]
        return max(0.0, min(times) - self._clock.monotonic()) if times else None

    def post(self, execution: Execution, kind: EventKind, fields: bytes = b"}") -> None:
        """Post an event of an execution. `fields` goes on where the ids end: `,"name":value}`."""
        execution.unposted += (encode_event(kind, self._clock.time(), execution.head + fields),)
        self._tell(execution)

    def _tell(self, execution: Execution) -> None:
        """Post what was held back."""
        events, execution.unposted = execution.unposted, ()
        if execution.kind is _WORKER and execution.ended is None:
            events = ()
        execution.scope.tell(events, execution)

    # From the call to the first attempt

    def _new(self, scope: CallScope, tool: Tool, name: str, document: bytes, call_id: str | None) -> Execution:
        number = f"{self._prefix}{next(self._numbers)}"
        clock = self._clock
        execution = Execution(number, call_id or number, tool, name, scope, document, clock.monotonic(), clock.time())
        book = scope.book
        book[number] = execution
        if call_id is not None:
            book.calls[call_id] = execution
        if len(book) > book.limit:
            book.forget()
        return execution

    def _enroll(self, execution: Execution) -> None:
        """Enter an execution that was made before."""
        scope: Any = execution.scope
        scope.book[execution.id] = scope.book.calls[execution.call_id] = self._live[execution.id] = execution

    def _submit(
        self,
        scope: CallScope,
        tool: Tool,
        document: bytes,
        call_id: str | None,
        priority: Priority,
        parent: Execution | None = None,
    ) -> Execution:
        execution = self._new(scope, tool, tool.name, document, call_id)
        if tool.mode is not _INLINE:
            execution.late = parent is None
        if parent is not None:
            _adopt(parent, execution)
        return self._place(execution, priority)

    def _place(self, execution: Execution, priority: Priority) -> Execution:
        """Give it a place and let it begin, or let it wait for one."""
        tool = execution.tool
        execution.max_attempts = (tool.retry or self._retry).max_attempts
        if priority is not _NORMAL:
            execution.priority = priority
        if tool.total_timeout is not None:
            limit = execution.queued + tool.total_timeout
            execution.deadline = limit if execution.deadline is None else min(limit, execution.deadline)
        try:
            placed = self._gate.enter(execution)
        except ToolError as error:
            self._announce(execution)
            self._finish(execution, Status.FAILED, error)
            return execution
        if placed:
            self._begin(execution)
        else:
            self._live[execution.id] = execution
            self._announce(execution)
        if execution.deadline is not None and execution.ended is None:
            self._deadlines.watch(execution.deadline)
        return execution

    def _announce(self, execution: Execution) -> None:
        """Tell that a call was accepted, before its arguments were looked at."""
        execution.shown = self._shown(execution)
        self.post(execution, EventKind.TOOL_STARTED, b',"arguments":%b}' % execution.shown)

    def _shown(self, execution: Execution) -> bytes:
        if len(execution.document) > self._max_bytes:
            return b'"(%d bytes, too many to be shown)"' % len(execution.document)
        return shown_arguments(execution.tool, execution.document)

    def _begin(self, execution: Execution) -> None:
        """An execution that has its place: read its arguments, and let its task run."""
        try:
            waited = execution.shown is not None
            head, at = execution.head, written(self._clock.time() if waited else execution.queued_at)
            execution.began = at
            tool, document = execution.tool, execution.document
            failure: ToolError | None = None
            try:
                if len(document) > self._max_bytes:
                    raise too_large(len(document), self._max_bytes)
                execution.arguments = tool.arguments.parse(tool.name, document)
            except Exception as error:
                failure = self._registry.errors.translate(error)
            validating = b'{"kind":"tool_validating","at":"%b","data":%b}}' % (at, head)
            if waited:
                execution.unposted = (validating,)
            else:
                shown = document
                if failure is not None or tool.has_secrets or shown.find(b"\n") >= 0 or shown.find(b"\r") >= 0:
                    shown = self._shown(execution)
                execution.shown = shown
                started = b'{"kind":"tool_started","at":"%b","data":%b,"arguments":%b}}' % (at, head, shown)
                execution.unposted = (started, validating)
            execution.status = move(execution.status, _VALIDATING)
            if failure is not None:
                self._finish(execution, Status.FAILED, failure)
                return
            execution.started = self._clock.monotonic() if waited else execution.queued
            work = self._carry_out(execution)
            if tool.mode is not _BACKGROUND:
                outer, self._entering = self._entering, execution
                task = self._starter.start(work)
                self._entering = outer
            else:  # its caller has the acknowledgement before anything happens
                task = self._loop.create_task(work)
            if execution.ended is None:
                execution.task = task
                self._live[execution.id] = execution
                if execution.unposted:
                    self._tell(execution)
            elif task is not None:  # it was stopped before it first waited
                self._abandon(task)
                task.cancel()
        except Exception as error:
            self._fault(execution, error)

    # Attempts

    async def _carry_out(self, execution: Execution) -> None:
        """The task of an execution: attempts, and the delays between them, until it ends."""
        try:
            if execution.tool.mode is _HUMAN and not await self._ask(execution):
                return
            while True:
                execution.attempt += 1
                try:
                    self._admit(execution)
                    if execution.scope.durable:
                        await self._secure(execution)
                    value = await self._enter(execution)
                    if execution.stop is not None:
                        raise execution.stop
                    encoded = execution.tool.result.write(execution.name, value)
                except BaseException as error:
                    failure = self._failed(execution, error)
                else:
                    self._finish(execution, _SUCCEEDED, None, encoded)
                    return
                if execution.ended is not None:
                    return
                if failure.category is _CANCELLED:
                    self._finish(execution, Status.CANCELLED, failure)
                    return
                tool = execution.tool
                decision = decide(
                    tool.retry or self._retry,
                    failure,
                    attempt=execution.attempt,
                    idempotent=tool.idempotent,
                    chance=self._chance(),
                )
                if not decision.retry:
                    self._finish(execution, Status.FAILED, failure)
                    return
                await self._delay(execution, failure, decision.delay)
        except asyncio.CancelledError:  # in a delay
            self._end_stopped(execution)
        except Exception as error:
            self._fault(execution, error)

    async def _ask(self, execution: Execution) -> bool:
        """Let a person decide. True where the handler is to run."""
        if execution.request is None:
            execution.status = move(execution.status, Status.WAITING)
            self._gate.leave(execution)  # it may wait for days, and takes nobody's place meanwhile
        answer = await execution.scope.ask(execution)
        if answer.error is not None:
            self._finish(execution, Status.FAILED, answer.error)
        elif execution.tool.handler is None:
            self._finish(execution, _SUCCEEDED, None, execution.tool.result.write(execution.name, answer.value))
        else:
            if answer.document is not None:
                execution.document, execution.fingerprint = answer.document, ""
                execution.shown = self._shown(execution)
                execution.arguments = execution.tool.arguments.parse(execution.name, execution.document)
            self._gate.take(execution)
            return True
        return False

    def _admit(self, execution: Execution) -> None:
        """Begin an attempt. Raises why it cannot begin."""
        if self._breakers.known:
            self._breakers.admit(execution)
        if execution.request is not None:
            execution.scope.use(execution)
        execution.status = move(execution.status, _EXECUTING)
        first = execution.task is None  # the first step, within the caller's turn: nobody looks before it ends or waits
        at = execution.began if first else written(self._clock.time())
        execution.unposted += (
            b'{"kind":"tool_executing","at":"%b","data":%b%b}'
            % (at, execution.head, _which(execution.attempt, execution.max_attempts)),
        )
        if not first:
            self._tell(execution)

    async def _secure(self, execution: Execution) -> None:
        """Return when the store knows that the attempt begins; only what may run twice need not wait for it."""
        if execution.unposted:
            self._tell(execution)
        if not execution.tool.idempotent:
            await execution.scope.settle()

    def _enter(self, execution: Execution) -> Coroutine[Any, Any, Any]:
        """What is to be awaited for the value of an attempt."""
        tool = execution.tool
        if tool.timeout is not None:
            execution.attempt_deadline = self._clock.monotonic() + tool.timeout
            self._deadlines.watch(execution.attempt_deadline)
        handler = tool.handler
        if handler is None:
            raise ToolError(f"The tool {tool.name} has no handler.", category=ErrorCategory.CONFIGURATION)
        if tool.lifetime is None:
            if handler.direct is not None:
                return handler.direct(**execution.arguments)
            if handler.plain:
                return handler.enter(execution.arguments, None)
        return self._run(execution, handler)

    async def _run(self, execution: Execution, handler: Handler) -> Any:
        """A handler that needs something first: what its tool holds, a context, or a thread."""
        if execution.tool.lifetime is not None:
            await self._registry.start(execution.tool)
        context = self._context(execution)
        if handler.kind is HandlerKind.SYNC:
            return await self._threads.run(partial(handler.enter, execution.arguments, context))
        return await handler.run(execution.arguments, context)

    def _failed(self, execution: Execution, error: BaseException) -> ToolError:
        """What an attempt's exception means: why it was told to stop, or what went wrong in it."""
        failure = execution.stop or self._registry.errors.translate(error)
        execution.attempt_deadline = execution.forced_at = None
        if execution.stop is not None:
            execution.stop = None
            while execution.task is not None and execution.task.uncancel():
                pass
        if execution.status is _EXECUTING:  # else the breaker refused it, or it has ended
            self._breakers.failed(execution, failure)
        if isinstance(error, KeyboardInterrupt):  # a person wants the process to end
            self._finish(execution, Status.FAILED, failure)
            raise error
        return failure

    async def _delay(self, execution: Execution, failure: ToolError, seconds: float) -> None:
        """Wait before the next attempt, which begins with its own copy of the arguments."""
        failure, shown = presentable(failure)
        execution.errors = (*execution.errors, failure)
        execution.status = move(execution.status, Status.WAITING)
        which = _which(execution.attempt, execution.max_attempts)[:-1]
        fields = b'%b,"error":%b,"delay":%b}' % (which, shown, to_json(seconds))
        self.post(execution, EventKind.TOOL_RETRYING, fields)
        self._registry.counters_of(execution.tool).retries += 1
        await self._clock.sleep(seconds)
        execution.arguments = execution.tool.arguments.parse(execution.name, execution.document)

    def _context(self, execution: Execution) -> ToolContext:
        return ToolContext(
            tool=execution.tool.name,
            session_id=execution.scope.id,
            user_id=execution.scope.user_id,
            call_id=execution.call_id,
            execution_id=execution.id,
            attempt=execution.attempt,
            idempotency_key=execution.id,
            reporter=AttemptReporter(self, execution),
        )

    # Ends

    def _stop(self, execution: Execution, reason: ToolError) -> None:
        """Tell an execution to stop. It ends when its handler does, or when the grace time is over."""
        if execution.stop is not None:
            final = reason.category is _CANCELLED or reason.retryable is False
            if final and execution.stop.category is not _CANCELLED:
                execution.stop = reason  # the attempt was timing out; now nobody wants another one either
            return
        execution.stop = reason
        for child in execution.children:
            self.cancel(child)
        if execution.task is None or not execution.attempt:  # it waits for its place, or its task has not begun
            if execution.task is not None:
                execution.task.cancel()
            self._gate.withdraw(execution)
            self._end_stopped(execution)
            return
        execution.forced_at = self._clock.monotonic() + self._grace
        self._deadlines.watch(execution.forced_at)
        execution.task.cancel()

    def _give_up(self, execution: Execution) -> None:
        """End an execution whose handler ignores the cancellation."""
        log.warning("%s goes on although it was told to stop; its result is discarded", execution.name)
        if execution.task is not None:
            self._abandon(execution.task)
        self._end_stopped(execution)

    def _end_stopped(self, execution: Execution) -> None:
        reason, inside = execution.stop or cancelled(), execution.status is _EXECUTING
        status = Status.CANCELLED if reason.category is _CANCELLED else Status.FAILED
        self._finish(execution, status, reason)
        if inside:
            self._breakers.failed(execution, reason)

    def _fault(self, execution: Execution, error: Exception) -> None:
        """End an execution because the runtime itself failed in it."""
        log.error("the runtime failed while it carried out %s", execution.name, exc_info=error)
        fault = ToolError("The system failed.", category=ErrorCategory.UNKNOWN, report=repr(error))
        self._finish(execution, Status.FAILED, fault)

    def _abandon(self, task: asyncio.Task[None]) -> None:
        """Keep hold of a task whose execution has ended, until it ends too."""
        self._abandoned.add(task)
        task.add_done_callback(self._abandoned.discard)

    def _due(self, execution: Execution, now: float) -> None:
        """Something's time has come."""
        if execution.forced_at is not None and execution.forced_at <= now:
            execution.forced_at = None
            self._give_up(execution)
            return
        if execution.deadline is not None and execution.deadline <= now:
            execution.deadline = None
            self._stop(execution, timed_out(execution.name, retryable=False))
        if execution.attempt_deadline is not None and execution.attempt_deadline <= now:
            execution.attempt_deadline = None
            self._stop(execution, timed_out(execution.name))
        if execution.budget_at is not None and execution.budget_at <= now and execution.ended is None:
            execution.budget_at = None
            execution.promoted = execution.late = True
            _release(execution)

    def _finish(
        self, execution: Execution, status: Status, error: ToolError | None = None, encoded: bytes | None = None
    ) -> None:
        """The end: the record, the one terminal event, the statistics, the place. Only the first call has an effect."""
        if execution.ended is not None:
            return
        now, at, shown = self._clock.monotonic(), self._clock.time(), b""
        if error is not None:
            error, shown = presentable(error)
        execution.status = move(execution.status, status)
        execution.ended = now
        execution.encoded = encoded
        execution.error = error
        execution.arguments = execution.task = None
        try:
            if execution.late:
                execution.scope.late(execution)
            if execution.kind is _WORKER:
                execution.unposted = (_response(execution, at, shown),)
                self._tell(execution)
            counters = self._registry.counters_of(execution.tool)
            spent = now - (execution.started or execution.queued)
            if error is None:
                if execution.kind is not _WORKER:
                    execution.unposted += (
                        b'{"kind":"tool_result","at":"%b","data":%b,"status":"succeeded","value":%b}}'
                        % (written(at), execution.head, encoded),
                    )
                    self._tell(execution)
                counters.ended(spent)
                if self._breakers.known:
                    self._breakers.succeeded(execution)
            else:
                if execution.kind is not _WORKER:
                    fields = b',"status":"%b","error":%b}' % (status.encode(), shown)
                    self.post(execution, EventKind.TOOL_RESULT, fields)
                counters.failed(error.category, spent, datetime.fromtimestamp(at, UTC))
                report(execution, error)
        finally:  # whatever fails above, nobody waits for ever
            self._live.pop(execution.id, None)
            if execution.waiters:
                _release(execution)
            if execution.children:
                for child in execution.children:
                    self.cancel(child)
            if execution.placed:
                self._gate.leave(execution)

    async def _released(self, execution: Execution) -> None:
        """Return when the execution has ended, or was promoted."""
        future = self._loop.create_future()
        execution.waiters = (*execution.waiters, future)
        try:
            await future
        except asyncio.CancelledError:
            execution.waiters = tuple(waiter for waiter in execution.waiters if waiter is not future)
            if not execution.waiters and execution.parent is None:
                execution.late = True  # nobody is left who would be given the result
            raise


@lru_cache
def _which(attempt: int, maximum: int) -> bytes:
    """Which attempt it is, as the last fields of an event's data."""
    return b',"attempt":%d,"maximum":%d}' % (attempt, maximum)


def _response(execution: Execution, at: float, shown: bytes) -> bytes:
    """How a worker's execution ends for people: with the answer to their request."""
    result = (
        b'"payload":null,"error":%b' % shown if shown else b'"payload":%b,"error":null' % (execution.encoded or b"")
    )
    ids = b'"request_id":%b,"request_kind":"%b"' % (to_json(execution.call_id), execution.name.encode())
    return encode_event(EventKind.USER_RESPONSE, at, b"{%b,%b}" % (ids, result))


def _adopt(parent: Execution, child: Execution) -> None:
    child.parent = parent
    parent.children = (*(known for known in parent.children if not known.terminal), child)
    times = (parent.deadline, parent.attempt_deadline, child.deadline)
    child.deadline = min((when for when in times if when is not None), default=None)


def _release(execution: Execution) -> None:
    waiters, execution.waiters = execution.waiters, ()
    for future in waiters:
        if not future.done():
            future.set_result(None)
