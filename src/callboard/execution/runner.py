"""The attempts of an execution: its task, from the person who is asked first to the last retry.

An attempt is admitted (by the breaker, and in the store), entered, and its exception understood; what follows from that
is a pure decision of `retry`.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic_core import to_json

from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from ..events.kinds import EventKind
from ..tools.context import Reporter, ToolContext
from ..tools.handler import HandlerKind
from ..tools.policies import RetryPolicy
from ..tools.registry import Registry
from ..types import Mode
from .breakers import Breakers
from .execution import EXECUTING, VALIDATED, Execution
from .failures import NestedFailure, detach, presentable
from .finishing import Finishing
from .lifecycle import Status, move
from .lifecycle_events import which_attempt
from .limits import SlotLimiter
from .masking import shown_document
from .observer import Observer
from .retry import decide, remaining_delay
from .threads import Threads

# Looking a member up in its enumeration costs more than what is done with it here.
_HUMAN, _CANCELLED = Mode.HUMAN, ErrorCategory.CANCELLED
_VALIDATING, _EXECUTING = Status.VALIDATING, Status.EXECUTING


class Runner:
    """Carries executions out that have begun."""

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        breakers: Breakers,
        slots: SlotLimiter,
        finishing: Finishing,
        retry: RetryPolicy,
        chance: Callable[[], float],
        reporter: Callable[[Execution], Reporter],
    ) -> None:
        self._registry = registry
        self._size = registry.argument_size
        self._clock = clock
        self._breakers = breakers
        self._slots = slots
        self._finishing = finishing
        self._succeed = finishing.succeed
        self._retry = retry
        self._chance = chance
        self._reporter = reporter
        """Makes the voice of an attempt."""
        self.observers: list[Observer] = []
        self.threads: Threads

    async def carry_out(self, execution: Execution, delay: float = 0.0) -> None:
        """The task of an execution: attempts, and the delays before and between them, until it ends."""
        tool = execution.tool
        direct = tool.direct
        try:
            if delay:
                await self._clock.sleep(delay)
                execution.retry_at = None
            if direct is None and tool.mode is _HUMAN and not execution.attempt and not await self._ask(execution):
                return
            while True:
                execution.attempt += 1
                if self.observers:
                    for observer in self.observers:
                        observer.attempting(execution)
                try:
                    if tool.breaker is not None or self._breakers.remember:
                        self._breakers.admit(execution)
                    execution.status = (
                        _EXECUTING if execution.status is _VALIDATING else move(execution.status, _EXECUTING)
                    )
                    execution.phase = EXECUTING
                    if direct is not None and not execution.reported_phase and not execution.scope.durable:
                        if execution.task is not None:
                            self._finishing.tell(execution)
                        value = await direct(**execution.arguments)
                    else:
                        value = await self._run(execution)
                        self._finishing.check_times(execution)
                    if execution.stop is not None:
                        raise execution.stop
                    encoded = tool.result.write(execution.name, value)
                except BaseException as error:
                    failure = self._failed(execution, error)
                else:
                    self._succeed(execution, encoded)
                    return
                if execution.ended is not None:
                    return
                if failure.category is _CANCELLED:
                    self._finishing.fail(execution, failure, Status.CANCELLED)
                    return
                decision = decide(
                    tool.retry or self._retry,
                    failure,
                    attempt=execution.attempt,
                    idempotent=tool.idempotent,
                    chance=self._chance(),
                )
                if not decision.retry:
                    self._finishing.fail(execution, failure)
                    return
                await self._delay(execution, failure, decision.delay)
        except asyncio.CancelledError:  # in a delay
            self._finishing.end_stopped(execution)
        except Exception as error:
            self._finishing.fault(execution, error)

    def delay(self, execution: Execution) -> float:
        """What is left, in seconds, of a retry delay that another process began."""
        return remaining_delay(execution.tool.retry or self._retry, execution.retry_at, self._clock.time())

    async def _ask(self, execution: Execution) -> bool:
        """Let a person decide. True where the handler is to run."""
        if execution.request is None:
            execution.status = move(execution.status, Status.WAITING)
            self._slots.leave(execution)  # it may wait for days, and takes nobody's place meanwhile
        answer = await execution.scope.ask(execution)
        if answer.error is not None:
            self._finishing.fail(execution, answer.error)
        elif execution.tool.handler is None:
            self._succeed(execution, execution.tool.result.write(execution.name, answer.value))
        else:
            if answer.document is not None:
                execution.document = answer.document  # the fingerprint stays that of what the caller sent
                execution.display_arguments = shown_document(execution.tool, execution.document, self._size)
                execution.arguments = execution.tool.arguments.parse(execution.name, execution.document)
            self._slots.take(execution)
            return True
        return False

    async def _run(self, execution: Execution) -> Any:
        """A handler that needs something first: the store, what its tool holds, a clock, a context, or a thread."""
        if execution.request is not None:
            execution.scope.use(execution)
        if execution.task is not None:
            if execution.reported_phase:  # this attempt begins later than what was reported
                execution.reported_phase, execution.at = min(execution.reported_phase, VALIDATED), self._clock.time()
            self._finishing.tell(execution)
        tool, handler = execution.tool, execution.tool.handler
        if handler is None:
            raise ToolError(f"The tool {tool.name} has no handler.", category=ErrorCategory.CONFIGURATION)
        if execution.scope.durable:
            await self._secure(execution)
        if tool.timeout is not None:
            execution.attempt_deadline = self._clock.monotonic() + tool.timeout
            self._finishing.deadlines.watch(execution.attempt_deadline)
        if tool.lifetime is not None:
            await self._registry.start(tool)
        if handler.plain:
            return await handler.enter(execution.arguments, None)
        context = self._context(execution)
        if handler.kind is HandlerKind.SYNC:
            work = partial(handler.enter, execution.arguments, context)
            return await self.threads.run(work, execution.scope.user_id)
        return await handler.run(execution.arguments, context)

    async def _secure(self, execution: Execution) -> None:
        """Return when the handler may be entered: the store knows of the attempt, where that matters.

        A tool that is not idempotent waits for that before every attempt. An idempotent one waits only if the caller
        chose the call id, and only before the first attempt: another process may have the same call, and the store
        decides whose it is. The task of the other one is cancelled while it waits here.
        """
        if execution.reported_phase < execution.phase:
            self._finishing.tell(execution)
        if not execution.tool.idempotent or (execution.attempt == 1 and execution.call_id != execution.id):
            await execution.scope.settle()

    def _failed(self, execution: Execution, error: BaseException) -> ToolError:
        """What an attempt's exception means: why it was told to stop, or what went wrong in it."""
        failure = execution.stop or self._registry.errors.translate(error)
        if isinstance(failure, NestedFailure):
            failure = failure.for_caller()
            failure.__cause__ = error
        for observer in self.observers:
            observer.attempted(execution, failure)
        execution.attempt_deadline = execution.forced_at = None
        for child in execution.children or ():  # the next attempt makes its own
            self._finishing.cancel(child)
        if execution.stop is not None:
            execution.stop = None
            while execution.task is not None and execution.task.uncancel():
                pass
        if execution.status is _EXECUTING:  # else the breaker refused it, or it has ended
            self._breakers.failed(execution, failure)
        if isinstance(error, KeyboardInterrupt):  # a person wants the process to end
            self._finishing.fail(execution, failure)
            raise error
        return failure

    async def _delay(self, execution: Execution, failure: ToolError, seconds: float) -> None:
        """Wait before the next attempt, which begins with its own copy of the arguments."""
        failure, shown = presentable(failure)
        execution.errors = (*execution.errors, failure)
        detach(failure)
        execution.status = move(execution.status, Status.WAITING)
        execution.retry_at = self._clock.time() + seconds
        which = which_attempt(execution.attempt, execution.max_attempts)
        fields = b'%b,"error":%b,"delay":%b}' % (which, shown, to_json(seconds))
        self._finishing.post(execution, EventKind.TOOL_RETRYING, fields)
        self._registry.counters_of(execution.tool).retries += 1
        await self._clock.sleep(seconds)
        execution.retry_at = None
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
            client=execution.scope.client,
            reporter=self._reporter(execution),
        )
