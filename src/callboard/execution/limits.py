"""Who may run now, and who waits: limits in total, per session and per tool, and the queue before them.

The queue is ordered by priority, and among sessions of one priority it is fair: each gets one place in turn, however
many calls it has waiting. It is bounded, and when it is full the caller is told so. Whoever is in it has no place to
run at the moment, so a newcomer that has one overtakes nobody.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

from ..errors import CallboardError, ErrorCategory, ToolError
from .execution import Execution, Priority, ToolKey, tool_key


class LimitsError(CallboardError, ValueError):
    """A limit has a value that makes no sense."""

    code = "limits"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may go on at once."""

    total: int = 4_096
    per_session: int = 256
    queue: int = 10_000
    """How many may wait; with 0 nobody does."""
    threads: int = 32
    """For handlers that are not async."""

    def __post_init__(self) -> None:
        for each in fields(self):
            least = 0 if each.name == "queue" else 1
            if (value := getattr(self, each.name)) < least:
                raise LimitsError(f"the limit {each.name} is {value}; {least} is the least")


class Lane:
    """Those of one session and one priority that wait, each kind in the order of its calls.

    A kind is a tool, called by a handler or not: if the first of a kind has no place, none of that kind has.
    """

    __slots__ = ("_count", "_kinds")

    def __init__(self) -> None:
        self._count = 0
        self._kinds: dict[tuple[str, bool], dict[str, tuple[int, Execution]]] = {}

    def add(self, execution: Execution) -> None:
        self._count += 1
        self._kinds.setdefault(_kind(execution), {})[execution.id] = (self._count, execution)

    def remove(self, execution: Execution) -> bool:
        """False where it was not in it."""
        waiting = self._kinds.get(_kind(execution))
        if waiting is None or waiting.pop(execution.id, None) is None:
            return False
        if not waiting:
            del self._kinds[_kind(execution)]
        return True

    def heads(self) -> Iterator[Execution]:
        """The first of each kind, the one that waits longest first."""
        return (execution for _, execution in sorted(next(iter(kind.values())) for kind in self._kinds.values()))

    def __bool__(self) -> bool:
        return bool(self._kinds)


def _kind(execution: Execution) -> tuple[str, bool]:
    return execution.tool.name, execution.parent is None


class Gatekeeper:
    """Gives places to executions. `start` is called for one that got its place after waiting."""

    def __init__(self, limits: Limits, start: Callable[[Execution], None]) -> None:
        self._limits = limits
        self._total = 0
        self._per_session = limits.per_session
        self._limit = limits.queue
        self._start = start
        self._running = 0
        self._holders: dict[ToolKey, dict[str, Execution]] = {}
        """Who has a place of a tool with a limit of its own."""
        self._held: dict[str, ToolKey] = {}
        """Which of those places an execution has, whatever becomes of its tool meanwhile."""
        self._queued = 0
        self._nested = 0
        """How many of those who wait were called by a handler, and need no place in total."""
        self._lanes: dict[Priority, dict[str, Lane]] = {priority: {} for priority in Priority}
        self._admitting = False
        self._closed = True

    def open(self) -> None:
        """Begin to give places."""
        self._closed, self._total = False, self._limits.total

    def close(self) -> None:
        """Give no more places: whoever asks is told that it has ended."""
        self._closed, self._total = True, 0

    @property
    def queued(self) -> int:
        """How many wait."""
        return self._queued

    @property
    def running(self) -> int:
        """How many have a place."""
        return self._running

    def enter(self, execution: Execution) -> bool:
        """Take a place at once (True), or wait for one (False). Raises `ToolError` (resource) when the queue is full.

        A call that a handler makes runs on its parent's place, so that parents cannot starve their own children.
        """
        if execution.tool.concurrency is None and execution.seldom is None and not self._queued:  # nearly every call
            scope = execution.scope
            if self._running < self._total and scope.running < self._per_session:
                self._running += 1
                scope.running += 1
                execution.placed = True
                return True
        elif (not self._admitting or execution.parent is not None) and self._has_place(execution):
            self.take(execution)
            return True
        if self._closed:
            raise ToolError(
                "The system is not running. Nothing was done.",
                category=ErrorCategory.RESOURCE,
                report="a call outside of `async with Runtime(…)`",
            )
        if execution.parent is not None:
            self._refuse_deadlock(execution)
        if self._queued >= self._limit:
            raise ToolError(
                f"The system is busy: {self._queued:,} calls are waiting already. Nothing was done; try again later.",
                category=ErrorCategory.RESOURCE,
                retryable=True,
            )
        lanes = self._lanes[execution.priority]
        if (lane := lanes.get(execution.scope.id)) is None:
            lane = lanes[execution.scope.id] = Lane()
        lane.add(execution)
        self._queued += 1
        self._nested += execution.parent is not None
        return False

    def leave(self, execution: Execution) -> None:
        """Give a place back, and let in who can use it."""
        execution.placed = False
        if execution.seldom is None or execution.parent is None:
            self._running -= 1
            execution.scope.running -= 1
        if execution.tool.concurrency is not None:
            self._give_back(execution)
        if self._queued:
            self._admit()

    def withdraw(self, execution: Execution) -> bool:
        """Take one out of the queue; False where it was not in it."""
        lane = self._lanes[execution.priority].get(execution.scope.id)
        if lane is None or not lane.remove(execution):
            return False
        if not lane:
            del self._lanes[execution.priority][execution.scope.id]
        self._queued -= 1
        self._nested -= execution.parent is not None
        return True

    def _has_place(self, execution: Execution) -> bool:
        limit = execution.tool.concurrency
        if limit is not None and len(self._holders.get(tool_key(execution.tool, execution.scope), ())) >= limit:
            return False
        if execution.parent is not None:
            return True
        return self._running < self._total and execution.scope.running < self._per_session

    def take(self, execution: Execution) -> None:
        """Take a place for one that had one before, even if none is free."""
        execution.placed = True
        if execution.parent is None:
            self._running += 1
            execution.scope.running += 1
        if execution.tool.concurrency is not None:
            key = self._held[execution.id] = tool_key(execution.tool, execution.scope)
            self._holders.setdefault(key, {})[execution.id] = execution

    def _give_back(self, execution: Execution) -> None:
        holders = self._holders[key := self._held.pop(execution.id)]
        del holders[execution.id]
        if not holders:
            del self._holders[key]

    def _admit(self) -> None:
        if self._admitting:  # one that was let in has ended within its start; the loop below goes on
            return
        self._admitting = True
        try:
            while (execution := next(self._candidates(), None)) is not None:
                self.withdraw(execution)
                self.take(execution)
                lanes = self._lanes[execution.priority]
                if (lane := lanes.pop(execution.scope.id, None)) is not None:
                    lanes[execution.scope.id] = lane  # to the end of the line: the other sessions come first now
                self._start(execution)
        finally:
            self._admitting = False

    def _candidates(self) -> Iterator[Execution]:
        """Those that could start now, the one whose turn it is first."""
        if self._running >= self._total and not self._nested:
            return
        for priority in Priority:
            for lane in self._lanes[priority].values():
                for execution in lane.heads():
                    if self._has_place(execution):
                        yield execution

    def _refuse_deadlock(self, execution: Execution) -> None:
        """Refuse a call that would wait for ever: for a place of those who wait, one for the other, for its own end."""
        callers: set[str] = set()
        ancestor = execution.parent
        while ancestor is not None:
            callers.add(ancestor.id)
            ancestor = ancestor.parent
        if self._never_free(tool_key(execution.tool, execution.scope), callers, set()):
            raise ToolError(
                f"The tool {execution.tool.name} has no free place, and those who have one wait for this very call.",
                category=ErrorCategory.RESOURCE,
            )

    def _never_free(self, key: ToolKey, callers: set[str], seen: set[ToolKey]) -> bool:
        """Whether each place of a tool is held by one of these, or by one who waits for such a place."""
        if key in seen:
            return True
        seen.add(key)
        return all(
            holder.id in callers
            or any(self._never_free(tool_key(each.tool, each.scope), callers, seen) for each in _waiting(holder))
            for holder in self._holders.get(key, {}).values()
        )


def _waiting(execution: Execution) -> Iterator[Execution]:
    """The calls below an execution that wait for a place."""
    for child in execution.children or ():
        if child.ended is None and not child.placed and child.task is None:
            yield child
        yield from _waiting(child)
