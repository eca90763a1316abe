"""The task of an execution: a person is asked first if the tool wants that, then attempts are made until it ends.

An attempt is admitted by the breaker and stored before the handler is entered. What follows a failure is decided by
`retry`, which is pure.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from ..tools.context import ToolContext
from ..tools.handler import HandlerKind
from ..tools.policies import RetryPolicy
from ..tools.registry import Registry
from ..tools.result import too_large
from ..types import Mode
from .breakers import Breakers
from .execution import Execution
from .failures import NestedFailure, detach, presentable
from .finishing import Finishing
from .lifecycle import Status
from .lifecycle_events import retrying_event
from .limits import SlotLimiter
from .masking import mask_document
from .observer import Observer
from .reporting import AttemptReporter, NestedCall, report, report_beginning
from .retry import decide, remaining_delay
from .scope import HumanDecision
from .stopping import Stopping
from .threads import Threads

# Looking a member up in its enumeration costs more than comparing with it.
_HUMAN, _CANCELLED, _INTERRUPTED = Mode.HUMAN, ErrorCategory.CANCELLED, ErrorCategory.INTERRUPTED


@dataclass(eq=False, repr=False)
class Runner:
    """Carries out executions that have a slot and validated arguments."""

    _registry: Registry
    _clock: Clock
    _breakers: Breakers
    _slots: SlotLimiter
    _finishing: Finishing
    _stopping: Stopping
    _observers: list[Observer]
    _retry: RetryPolicy
    _chance: Callable[[], float]
    _nested: NestedCall
    queue_of: Callable[[Execution], str | None] | None = field(default=None, init=False)
    """Returns the queue of the workers that carry an execution out; None: this process does."""
    threads: Threads = field(init=False)
    """The threads of handlers that are not async, made when the manager is entered."""

    def __post_init__(self) -> None:
        self._max_result = self._registry.settings.max_result_bytes
        self._turns: dict[str, asyncio.Future[None]] = {}
        """The approved calls that wait for a slot, by id."""

    async def carry_out(self, execution: Execution, delay: float = 0.0, answer: HumanDecision | None = None) -> None:
        """Make attempts, with the delays before and between them, until the execution ends.

        Without an answer, a human tool only asks for it. The answer starts another task.
        """
        tool = execution.tool
        direct = tool.direct
        try:
            if delay:
                await self._clock.sleep(delay)
                execution.end_delay()
            if direct is None and tool.mode is _HUMAN and not execution.attempt and not execution.queue:
                answer = answer or await self._ask(execution)
                if answer is None or not self._accept(execution, answer):
                    return
                queue = None if self.queue_of is None else self.queue_of(execution)
                if queue is None:
                    await self._take_slot_again(execution)
                if answer.document is not None:  # not before it has a slot: see `_edit`
                    self._edit(execution, answer.document)
                if queue is not None:
                    execution.scope.use_answer(execution)
                    self._finishing.hand_over(execution, queue)
                    return
            while True:
                execution.next_attempt()
                if self._observers:
                    for observer in self._observers:
                        observer.attempting(execution)
                try:
                    if tool.breaker is not None or self._breakers.in_use:
                        self._breakers.admit(execution)
                    execution.execute()
                    if direct is not None and not execution.reported_phase and not execution.scope.durable:
                        if execution.task is not None:
                            report(execution)
                        value = await direct(**execution.arguments)
                    else:
                        value = await self._run(execution)
                        self._stopping.check_deadlines(execution)
                    if execution.stop_reason is not None:
                        raise execution.stop_reason
                    result_json = tool.result.write(execution.name, value)
                    if len(result_json) > self._max_result:
                        raise too_large(f"The result of {execution.name}", len(result_json), self._max_result)
                except BaseException as error:
                    failure = self._failed(execution, error)
                else:
                    self._finishing.succeed(execution, result_json)
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
                await self._wait_for_retry(execution, failure, decision.delay)
        except asyncio.CancelledError:  # in a delay
            self._stopping.end_stopped(execution)
        except Exception as error:
            self._finishing.fault(execution, error)

    def delay(self, execution: Execution) -> float:
        """Return the seconds that are left of a retry delay that another process began."""
        return remaining_delay(execution.tool.retry or self._retry, execution.retry_at, self._clock.time())

    async def _ask(self, execution: Execution) -> HumanDecision | None:
        """Ask a person. None if the answer comes later: it may take days, so no slot and no task wait for it."""
        if execution.request is None:
            execution.wait_for_person()
            self._slots.release(execution)
        decision = await execution.scope.ask(execution)
        if decision is None:
            execution.leave(asyncio.current_task())
        return decision

    def _accept(self, execution: Execution, decision: HumanDecision) -> bool:
        """Act on the decision of a person. True if the handler is to run."""
        tool = execution.tool
        if execution.request is not None and (decision.error is not None or tool.handler is None):
            execution.scope.use_answer(execution)
        if decision.error is not None:
            self._finishing.fail(execution, decision.error)
        elif tool.handler is None:
            self._finishing.succeed(execution, tool.result.write(execution.name, decision.value))
        else:
            return True
        return False

    def _edit(self, execution: Execution, document: bytes) -> None:
        """Replace the arguments by those of a person.

        A call that waits for a slot keeps its own arguments: if another process continues it, that one compares them
        with the request before it uses the answer.
        """
        tool = execution.tool
        execution.edit_arguments(document, mask_document(tool, document, self._registry.argument_size))
        execution.set_arguments(tool.arguments.parse(execution.name, document))

    async def _take_slot_again(self, execution: Execution) -> None:
        """Take a slot for a call that a person has approved. Without a free one, it waits in the queue."""
        if self._slots.acquire_again(execution):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns[execution.id] = turn
        try:
            await turn
        finally:
            del self._turns[execution.id]

    def go_on(self, execution: Execution) -> None:
        """Continue a call that waited for a slot after its approval, and has one now."""
        turn = self._turns[execution.id]
        if not turn.done():
            turn.set_result(None)

    async def _run(self, execution: Execution) -> Any:
        """Enter a handler that needs something first: the store, its tool's resources, a timer, a context, a thread."""
        if execution.request is not None:
            execution.scope.use_answer(execution)
        if execution.task is not None:
            if execution.reported_phase:
                execution.report_again(self._clock.time())
            report_beginning(execution)
        tool, handler = execution.tool, execution.tool.handler
        if handler is None:
            raise ToolError(f"The tool {tool.name} has no handler.", category=ErrorCategory.CONFIGURATION)
        if execution.scope.durable:
            await self._secure(execution)
        if tool.timeout is not None:
            execution.set_attempt_deadline(deadline := self._clock.monotonic() + tool.timeout)
            self._stopping.deadlines.watch(execution, deadline)
        if tool.lifetime is not None:
            await self._registry.start(tool)
        if execution.scope.durable:
            execution.enter()
        if handler.plain:
            return await handler.enter(execution.arguments, None)
        context = self._context(execution)
        if handler.kind is HandlerKind.SYNC:
            work = partial(handler.enter, execution.arguments, context)
            return await self.threads.run(work, execution.scope.user_id)
        return await handler.run(execution.arguments, context)

    async def _secure(self, execution: Execution) -> None:
        """Return when the handler may be entered: the attempt is stored, if that matters.

        A tool that is not idempotent waits for the store before every attempt. An idempotent one waits only if the
        caller chose the call id, and only before the first attempt: another process may have the same call, and the
        store decides which process runs it. The other process's task is cancelled while it waits here. A call that was
        claimed from a queue is decided. One that another process began, or claimed, waits, since it may be what ended
        that process: an attempt that is not stored would not be counted.
        """
        if execution.reported_phase < execution.phase:
            report_beginning(execution)
        is_decided = (execution.attempt > 1 or execution.call_id == execution.id) and not execution.continued
        if not (execution.tool.idempotent and (is_decided or (execution.queue and not _was_interrupted(execution)))):
            await execution.scope.settle()

    def _failed(self, execution: Execution, error: BaseException) -> ToolError:
        """End an attempt that raised, and return its failure: the reason why it was stopped, or its own error."""
        failure = execution.stop_reason or self._registry.errors.translate(error)
        if isinstance(failure, NestedFailure):
            failure = failure.for_caller()
            failure.__cause__ = error
        for observer in self._observers:
            observer.attempted(execution, failure)
        for child in tuple(execution.children or ()):  # those that end leave it
            if not child.is_keyed:  # the next attempt makes its own nested calls
                self._stopping.cancel(child)
        execution.end_attempt()
        if execution.status is Status.EXECUTING:  # else the breaker refused it, or it has ended
            self._breakers.failed(execution, failure)
        if isinstance(error, KeyboardInterrupt):
            self._finishing.fail(execution, failure)
            raise error
        return failure

    async def _wait_for_retry(self, execution: Execution, failure: ToolError, seconds: float) -> None:
        """Wait for the delay before the next attempt, which gets its own copy of the arguments."""
        failure, error_json = presentable(failure)
        detach(failure, execution.tool)
        execution.wait_for_retry(failure, self._clock.time() + seconds)
        report(execution, retrying_event(execution, self._clock.time(), error_json, seconds))
        self._registry.counters_of(execution.tool).retries += 1
        await self._clock.sleep(seconds)
        execution.end_delay()
        execution.set_arguments(execution.tool.arguments.parse(execution.name, execution.document))

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
            reporter=AttemptReporter(execution, self._clock, self._nested, self._max_result),
        )


def _was_interrupted(execution: Execution) -> bool:
    """Return whether a process died that had begun or claimed an execution."""
    return any(error.category is _INTERRUPTED for error in execution.errors)
