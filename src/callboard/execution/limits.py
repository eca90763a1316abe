"""Which calls run now and which wait: limits in total, per user, per session and per tool, and the queue before them.

The queue is ordered by priority, then fair between users, then between the sessions of a user: each gets one place in
turn, however many calls it has waiting. It is bounded, and a call that does not fit is refused with an error. A user
may have as many calls waiting as there is room left in the queue, so that any number of users leaves room for the next.
A call that waits cannot run at the moment, so a new call that can run overtakes none.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple, TypeAlias

from ..errors import CallboardError, ErrorCategory, ToolError
from ..tools.definition import Tool
from .execution import Execution, Scope
from .queue import FairQueue, Queued


class LimitsError(CallboardError, ValueError):
    """A limit has a value that makes no sense."""

    code = "limits"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may go on at once."""

    total: int = 4_096
    """Executions that run at once, in this process."""
    per_session: int = 256
    """Executions of one session that run at once."""
    per_user: int = 1_024
    """Executions of all sessions of one user that run at once."""
    queue: int = 10_000
    """Executions that may wait for a place; with 0 none does. One user has at most half of them."""
    threads: int = 32
    """For handlers that are not async."""

    def __post_init__(self) -> None:
        for each in fields(self):
            least = 0 if each.name == "queue" else 1
            if (value := getattr(self, each.name)) < least:
                raise LimitsError(f"the limit {each.name} is {value}; {least} is the least")


ToolKey: TypeAlias = tuple[str, str | None]
"""A tool's name, and the session's id for a tool that only one session has."""


def tool_key(tool: Tool, scope: Scope) -> ToolKey:
    """Return the key by which calls of a tool are counted together."""
    return tool.name, scope.id if scope.lent(tool.name) is tool else None


class _ToolQueue(NamedTuple):
    """The queue of a tool with a limit of its own: of calls that handlers make, or of all others."""

    tool: ToolKey
    nested: bool


_QueueKey = _ToolQueue | None
"""None: the queue of all tools without a limit."""
_NOWHERE = _ToolQueue(("", None), nested=False)


def _queue_of(execution: Execution) -> _QueueKey:
    if execution.tool.concurrency is None:
        return None
    return _ToolQueue(tool_key(execution.tool, execution.scope), execution.parent is not None)


class SlotLimiter:
    """Gives places to executions. `start` is called for one that got its place after waiting."""

    def __init__(self, limits: Limits, start: Callable[[Execution], None]) -> None:
        self._limits = limits
        self._total = 0
        self._per_session = limits.per_session
        self._per_user = limits.per_user
        self._limit = limits.queue
        self._start = start
        self._running = 0
        self._holders: dict[ToolKey, dict[str, Execution]] = {}
        """Who has a place of a tool with a limit of its own."""
        self._held: dict[str, ToolKey] = {}
        """Which of those places an execution has, whatever becomes of its tool meanwhile."""
        self._queued = 0
        self._arrivals = self._slots_given = 0
        """How many calls had to wait so far, and how many of them got a place."""
        self._queues: dict[_QueueKey, FairQueue] = {}
        """Those in which calls wait: one for all tools without a limit, and two for each tool that has one."""
        self._waits_in: dict[str, _QueueKey] = {}
        """In which queue an execution waits."""
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
        if execution.tool.concurrency is None and execution.parent is None and not self._queued:  # nearly every call
            scope = execution.scope
            user = scope.user
            if self._running < self._total and scope.running < self._per_session and user.running < self._per_user:
                self._running += 1
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
        self.wait(execution)
        return False

    def wait(self, execution: Execution) -> None:
        """Put an execution into the queue, also if that is full: one that waited before in another process."""
        self._arrivals += 1
        key = _queue_of(execution)
        if (queue := self._queues.get(key)) is None:
            nested = key is not None and key.nested
            queue = self._queues[key] = FairQueue() if nested else FairQueue(self._per_user, self._per_session)
        queue.add(self._arrivals, execution)
        self._waits_in[execution.id] = key
        self._queued += 1
        execution.scope.user.queued += 1

    def leave(self, execution: Execution) -> None:
        """Give a place back, and let in the calls that can use it."""
        execution.release_slot()
        if execution.parent is None:
            scope = execution.scope
            self._running -= 1
            scope.running -= 1
            scope.user.running -= 1
        if execution.tool.concurrency is not None:
            self._give_back(execution)
        if self._queued:
            for queue in self._queues.values():
                queue.freed(execution.scope)
            self._admit()

    def withdraw(self, execution: Execution) -> bool:
        """Take one out of the queue; False where it was not in it."""
        if (key := self._waits_in.pop(execution.id, _NOWHERE)) is _NOWHERE:
            return False
        self._queues[key].remove(execution)
        self._left(key, execution)
        return True

    def _left(self, key: "_QueueKey", execution: Execution) -> None:
        """Count a call that waits no more."""
        if not self._queues[key]:
            del self._queues[key]
        self._queued -= 1
        execution.scope.user.queued -= 1

    def _refuse_if_full(self, execution: Execution) -> None:
        left, waiting = self._limit - self._queued, execution.scope.user.queued
        if left <= 0:
            said = f"The system is busy: {self._queued:,} calls are waiting already."
        elif waiting >= left:
            said = f"The system is busy: {waiting:,} calls of this user are waiting already, which is its share."
        else:
            return
        raise ToolError(f"{said} Nothing was done; try again later.", category=ErrorCategory.RESOURCE, retryable=True)

    def has_slot_for(self, execution: Execution) -> bool:
        """Whether there is a free place for an execution."""
        if not self._tool_has_slot(execution):
            return False
        if execution.parent is not None:
            return True
        scope = execution.scope
        return self._running < self._total and scope.running < self._per_session and scope.user.running < self._per_user

    def _tool_has_slot(self, execution: Execution) -> bool:
        limit = execution.tool.concurrency
        return limit is None or len(self._holders.get(tool_key(execution.tool, execution.scope), ())) < limit

    def take(self, execution: Execution) -> None:
        """Take a place for one that had one before, even if none is free."""
        execution.take_slot()
        if execution.parent is None:
            self._running += 1
            execution.scope.running += 1
            execution.scope.user.running += 1
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
            while (execution := self._next()) is not None:
                key = self._waits_in.pop(execution.id)
                self._queues[key].take(execution)
                self._left(key, execution)
                self._slots_given += 1
                execution.scope.user.served = self._slots_given
                self.take(execution)
                self._start(execution)
        finally:
            self._admitting = False

    def _next(self) -> Execution | None:
        """The call that starts next: of those that can start now, the one whose turn it is."""
        best: tuple[int, int, int] | None = None
        chosen: Queued | None = None
        full = self._running >= self._total
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
        if child.ended is None and not child.has_slot and child.task is None:
            yield child
        yield from _waiting(child)
