"""Changes of one session that are staged for the writer: events of executions, and changes that a caller waits for."""

import asyncio
from collections.abc import Container, Iterator, Sequence

from ..execution.execution import Execution
from ..execution.failures import not_stored, result_not_stored
from ..execution.lifecycle_events import refused_events
from ..execution.storing import failed_row, row_of
from ..storage import patience
from ..storage.change import Change, ExecutionWrite, RequestWrite
from ..storage.errors import Conflict, StoreError
from ..storage.rows import ExecutionRow, RequestRow


class StagedEvents:
    """Events of executions, with their states, which are written as one change."""

    __slots__ = (
        *("_change", "_rows", "events", "executions", "is_split", "late_results", "new", "used", "waiters"),
        "withdrawn",
    )

    def __init__(self) -> None:
        self.new: set[Execution] = set()
        """Executions that the store does not know yet."""
        self.events: list[tuple[Execution, bytes]] = []
        self.executions: dict[Execution, None] = {}
        self.late_results: list[Execution] = []
        """Executions whose results wait to be taken."""
        self.used: list[RequestRow] = []
        """Requests whose answers are used."""
        self.withdrawn: list[RequestRow] = []
        """Requests that are withdrawn, unless they were answered."""
        self.waiters: list[asyncio.Future[None]] = []
        self.is_split = False
        """Whether it holds one call tree of a batch that the store refused."""
        self._rows: dict[Execution, ExecutionRow] | None = None
        self._change: Change | None = None
        """The change that the writer has taken."""

    @property
    def frozen(self) -> bool:
        """Whether nothing more can be added."""
        return self._rows is not None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.executions or self.late_results or self.events or self.used or self.withdrawn)

    def freeze(self, owner: str) -> dict[Execution, ExecutionRow]:
        """Fix the states to write: those that the last of the events describe."""
        if self._rows is None:
            self._rows = {each: row_of(each, owner) for each in self.executions}
        return self._rows

    def mark_settled(self, owner: str) -> None:
        """Mark as settled the executions whose ends are written by this."""
        rows = self.freeze(owner)
        for execution in self.executions:
            if not execution.settled and rows[execution].completed_at is not None:
                execution.mark_settled()
                execution.scope.index.count_bytes(execution)

    def to_change(self, session_id: str, owner: str) -> Change:
        """Return the change that writes all of it."""
        rows = self.freeze(owner)
        self._change = Change(
            session_id,
            executions=[ExecutionWrite(rows[each], owner, new=each in self.new) for each in self.executions],
            requests=self._requests(),
            late=[each.id for each in self.late_results],
            events=[line for _, line in self.events],
        )
        return self._change

    def cancelled(self) -> Sequence[Execution]:
        """Return the executions that were cancelled before this was written, by another process."""
        if self._change is None or not self._change.cancelled:
            return ()
        return [each for each in self.executions if each.id in self._change.cancelled]

    def to_failure(self, session_id: str, owner: str) -> Change:
        """Return the change that stores its only execution as failed, without the data that the store refused."""
        (execution,) = self.executions
        refused = self.freeze(owner)[execution]
        error = not_stored() if refused.value is None else result_not_stored()
        row = failed_row(refused, execution, error)
        lines = (line for _, line in self.events)
        return Change(
            session_id,
            executions=[ExecutionWrite(row, owner, new=execution in self.new)],
            requests=self._requests(),
            late=[each.id for each in self.late_results],
            events=refused_events(lines, execution, row.completed_at or row.queued_at, error),
        )

    def _requests(self) -> list[RequestWrite]:
        return [
            *(RequestWrite(each, "answered") for each in self.used),
            *(RequestWrite(each, "open") for each in self.withdrawn),
        ]

    def split(self, *, by_tree: bool) -> "list[StagedEvents]":
        """Return one part per call tree, since a tree belongs to one process as a whole, or one per execution."""
        members: dict[Execution, dict[str, None]] = {}
        for execution in (*self.executions, *self.late_results):
            first = _root(execution, self.executions) if by_tree else execution
            members.setdefault(first, {})[execution.id] = None
        parts = [self._part(ids) for ids in members.values()]
        if parts:
            parts[-1].waiters = self.waiters
        return parts

    def remove(self, gone: Container[Execution]) -> None:
        """Remove executions, and the calls that they made."""
        found = (*self.executions, *self.late_results)
        if any(_is_within(each, gone) for each in found):
            self._keep({each.id for each in found if not _is_within(each, gone)})

    def move(self, execution: Execution, target: "StagedEvents") -> None:
        """Remove an execution, without the calls that it made. The target gets its late result and its requests."""
        found = (*self.executions, *self.late_results)
        if execution in found:
            moved = self._part({execution.id})
            target.late_results += moved.late_results
            target.used += moved.used
            target.withdrawn += moved.withdrawn
            self._keep({each.id for each in found if each is not execution})

    def _keep(self, ids: Container[str]) -> None:
        kept = self._part(ids)
        self.executions, self.new, self.events = kept.executions, kept.new, kept.events
        self.late_results, self.used, self.withdrawn = kept.late_results, kept.used, kept.withdrawn

    def begins(self, execution: Execution) -> bool:
        """Return whether this stores an execution for the first time."""
        return execution in self.new

    def _part(self, ids: Container[str]) -> "StagedEvents":
        part = StagedEvents()
        part.is_split = True
        part.executions = {each: None for each in self.executions if each.id in ids}
        part.new = {each for each in self.new if each.id in ids}
        part.events = [(each, line) for each, line in self.events if each.id in ids]
        part.late_results = [each for each in self.late_results if each.id in ids]
        part.used = [each for each in self.used if each.execution_id in ids]
        part.withdrawn = [each for each in self.withdrawn if each.execution_id in ids]
        part._rows = self._rows
        return part


class StagedChange:
    """A change that a caller waits for."""

    __slots__ = ("caller", "change", "expiry", "future", "is_lasting", "is_withdrawn", "waiters")

    def __init__(self, change: Change, future: "asyncio.Future[int]", *, is_lasting: bool) -> None:
        self.change = change
        self.future = future
        self.is_lasting = is_lasting
        """Whether the future ends only when the outcome is known."""
        self.waiters: list[asyncio.Future[None]] = []
        self.caller: patience.Patience | None = None
        self.expiry: asyncio.TimerHandle | None = None
        """Ends the wait of a caller with limited patience."""
        self.is_withdrawn = False
        """Whether its caller got the error that it is not written, or may not be."""

    def begins(self, execution: Execution) -> bool:
        """Return whether this stores an execution for the first time."""
        return any(write.new and write.row.id == execution.id for write in self.change.executions)

    def end(self, result: int | Conflict | StoreError) -> None:
        """Give the caller the result, unless its wait has ended before."""
        if self.expiry is not None and self.caller is not None:
            self.caller.left = min(self.caller.left, max(0.0, self.expiry.when() - self.future.get_loop().time()))
            self.expiry.cancel()
        if self.future.done():
            return
        if isinstance(result, int):
            self.future.set_result(result)
        else:
            self.future.set_exception(result)


class StagedFailure(StagedChange):
    """The failure of an execution whose data the store refused. No caller waits for this change itself."""

    __slots__ = ("_execution",)

    def __init__(self, change: Change, execution: Execution) -> None:
        super().__init__(change, asyncio.get_running_loop().create_future(), is_lasting=True)
        self._execution = execution

    def end(self, result: int | Conflict | StoreError) -> None:
        """Note that the end of the execution is stored, if it is."""
        if isinstance(result, int):
            self._execution.mark_settled()
            self._execution.scope.index.count_bytes(self._execution)


def descendants(execution: Execution) -> Iterator[Execution]:
    """Yield all calls below an execution, the deepest first, and the execution itself."""
    for child in execution.children or ():
        yield from descendants(child)
    yield execution


def _root(execution: Execution, known: Container[Execution]) -> Execution:
    """Return the outermost caller of an execution among those known."""
    while execution.parent is not None and execution.parent in known:
        execution = execution.parent
    return execution


def _is_within(execution: Execution, gone: Container[Execution]) -> bool:
    """Return whether an execution is one of these, or was called by one."""
    return execution in gone or (execution.parent is not None and _is_within(execution.parent, gone))
