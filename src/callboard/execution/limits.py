"""Who may run now, and who waits: limits in total, per session and per tool, and the queue before them.

The queue is ordered by priority, and among sessions of one priority it is fair: each gets one place in turn, however
many calls it has waiting. It is bounded, and when it is full the caller is told so.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..errors import ErrorCategory, ToolError
from .execution import Execution, Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may go on at once."""

    total: int = 4_096
    per_session: int = 256
    queue: int = 10_000
    threads: int = 32
    """For handlers that are not async."""


class Gatekeeper:
    """Gives places to executions. `start` is called for one that got its place after waiting."""

    def __init__(self, limits: Limits, start: Callable[[Execution], None]) -> None:
        self._total = limits.total
        self._per_session = limits.per_session
        self._limit = limits.queue
        self._start = start
        self._running = 0
        self._by_tool: dict[str, int] = {}
        self._queued = 0
        self._lanes: dict[Priority, dict[str, deque[Execution]]] = {priority: {} for priority in Priority}

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
        if execution.tool.concurrency is None and execution.parent is None and not self._queued:  # nearly every call
            if self._running < self._total and execution.scope.running < self._per_session:
                self._running += 1
                execution.scope.running += 1
                return True
        elif (not self._queued or execution.parent is not None) and self._has_place(execution):
            self._take(execution)
            return True
        _refuse_deadlock(execution)
        if self._queued >= self._limit:
            raise ToolError(
                f"The system is busy: {self._queued:,} calls are waiting already. Nothing was done; try again later.",
                category=ErrorCategory.RESOURCE,
                retryable=True,
            )
        lane = self._lanes[execution.priority]
        lane.setdefault(execution.scope.id, deque()).append(execution)
        self._queued += 1
        return False

    def leave(self, execution: Execution) -> None:
        """Give a place back, and let in who can use it."""
        if execution.parent is None:
            self._running -= 1
            execution.scope.running -= 1
        if execution.tool.concurrency is not None:
            self._by_tool[execution.tool.name] -= 1
        if self._queued:
            self._admit()

    def withdraw(self, execution: Execution) -> bool:
        """Take one out of the queue; False where it was not in it."""
        lane = self._lanes[execution.priority]
        waiting = lane.get(execution.scope.id)
        if waiting is None or execution not in waiting:
            return False
        waiting.remove(execution)
        if not waiting:
            del lane[execution.scope.id]
        self._queued -= 1
        return True

    def _has_place(self, execution: Execution) -> bool:
        limit = execution.tool.concurrency
        if limit is not None and self._by_tool.get(execution.tool.name, 0) >= limit:
            return False
        if execution.parent is not None:
            return True
        return self._running < self._total and execution.scope.running < self._per_session

    def _take(self, execution: Execution) -> None:
        if execution.parent is None:
            self._running += 1
            execution.scope.running += 1
        if execution.tool.concurrency is not None:
            self._by_tool[execution.tool.name] = self._by_tool.get(execution.tool.name, 0) + 1

    def _admit(self) -> None:
        while (execution := next(self._candidates(), None)) is not None:
            self.withdraw(execution)
            self._take(execution)
            lane = self._lanes[execution.priority]
            if (waiting := lane.pop(execution.scope.id, None)) is not None:
                lane[execution.scope.id] = waiting  # to the end of the line: the other sessions come first now
            self._start(execution)

    def _candidates(self) -> Iterator[Execution]:
        """Those that could start now, the one whose turn it is first."""
        for priority in Priority:
            for waiting in self._lanes[priority].values():
                for execution in waiting:
                    if self._has_place(execution):
                        yield execution


def _refuse_deadlock(execution: Execution) -> None:
    """A tool that waits for a place that its own caller holds would wait for ever."""
    ancestor = execution.parent
    while ancestor is not None:
        if ancestor.tool.name == execution.tool.name:
            raise ToolError(
                f"The tool {execution.tool.name} calls itself and has no free place left.",
                category=ErrorCategory.RESOURCE,
            )
        ancestor = ancestor.parent
