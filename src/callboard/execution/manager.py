"""The execution manager: the one path that every call takes, whoever makes it and whatever its mode.

It owns the tasks of all executions, from `async with` until its end. Below it are pure decisions (lifecycle, retry,
breaker) and small mechanisms (places, deadlines); above it are sessions, which know who may call what. It speaks to no
store and no protocol: what it tells a session, the session writes.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from anyio import CancelScope

from ..clock import Clock
from ..errors import ToolError
from ..events.millisecond_clock import MillisecondClock
from ..storage.rows import WORKER
from ..storage.text import storable
from ..tools.arguments import AnyArguments
from ..tools.definition import Tool
from ..tools.document import encode, same_document
from ..tools.policies import BreakerPolicy, RetryPolicy
from ..tools.registry import Registry
from ..tools.result import Result
from ..types import Mode
from .admission import Admission, CallScope
from .breakers import Breakers
from .execution import Execution, Priority, Scope, made
from .failures import NestedFailure, conflict, interrupted
from .finishing import Finishing
from .lifecycle import Status
from .limits import Limits, SlotLimiter
from .observer import Observer
from .outcome import Outcome, OutcomeStatus
from .reporting import AttemptReporter
from .runner import Runner
from .storing import fingerprint_of
from .threads import Threads

# Looking a member up in its enumeration costs more than what is done with it here.
_INLINE, _HUMAN, _SUCCEEDED, _NORMAL = Mode.INLINE, Mode.HUMAN, OutcomeStatus.SUCCEEDED, Priority.NORMAL
_VALIDATING, _SUCCESS = Status.VALIDATING, Status.SUCCEEDED

STREAK = 64
"""After so many calls that ended at once the caller lets others go first: a loop of calls must not hold them up."""

NO_TOOL = Tool(name="none", description="Stands for no tool.", arguments=AnyArguments(), result=Result(), handler=None)
"""The tool of a call that named none."""


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
        retry = retry or RetryPolicy()
        clock_ms = MillisecondClock(clock)
        self._limits = limits or Limits()
        self._grace = grace
        self._breakers = Breakers(breaker or BreakerPolicy(), registry, clock)
        self._slots = SlotLimiter(self._limits, self.begin)
        self._finishing = Finishing(registry, clock, clock_ms, self._breakers, self._slots, grace)
        self._runner = Runner(
            registry, clock, self._breakers, self._slots, self._finishing, retry, chance, self._reporter
        )
        self._admission = Admission(registry, clock, clock_ms, self._slots, self._runner, self._finishing, retry)
        self._new, self._begin = self._admission.new, self._admission.begin  # looked up once, for every call
        self._turn = STREAK
        """With which execution others are let go first."""
        self._observers: list[Observer] = []
        self.unknown = 0
        """How many calls named a tool that their caller does not see, or had arguments that are none."""

    async def __aenter__(self) -> Self:
        self._runner.threads = Threads(self._limits.threads)
        self._admission.loop = asyncio.get_running_loop()
        self._slots.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop what runs, wait for its clean-up at most the grace time, and end the rest as cancelled.

        Where there is a store, what waits for people, and late work that may run twice, is left to whoever goes on.
        """
        self._slots.close()
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
                self._finishing.give_up(execution)
            self._finishing.deadlines.close()
            self._breakers.close()

    @property
    def live(self) -> tuple[Execution, ...]:
        """Every execution that has not ended. One that is in its first step comes among them if it waits."""
        return tuple(self._finishing.live.values())

    @property
    def queued(self) -> int:
        """How many executions wait for a place."""
        return self._slots.queued

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Let somebody look on, until what this returns is called."""

        def over() -> None:
            set_to([each for each in self._observers if each is not observer])

        def set_to(observers: list[Observer]) -> None:
            self._observers = observers
            self._admission.observers = self._runner.observers = self._finishing.observers = observers

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
        if call_id is not None and (known := scope.index.by_call(call_id)) is not None:
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
        elif execution.status is _SUCCESS and not scope.durable and self._admission.count < self._turn:
            # It has given a value, there is nothing to wait for, and it is not yet the others' turn.
            return made(
                Outcome, (_SUCCEEDED, execution.id, execution.call_id, execution.name, execution.result_json, None)
            )
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
                    self._finishing.deadlines.watch(execution.budget_at)
                if scope.durable:
                    await scope.begun(execution, again=again)
                if execution.ended is None and not execution.promoted:
                    await self._finishing.released(execution)
            elif execution.tool.mode is _HUMAN and execution.status is _VALIDATING:
                await asyncio.sleep(0)  # the first step of its task asks the person
            outcome = execution.outcome()
            if execution.unloaded and (again or not execution.promoted):
                return await scope.elsewhere(execution)
            if execution.promoted and not again:  # even if it has ended since: its result comes late
                started = OutcomeStatus.STARTED
                outcome = Outcome(started, execution.id, execution.call_id, execution.name, execution.acknowledgement())
            if scope.durable:
                await scope.stored(execution, again=again)
                if execution.lost:
                    return await scope.elsewhere(execution)
        except BaseException:  # it was cancelled, or does not wait for the store any longer
            if not again or execution.ended is None:
                self._finishing.miss(execution)
            raise
        return outcome

    async def _give_way(self) -> None:
        """Let others go first, if it is time for that."""
        if self._admission.count >= self._turn:
            self._turn = self._admission.count + STREAK
            await asyncio.sleep(0)

    async def refuse(
        self, scope: CallScope, name: str, call_id: str | None, error: ToolError, parent: Execution | None = None
    ) -> Outcome:
        """Record a call that cannot be carried out at all: of a tool that the caller does not see."""
        name = storable(name)  # a model may have made it up
        if call_id is not None and (known := scope.index.by_call(call_id)) is not None:
            return known.outcome() if known.tool is NO_TOOL and known.name == name else conflict(known, name)
        execution = self._new(scope, NO_TOOL, name, b"null", call_id)
        execution.parent = parent
        self.unknown += 1
        for observer in self._observers:
            observer.called(execution)
        self._admission.announce(execution)
        self._finishing.fail(execution, error)
        if scope.durable:
            await scope.stored(execution)
            if execution.lost:
                return await scope.elsewhere(execution)
        return execution.outcome()

    async def wait(self, execution: Execution) -> None:
        """Return when it has ended."""
        while execution.ended is None:
            await self._finishing.released(execution)

    async def nested(self, parent: Execution, name: str, arguments: Any) -> Any:
        """A call that a handler makes: it ends no later than its parent, and is cancelled with it."""
        scope: Any = parent.scope
        document = encode(arguments)
        if parent.reported_phase < parent.phase:  # its story begins before that of what it calls
            self._finishing.tell(parent)
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
        outcome = await scope.elsewhere(execution) if execution.unloaded else execution.outcome()
        if outcome.error is not None:
            raise NestedFailure(execution.name, outcome.error)
        return outcome.value

    def cancel(self, execution: Execution) -> bool:
        """Stop an execution. Its handler may clean up for the grace time. False where it had ended already."""
        return self._finishing.cancel(execution)

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
        self._admission.resume(execution)

    def promote(self, execution: Execution) -> None:
        """Let go whoever waits for an inline call, before its budget is used up."""
        if execution.ended is None and execution.tool.mode is _INLINE and execution.parent is None:
            self._finishing.promote(execution)

    def end(self, execution: Execution, reason: ToolError) -> None:
        """End an execution now, whatever its handler does."""
        self._finishing.end(execution, reason)

    def disown(self, execution: Execution) -> None:
        """An execution is not this process's any more: stop it here, and say nothing."""
        self._finishing.disown(execution)

    def release(self, execution: Execution) -> None:
        """Leave an execution to whoever goes on with it, once its person has answered."""
        self._finishing.release(execution)

    def interrupt(self, execution: Execution) -> None:
        """End an execution that a process left behind, and of which nobody knows how far it came."""
        self._admission.take_back(execution)
        self._finishing.fail(execution, interrupted())

    def hides(self, scope: Scope, tool: Tool) -> bool:
        """Whether a tool's breaker is open and its policy says that it is not shown meanwhile."""
        return self._breakers.remember and self._breakers.hides(tool, scope)

    def refusing_breakers(self) -> Mapping[str, int]:
        """How many breakers of each tool refuse calls now: of the tool, of users, sessions or targets."""
        return self._breakers.refusing()

    def forget(self, scope: Scope) -> None:
        """A session has ended: nothing is remembered for it."""
        self._breakers.forget(scope)

    def _reporter(self, execution: Execution) -> AttemptReporter:
        return AttemptReporter(self._finishing, self.nested, execution)


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
