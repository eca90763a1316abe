"""The execution manager: the one path of every call, whatever its caller and its mode.

It owns the tasks of all executions, between `async with` and its end. Below it are pure decisions (lifecycle, retry,
breaker) and small mechanisms (slots, deadlines); above it are sessions, which decide who may call what. It knows no
store and no protocol: sessions write what it reports.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any, Self

from anyio import CancelScope

from ..clock import Clock
from ..errors import ToolError
from ..events.millisecond_clock import MillisecondClock
from ..storage.text import storable
from ..tools.arguments import AnyArguments
from ..tools.definition import Tool
from ..tools.document import encode, same_document
from ..tools.policies import BreakerPolicy, RetryPolicy
from ..tools.registry import Registry
from ..tools.result import Result
from ..types import Mode
from .admission import Admission, CallScope
from .breakers import Breakers, BreakerStatus
from .execution import Execution, Priority, Scope
from .failures import NestedFailure, conflict, interrupted, key_conflict, key_dropped, value_of
from .finishing import Finishing
from .lifecycle import Status
from .limits import Limits, SlotLimiter
from .observer import Observer
from .outcome import Outcome, OutcomeStatus
from .reporting import report
from .runner import Runner
from .scope import HumanDecision
from .stopping import Stopping
from .storing import fingerprint_of
from .streak import STREAK
from .threads import Threads

# Looking a member up in its enumeration costs more than comparing with it.
_INLINE, _BACKGROUND = Mode.INLINE, Mode.BACKGROUND
_VALIDATING, _SUCCEEDED = Status.VALIDATING, Status.SUCCEEDED

NO_TOOL = Tool(
    name="none",
    description="Stands for no tool.",
    arguments=AnyArguments(),
    result=Result(),
    handler=None,
    retry=RetryPolicy(max_attempts=1),
)
"""The tool of a call that named an unknown tool."""


class ExecutionManager:
    """Carries out calls. All methods must be called on the event loop that entered it."""

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
        self._retry = retry = retry or RetryPolicy()
        clock_ms = MillisecondClock(clock)
        self._clock = clock
        self._limits = limits or Limits()
        self._grace = grace
        self._live: dict[str, Execution] = {}
        """The executions that wait: for a slot, their handler, a person or their next attempt."""
        self._observers: list[Observer] = []
        live, observers = self._live, self._observers
        self._breakers = breakers = Breakers(breaker or BreakerPolicy(), registry, clock)
        self._slots = slots = SlotLimiter(self._limits, self.begin)
        self._finishing = finishing = Finishing(
            registry, clock, clock_ms, breakers, slots, live, observers, self.cancel
        )
        self._stopping = stopping = Stopping(clock, breakers, slots, finishing, live, grace)
        self._runner = runner = Runner(
            registry, clock, breakers, slots, finishing, stopping, observers, retry, chance, self.nested
        )
        self._admission = Admission(
            registry, clock, clock_ms, slots, runner, finishing, stopping, live, observers, retry
        )
        self._new, self._begin = self._admission.new, self._admission.begin  # looked up once: on every call's path
        self._yield_at = STREAK
        """The number of the execution after which the caller yields to other tasks."""
        self.unknown = 0
        """The number of calls that named an unknown tool or had arguments that are not JSON."""

    async def __aenter__(self) -> Self:
        self._runner.threads = Threads(self._limits.threads)
        self._admission.loop = asyncio.get_running_loop()
        self._slots.open()
        self._breakers.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Cancel what runs, wait for its clean-up at most the grace time, and end the rest as cancelled.

        With a store, other processes continue executions that wait for people, and late work that may run again: its
        tool is idempotent, or its handler has not begun. An attempt that they begin again is not counted twice.
        """
        self._slots.close()
        tasks = [execution.task for execution in self.live if execution.task is not None]
        for execution in reversed(self.live):  # nested calls before their parents, which would cancel them
            if not execution.scope.durable:
                continue
            if execution.parent is None and execution.request is not None and execution.status is Status.WAITING:
                self.release(execution)
            elif _can_be_left(execution):
                if execution.status is Status.EXECUTING:
                    self._finishing.hand_back(execution)
                self.disown(execution)
        for execution in sorted(self.live, key=lambda execution: execution.task is not None):  # queued ones first
            self.cancel(execution)
        try:
            if tasks:
                with CancelScope(shield=True):
                    await asyncio.wait(tasks, timeout=self._grace)
        finally:
            for execution in self.live:
                self._stopping.give_up(execution)
            self._stopping.deadlines.close()
            self._breakers.close()

    @property
    def limits(self) -> Limits:
        """The limits on what runs at once."""
        return self._limits

    @property
    def live(self) -> tuple[Execution, ...]:
        """The executions that have not ended, without one that is in the first step of its task."""
        return tuple(self._live.values())

    @property
    def queued(self) -> int:
        """The number of executions that wait for a slot."""
        return self._slots.queued

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Add an observer. Returns a function that removes it."""

        def remove() -> None:
            self._observers[:] = [each for each in self._observers if each is not observer]

        self._observers.append(observer)
        return remove

    # Calling

    async def call(
        self,
        scope: CallScope,
        tool: Tool,
        document: bytes,
        call_id: str | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> Outcome:
        """Carry out a call. Returns the result of an inline call that ends within its budget, else an acknowledgement.

        Cancelling the caller does not cancel the execution. A call with a `call_id` that was used before is not run
        again; with other arguments it is a conflict, which is an outcome like any other failure.
        """
        if call_id is not None and (known := scope.index.by_call(call_id)) is not None:
            self._yield_at -= 1  # it counts for the streak, although it makes no execution
            if known.name == tool.name and _has_arguments(known, document):
                return await self._outcome(scope, known, again=True)
            await self._yield()
            return conflict(known, tool.name)
        execution = self._new(scope, tool, tool.name, document, call_id, priority)
        self._begin(execution)
        if execution.ended is None:
            if tool.mode is not _INLINE:
                execution.deliver_late()
        elif execution.status is _SUCCEEDED and not scope.durable and self._admission.count < self._yield_at:
            return execution.outcome()
        return await self._outcome(scope, execution)

    async def _outcome(self, scope: CallScope, execution: Execution, *, again: bool = False) -> Outcome:
        """Return the outcome for a caller, once the call has ended or was promoted and its events are stored.

        `again` is for a caller that repeats a call.
        """
        try:
            if execution.status is _VALIDATING and execution.tool.mode is not _BACKGROUND:
                await asyncio.sleep(0)  # its task takes its first step, which may be all: see `tasks`
            if execution.ended is None and execution.tool.mode is _INLINE and not execution.promoted:
                if execution.budget_at is None:
                    self._stopping.deadlines.watch(execution, execution.start_budget())
                if scope.durable:
                    await scope.wait_until_begun(execution, again=again)
                if execution.ended is None and not execution.promoted:
                    await execution.released()
            else:
                await self._yield()
            outcome = execution.outcome()
            if execution.unloaded and (again or not execution.delivers_late):
                return await scope.stored_outcome(execution)
            if execution.delivers_late and not again and execution.ended is not None:  # its result comes late
                started = OutcomeStatus.STARTED
                outcome = Outcome(started, execution.id, execution.call_id, execution.name, execution.acknowledgement())
            if scope.durable:
                await scope.wait_until_stored(execution, again=again)
                if execution.lost and not (execution.sent and execution.delivers_late and not again):
                    return await scope.stored_outcome(execution)
        except BaseException:  # the caller was cancelled, or does not wait for the store any longer
            if not again or execution.ended is None:
                self._finishing.caller_left(execution)
            raise
        return outcome

    async def _yield(self) -> None:
        """Let other tasks run after a streak of calls whose callers did not wait."""
        if self._admission.count >= self._yield_at:
            self._yield_at = self._admission.count + STREAK
            await asyncio.sleep(0)

    async def refuse(
        self, scope: CallScope, name: str, call_id: str | None, error: ToolError, parent: Execution | None = None
    ) -> Outcome:
        """Record a call that cannot be carried out, because its caller does not see such a tool."""
        name = storable(name)  # a model may have invented it
        if call_id is not None and (known := scope.index.by_call(call_id)) is not None:
            self._yield_at -= 1
            await self._yield()
            return known.outcome() if known.tool is NO_TOOL and known.name == name else conflict(known, name)
        execution = self._new(scope, NO_TOOL, name, b"null", call_id)
        if parent is not None:
            parent.adopt(execution)
        self.unknown += 1
        for observer in self._observers:
            observer.called(execution)
        self._admission.announce(execution)
        self._finishing.fail(execution, error)
        if scope.durable:
            await scope.wait_until_stored(execution)
            if execution.lost:
                return await scope.stored_outcome(execution)
        await self._yield()
        return execution.outcome()

    async def wait(self, execution: Execution) -> None:
        """Return when an execution has ended."""
        while execution.ended is None:
            await execution.released()

    async def nested(self, parent: Execution, called: str | Tool, arguments: Any, key: str | None = None) -> Any:
        """Make a call for a handler. It ends no later than its parent, and is cancelled with it.

        A call with a key is made once per parent. Its outcome is stored before the handler gets it.
        """
        scope: Any = parent.scope
        document = encode(arguments)
        if parent.reported_phase < parent.phase:  # the parent's events come before those of its nested calls
            report(parent)
        try:
            tool = scope.find(called) if isinstance(called, str) else called
        except ToolError as error:
            name = str(called)
            refused = await self.refuse(scope, name, None, error, parent)
            raise NestedFailure(name, refused.error or error) from None
        execution: Execution | None = None
        call_id = None if key is None else f"{parent.id}:{key}"
        if call_id is not None:
            recorded = await scope.recorded_call(parent, call_id, tool.name, document) if scope.durable else None
            if recorded is not None:
                return value_of(recorded)
            execution = scope.index.by_call(call_id)
            if execution is None and parent.keys_dropped and parent.attempt > 1:
                raise NestedFailure(tool.name, key_dropped(str(key)))
        if execution is None:
            execution = self._new(scope, tool, tool.name, document, call_id)
            parent.adopt(execution)
            self._begin(execution)
        elif not (execution.is_keyed and execution.name == tool.name and _has_arguments(execution, document)):
            raise NestedFailure(tool.name, key_conflict(str(key), execution))
        try:
            if execution.ended is None:
                await self.wait(execution)
            if execution.handed_over:
                return value_of(await scope.calls.end_elsewhere(execution))
            if scope.durable and (key is not None or execution.lost):
                await scope.settle()
            if parent.lost or (execution.lost and not execution.settled):  # its handler must not continue here
                raise asyncio.CancelledError
            in_store = execution.unloaded or execution.lost
            return value_of(await scope.stored_outcome(execution) if in_store else execution.outcome())
        except asyncio.CancelledError:
            if key is None or parent.stop_reason is None:  # else the next attempt may wait for it
                self.cancel(execution)
            raise

    def place(self, queue_of: Callable[[Execution], str | None], check_room: Callable[[str, str], None]) -> None:
        """Send executions to workers: those for which the first function returns a queue.

        The second raises `ToolError` if a queue has no room for a new call.
        """
        self._admission.queue_of = self._runner.queue_of = queue_of
        self._admission.check_room = check_room

    def cancel(self, execution: Execution) -> bool:
        """Cancel an execution. Its handler may clean up for the grace time. False if it has ended."""
        return self._stopping.cancel(execution)

    def prepare(
        self, scope: CallScope, worker: Tool, document: bytes, request_id: str, priority: Priority
    ) -> Execution:
        """Make the execution that answers a user's request, without starting it."""
        execution = self._new(scope, worker, worker.name, document, request_id, priority)
        execution.mark_worker()
        return execution

    def begin(self, execution: Execution) -> None:
        """Start a prepared or queued execution, unless it was stopped meanwhile."""
        if execution.ended is None:
            self._begin(execution)

    def resume(self, execution: Execution) -> None:
        """Continue an execution of a process that died, if that is safe."""
        self._admission.resume(execution)

    def answered(self, execution: Execution, decision: HumanDecision) -> None:
        """Continue an execution that waits for a person, with the person's decision."""
        self._admission.answered(execution, decision)

    def fault(self, execution: Execution, error: Exception) -> None:
        """End an execution because of a bug in the runtime."""
        self._finishing.fault(execution, error)

    def promote(self, execution: Execution) -> None:
        """Let the caller of an inline call go before its budget is used up."""
        if execution.ended is None and execution.tool.mode is _INLINE and execution.parent is None:
            execution.promote()

    def end(self, execution: Execution, reason: ToolError) -> None:
        """End an execution now, whatever its handler does."""
        self._stopping.end(execution, reason)

    def disown(self, execution: Execution) -> None:
        """Stop an execution that another process owns, without a terminal event."""
        self._finishing.disown(execution)

    def release(self, execution: Execution) -> None:
        """Leave an execution that waits for a person to any process that continues it after the answer."""
        self._finishing.release(execution)

    def interrupt(self, execution: Execution) -> None:
        """End an execution of a process that died, since it is not known how far it got."""
        self._admission.add_recovered(execution)
        self._finishing.fail(execution, interrupted())

    def hides(self, scope: Scope, tool: Tool) -> bool:
        """Return whether a tool's breaker is open and its policy hides the tool meanwhile."""
        return self._breakers.in_use and self._breakers.hides(tool, scope)

    def refusing_breakers(self) -> Mapping[str, int]:
        """Return the number of breakers of each tool that refuse calls now."""
        return self._breakers.refusing()

    def breakers(self, tool: Tool, user_id: str, session_id: str | None) -> list[BreakerStatus]:
        """Return the breakers of a tool that a user may see, in one of its sessions or in none."""
        return self._breakers.visible_to(tool, user_id, session_id)

    def policies(self, tool: Tool) -> tuple[RetryPolicy, BreakerPolicy]:
        """Return the policies that calls of a tool follow: its own, or the defaults."""
        return tool.retry or self._retry, self._breakers.policy(tool)

    def forget(self, scope: Scope) -> None:
        """Drop the breakers of a session that has ended."""
        self._breakers.forget(scope)


def _has_arguments(known: Execution, document: bytes) -> bool:
    """Return whether a repeated call has the caller's original arguments, which a person may have edited since."""
    if known.fingerprint:
        return known.fingerprint == fingerprint_of(document)
    return same_document(known.document, document)


def _can_be_left(execution: Execution) -> bool:
    """Return whether another process can continue an execution: no caller waits here, and it may run again."""
    if execution.stop_reason is not None or not execution.stored:
        return False
    if execution.parent is not None and not (execution.is_keyed and _can_be_left(execution.parent)):
        return False
    is_awaited = execution.parent is None and not execution.delivers_late
    return not is_awaited and (execution.tool.idempotent or not execution.entered)
