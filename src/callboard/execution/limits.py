"""Limits on running calls in total, per user, per session and per tool, and the queue of calls that wait for a slot.

The queue is ordered by priority, then fair between users, then between the sessions of a user: each gets one slot in
turn, however many calls it has queued. It is bounded, and a call that does not fit is refused with an error. A user
may queue as many calls as there is room left, so that any number of users leaves room for the next. A new call that can
run does not overtake queued ones, since those cannot run at the moment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple, TypeAlias

from ..checks import Check
from ..errors import CallboardError, ErrorCategory, ToolError
from ..tools.definition import Tool
from .execution import Execution, Scope
from .lifecycle import Status
from .queue import FairQueue, Queued


class LimitsError(CallboardError, ValueError):
    """A limit has an invalid value."""

    code = "limits"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on the executions and threads that run at once in this process."""

    total: int = 4_096
    """Executions that run at once."""
    per_session: int = 256
    """Executions of one session that run at once."""
    per_user: int = 1_024
    """Executions of all sessions of one user that run at once."""
    queue: int = 10_000
    """Executions that may wait for a slot; 0 disables the queue. One user has at most half of them."""
    threads: int = 32
    """Threads for handlers that are not async."""

    def __post_init__(self) -> None:
        for each in fields(self):
            name, least = each.name, 0 if each.name == "queue" else 1
            Check(LimitsError).count(f"The limit {name}", getattr(self, name), least=least)


ToolKey: TypeAlias = tuple[str, str | None]
"""A tool's name, and the session's id for a tool that only one session has."""


def tool_key(tool: Tool, scope: Scope) -> ToolKey:
    """Return the key by which calls of a tool are counted together."""
    return tool.name, scope.id if scope.own_tool(tool.name) is tool else None


class _ToolQueue(NamedTuple):
    """One of the two queues of a tool with a limit of its own: nested calls, and all others."""

    tool: ToolKey
    nested: bool


_QueueKey = _ToolQueue | None
"""None is the queue of all tools without a limit."""


def _queue_of(execution: Execution) -> _QueueKey:
    if execution.tool.concurrency is None:
        return None
    return _ToolQueue(tool_key(execution.tool, execution.scope), execution.parent is not None)


class SlotLimiter:
    """Gives slots to executions, and calls `start` for a queued one that got its slot."""

    def __init__(self, limits: Limits, start: Callable[[Execution], None]) -> None:
        self._limits = limits
        self._total = 0
        self._per_session = limits.per_session
        self._per_user = limits.per_user
        self._limit = limits.queue
        self._start = start
        self.running = 0
        """The number of executions that hold a slot."""
        self._holders: dict[ToolKey, dict[str, Execution]] = {}
        """The executions that hold slots of tools with limits of their own."""
        self._held: dict[str, ToolKey] = {}
        """The tool whose slot an execution holds, even if the tool is replaced meanwhile."""
        self.queued = 0
        """The number of queued executions."""
        self._arrivals = self._slots_given = 0
        """The number of calls that were queued so far, and of those that got a slot."""
        self._queues: dict[_QueueKey, FairQueue] = {}
        """The queues that are not empty."""
        self._queue_keys: dict[str, _QueueKey] = {}
        """The queue of each queued execution."""
        self._admitting = False
        self._closed = True

    def open(self) -> None:
        """Start to give slots."""
        self._closed, self._total = False, self._limits.total

    def close(self) -> None:
        """Stop giving slots; calls are refused from now on."""
        self._closed, self._total = True, 0

    def acquire(self, execution: Execution) -> bool:
        """Take a slot (True) or queue the execution (False). Raises `ToolError` (resource) if the queue is full.

        A nested call runs on its parent's slot, so that parents cannot starve their own nested calls.
        """
        if execution.tool.concurrency is None and execution.parent is None and not self.queued:  # nearly every call
            scope = execution.scope
            user = scope.user
            if self.running < self._total and scope.running < self._per_session and user.running < self._per_user:
                self.running += 1
                scope.running += 1
                user.running += 1
                execution.take_slot()
                return True
        elif (not self._admitting or execution.parent is not None) and self.has_slot_for(execution):
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
        self._refuse_if_full(execution)
        self.enqueue(execution)
        return False

    def acquire_again(self, execution: Execution) -> bool:
        """Take a slot for a call that released its own (True), or queue it even if the queue is full (False).

        A nested call never waits: calls that wait for each other would deadlock.
        """
        if execution.parent is not None or self.has_slot_for(execution):
            self.take(execution)
            return True
        self.enqueue(execution)
        return False

    def enqueue(self, execution: Execution) -> None:
        """Queue an execution even if the queue is full, as for one that another process had queued."""
        self._arrivals += 1
        key = _queue_of(execution)
        if (queue := self._queues.get(key)) is None:
            nested = key is not None and key.nested
            queue = self._queues[key] = FairQueue() if nested else FairQueue(self._per_user, self._per_session)
        queue.add(self._arrivals, execution)
        self._queue_keys[execution.id] = key
        self.queued += 1
        execution.scope.user.queued += 1

    def release(self, execution: Execution) -> None:
        """Free a slot, and start the queued calls that can use it."""
        execution.release_slot()
        if execution.parent is None:
            scope = execution.scope
            self.running -= 1
            scope.running -= 1
            scope.user.running -= 1
        if execution.tool.concurrency is not None:
            self._release_tool_slot(execution)
        if self.queued:
            for queue in self._queues.values():
                queue.restore(execution.scope)
            self._start_queued()

    def withdraw(self, execution: Execution) -> None:
        """Remove an execution from the queue, if it is queued."""
        if execution.id in self._queue_keys:
            self._queues[self._queue_keys[execution.id]].remove(execution)
            self._count_dequeued(execution)

    def _count_dequeued(self, execution: Execution) -> None:
        key = self._queue_keys.pop(execution.id)
        if not self._queues[key]:
            del self._queues[key]
        self.queued -= 1
        execution.scope.user.queued -= 1

    def _refuse_if_full(self, execution: Execution) -> None:
        left, waiting = self._limit - self.queued, execution.scope.user.queued
        if left <= 0:
            message = f"The system is busy: {self.queued:,} calls are queued."
        elif waiting >= left:
            message = f"The system is busy: {waiting:,} calls of this user are queued, which is the user's share."
        else:
            return
        message = f"{message} Nothing was done; try again later."
        raise ToolError(message, category=ErrorCategory.RESOURCE, retryable=True)

    def has_slot_for(self, execution: Execution) -> bool:
        """Return whether there is a free slot for an execution."""
        if not self._tool_has_slot(execution):
            return False
        if execution.parent is not None:
            return True
        scope = execution.scope
        return self.running < self._total and scope.running < self._per_session and scope.user.running < self._per_user

    def _tool_has_slot(self, execution: Execution) -> bool:
        limit = execution.tool.concurrency
        return limit is None or len(self._holders.get(tool_key(execution.tool, execution.scope), ())) < limit

    def take(self, execution: Execution) -> None:
        """Take a slot even if none is free, as for an execution that had one before."""
        execution.take_slot()
        if execution.parent is None:
            self.running += 1
            execution.scope.running += 1
            execution.scope.user.running += 1
        if execution.tool.concurrency is not None:
            key = self._held[execution.id] = tool_key(execution.tool, execution.scope)
            self._holders.setdefault(key, {})[execution.id] = execution

    def _release_tool_slot(self, execution: Execution) -> None:
        holders = self._holders[key := self._held.pop(execution.id)]
        del holders[execution.id]
        if not holders:
            del self._holders[key]

    def _start_queued(self) -> None:
        if self._admitting:  # a queued call ended within its start; the loop below continues
            return
        self._admitting = True
        try:
            while (execution := self._next()) is not None:
                self._queues[self._queue_keys[execution.id]].take(execution)
                self._count_dequeued(execution)
                self._slots_given += 1
                execution.scope.user.served = self._slots_given
                self.take(execution)
                self._start(execution)
        finally:
            self._admitting = False

    def _next(self) -> Execution | None:
        """Return the queued call whose turn it is, of those that can start now."""
        best: tuple[int, int, int] | None = None
        chosen: Queued | None = None
        full = self.running >= self._total
        for key, queue in self._queues.items():
            if full and not (key is not None and key.nested):
                continue
            if (queued := queue.first()) is None or not self._tool_has_slot(queued.execution):
                continue
            execution = queued.execution
            rank = (execution.priority, execution.scope.user.served, queued.number)
            if best is None or rank < best:
                best, chosen = rank, queued
        return None if chosen is None else chosen.execution

    def _refuse_deadlock(self, execution: Execution) -> None:
        """Raise if queueing this nested call would deadlock."""
        callers: set[str] = set()
        ancestor = execution.parent
        while ancestor is not None:
            callers.add(ancestor.id)
            ancestor = ancestor.parent
        if self._never_free(tool_key(execution.tool, execution.scope), callers, set()):
            raise ToolError(
                f"The tool {execution.tool.name} has no free slot, and the calls that hold its slots wait for it.",
                category=ErrorCategory.RESOURCE,
            )

    def _never_free(self, key: ToolKey, callers: set[str], seen: set[ToolKey]) -> bool:
        """Return whether every slot of a tool is held by a caller, or by an execution that waits for such a slot."""
        if key in seen:
            return True
        seen.add(key)
        return all(
            holder.id in callers
            or any(self._never_free(tool_key(each.tool, each.scope), callers, seen) for each in _queued_below(holder))
            for holder in self._holders.get(key, {}).values()
        )


def _queued_below(execution: Execution) -> Iterator[Execution]:
    """Yield the nested calls of an execution, at any depth, that are queued."""
    for child in execution.children or ():
        if child.status is Status.PENDING and not child.has_slot:
            yield child
        yield from _queued_below(child)
