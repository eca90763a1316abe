"""The calls of one session: their state, in whichever process they run.

Calls are started by the execution manager, and stopped by `Cancellation`. Those of this process are in the session's
index, all others in the store.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import aclosing, suppress
from typing import Protocol

from ..clock import Clock, within
from ..errors import ErrorCategory, ToolError
from ..events.board import Board, CursorExpired
from ..events.kinds import EventKind
from ..execution.admission import CallScope
from ..execution.execution import Execution
from ..execution.failures import CallIdConflict
from ..execution.index import ExecutionIndex
from ..execution.lifecycle import Status
from ..execution.manager import ExecutionManager
from ..execution.outcome import Outcome, OutcomeStatus, acknowledgement
from ..execution.record import BriefRecord, ExecutionRecord
from ..execution.storing import fingerprint_of, live_record, outcome_of, record_of, row_of
from ..shortening import shorten
from ..storage.brief import brief
from ..storage.change import Change
from ..storage.errors import Conflict
from ..storage.rows import ExecutionRow
from ..storage.store import Store
from ..tools.definition import Tool
from .ledger import Ledger
from .model_view import render_text
from .nested_calls import goes_on, read_for
from .results import LateResults


class StoreSync(Protocol):
    """Keeps this process in step with others that share its store."""

    async def catch_up(self, session_id: str, board: Board) -> None:
        """Add to a board the events that other processes wrote."""
        ...

    def poll_orphans(self) -> None:
        """Look soon for executions that no process holds."""
        ...


class SessionPort(CallScope, Protocol):
    """A live session as requests and workers see it, so that neither imports it."""

    @property
    def board(self) -> Board: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def calls(self) -> "Calls": ...


class Calls:
    """Calls that the index of a session holds, and stored calls of other processes and earlier times."""

    __slots__ = (
        *("_board", "_clock", "_find", "_index", "_ledger", "_manager", "_on_workers", "_results", "_session_id"),
        *("_store", "_sync"),
    )

    def __init__(
        self,
        session_id: str,
        manager: ExecutionManager,
        store: Store,
        clock: Clock,
        sync: StoreSync,
        board: Board,
        index: ExecutionIndex,
        ledger: Ledger,
        results: LateResults,
        find: Callable[[ExecutionRow], Tool | None],
    ) -> None:
        self._session_id = session_id
        self._manager = manager
        self._find = find
        """Returns the tool of a stored execution."""
        self._store = store
        self._clock = clock
        self._sync = sync
        self._board = board
        self._index = index
        self._ledger = ledger
        self._results = results
        self._on_workers: dict[str, asyncio.Task[Outcome]] = {}  # waits for inline calls, by the caller's id

    # State

    @property
    def unfinished(self) -> list[Execution]:
        """Executions of this process that have not ended."""
        return [execution for execution in self._index.entries if not execution.terminal]

    def execution(self, execution_id: str) -> Execution:
        """Return an execution that is in memory. Raises `ToolError` (not_found)."""
        execution = self._index.by_id.get(execution_id)
        if execution is None or execution.unloaded:
            raise _no_execution(execution_id)
        return execution

    def record(self, execution_id: str) -> ExecutionRecord:
        """Return the record of an execution that is in memory. Raises `ToolError` (not_found)."""
        return live_record(self.execution(execution_id), self._clock.monotonic())

    def records(self, executions: Iterable[Execution] | None = None) -> list[ExecutionRecord]:
        """Return the records of executions that are in memory: of these, or of all."""
        now = self._clock.monotonic()
        found = self._index.entries if executions is None else executions
        return [live_record(each, now) for each in found if not each.unloaded]

    def result_text(self, execution_id: str, channel: str | None, offset: int = 0, length: int | None = None) -> str:
        """Return a result as a model reads it. See `Session.result_text`."""
        execution = self.execution(execution_id)
        return render_text(execution.outcome(), execution.tool, channel, offset, length)

    async def history(self, limit: int = 1000, unfinished: bool = False) -> list[ExecutionRecord]:
        """Return the records of the newest executions. See `Session.history`."""
        if not self._ledger.durable:
            return self.records((self.unfinished if unfinished else self._index.entries)[-limit:])
        await self._ledger.settle()
        now = self._clock.time()
        rows = await self._store.executions(self._session_id, unfinished=unfinished, limit=limit)
        return [record_of(row, self._find(row), now) for row in rows]

    async def stored_record(self, execution_id: str) -> ExecutionRecord:
        """Return the record of an execution of any process. Raises `ToolError` (not_found)."""
        if not self._ledger.durable:
            return self.record(execution_id)
        await self._ledger.settle()
        row = await self.stored(execution_id)
        return record_of(row, self._find(row), self._clock.time())

    async def page(
        self, *, before: str | None = None, unfinished: bool = False, limit: int, longest: int
    ) -> list[BriefRecord]:
        """Return the newest calls, or those before one, stored ones and those of other processes too, oldest first.

        Arguments and results with more characters than `longest` are left out.
        """
        now = self._clock.time()
        if self._ledger.durable:
            await self._ledger.settle()
            rows = await self._store.brief_executions(
                self._session_id, before=before, unfinished=unfinished, limit=limit, longest=longest
            )
            return [BriefRecord(record_of(row, self._find(row), now), cut) for row, cut in rows]
        known = self.unfinished if unfinished else list(self._index.entries)
        if before is not None:
            known = known[: next((place for place, each in enumerate(known) if each.id == before), 0)]
        return [self._brief_record(execution, longest, now) for execution in known[-limit:]]

    def _brief_record(self, execution: Execution, longest: int, now: float) -> BriefRecord:
        if len(execution.display_arguments) <= longest and len(execution.result_json or b"") <= longest:
            return BriefRecord(live_record(execution, self._clock.monotonic()), {})
        row, cut = brief(row_of(execution, None), longest, "display_arguments", "value")
        return BriefRecord(record_of(row, self._find(row), now), cut)

    async def result(self, execution_id: str, timeout: float | None = None) -> Outcome:
        """Wait for the end of an execution. See `Session.result`."""
        execution = self._index.by_id.get(execution_id)
        if execution is None or execution.lost or execution.unloaded:
            row = await self.stored(execution_id)
            if row.completed_at is None:
                await within(self._clock, timeout, self._wait_for_stored_end(execution_id))
                row = await self.stored(execution_id)
            return await self._outcome(row)
        if not execution.terminal:
            await within(self._clock, timeout, self._manager.wait(execution))
        outcome = execution.outcome()  # before the wait: a later state would not be stored yet
        if self._ledger.durable:
            await self._ledger.settle()
            if execution.lost:
                return await self._outcome(await self.stored(execution_id))
        return outcome

    async def outcome(self, call_id: str) -> Outcome | None:
        """Return the outcome of a call, by the caller's id. An end is returned once it is stored."""
        if (execution := self._index.by_call(call_id)) is not None:
            outcome = execution.outcome()
            if self._ledger.durable and execution.terminal and not execution.settled:
                await self._ledger.settle()
            if not (execution.lost or execution.unloaded):
                return outcome
        row = await self.stored_call(call_id) if self._ledger.durable else None
        return None if row is None else await self._outcome(row)

    async def matches(self, call_id: str, tool: str, document: bytes) -> bool:
        """Return whether there is a call with this id, and it is of this tool with these arguments."""
        execution = self._index.by_call(call_id)
        if execution is not None and not (execution.lost or execution.unloaded):
            known = (execution.name, execution.fingerprint or fingerprint_of(execution.document))
        else:
            row = await self.stored_call(call_id) if self._ledger.durable else None
            known = None if row is None else (row.tool, row.fingerprint)
        return known == (tool, fingerprint_of(document))

    async def stored_outcome(self, execution: Execution) -> Outcome | None:
        """Return the outcome of a call from the store; None if it is not stored."""
        return await read_for(execution.parent, self._clock, lambda: self._stored_outcome(execution))

    async def _stored_outcome(self, execution: Execution) -> Outcome | None:
        if (row := await self.stored_call(execution.call_id)) is None:
            return None
        fingerprint = execution.fingerprint or fingerprint_of(execution.document)
        if (row.tool, row.fingerprint) != (execution.name, fingerprint):
            error = CallIdConflict(row.call_id, row.tool)
            return Outcome(OutcomeStatus.FAILED, row.id, row.call_id, execution.name, None, error)
        if not execution.delivers_late:
            if execution.sent:
                return await self._end_of_inline_call(execution)
            if row.completed_at is None:
                return await self.result(row.id, execution.tool.inline_budget)
        return await self._outcome(row)

    async def _end_of_inline_call(self, execution: Execution) -> Outcome:
        """Wait for an inline call that a worker carries out, until its budget is used up, and take its result."""
        with self._results.awaiting(execution.id):
            left = execution.start_budget() - self._clock.monotonic()
            waiting = asyncio.ensure_future(self.result(execution.id, max(0.0, left)))
            self._on_workers[execution.call_id] = waiting
            try:
                await asyncio.wait([waiting])
            finally:
                waiting.cancel()
                self._on_workers.pop(execution.call_id, None)
            outcome = await self.result(execution.id, 0.0) if waiting.cancelled() else waiting.result()
            if outcome.done:
                try:
                    taken = [execution.id]
                    await self._results.deliver(Change(self._session_id, consumed=taken, received=taken))
                except Conflict:  # another process delivered it as a late result
                    text = acknowledgement(execution.id, execution.name, None)
                    outcome = Outcome(OutcomeStatus.STARTED, execution.id, execution.call_id, execution.name, text)
        execution.deliver_late()
        return outcome

    async def end_elsewhere(self, execution: Execution) -> Outcome:
        """Wait for the end of a nested call that a worker carries out. Cancels it if the caller is cancelled."""
        await self._ledger.settle()
        try:
            return await read_for(execution.parent, self._clock, lambda: self.result(execution.id))
        except asyncio.CancelledError:
            if not (execution.is_keyed and goes_on(execution.parent)):
                write = self._ledger.write(Change(self._session_id, cancel=[execution.id]))
                write.add_done_callback(lambda written: written.exception())
            raise

    async def recorded(self, parent: Execution, call_id: str, name: str, document: bytes) -> Outcome | None:
        """Return the outcome of a parent's call that only the store knows, once it has ended; None if there is none."""
        if self._index.by_call(call_id) is not None:
            return None
        return await read_for(parent, self._clock, lambda: self._recorded(call_id, name, document))

    async def _recorded(self, call_id: str, name: str, document: bytes) -> Outcome | None:
        if (row := await self.stored_call(call_id)) is None:
            return None
        if (row.tool, row.fingerprint) != (name, fingerprint_of(document)):
            return Outcome(OutcomeStatus.FAILED, row.id, call_id, name, None, CallIdConflict(call_id, row.tool))
        return await self.result(row.id)

    async def ended_with(self, execution_id: str) -> str | None:
        """Return the status with which an execution ended; None if it has not."""
        execution = self._index.by_id.get(execution_id)
        if execution is not None and not execution.lost:
            return execution.status.value if execution.terminal else None
        row = await self._store.execution(self._session_id, execution_id) if self._ledger.durable else None
        return None if row is None or row.completed_at is None else row.status

    async def is_running(self, execution_id: str) -> bool:
        """Return whether a call of the session, in any process, has not ended."""
        if self._index.holds(execution_id):
            return not self._index.by_id[execution_id].terminal
        row = await self._store.execution(self._session_id, execution_id) if self._ledger.durable else None
        return row is not None and row.completed_at is None

    async def stored_call(self, call_id: str) -> ExecutionRow | None:
        """The stored execution of a caller's id, or of a request's."""
        return await self._store.execution_of_call(self._session_id, call_id)

    async def call_ids(self, execution_ids: Collection[str]) -> dict[str, str]:
        """Return the callers' ids of executions, without unknown ones. It takes at most one query."""
        known = self._index.by_id
        found = {each: known[each].call_id for each in execution_ids if each in known}
        if self._ledger.durable and (missing := [each for each in execution_ids if each not in found]):
            rows = await self._store.executions(self._session_id, ids=missing, limit=len(missing))
            found |= {row.id: row.call_id for row in rows}
        return found

    async def stored(self, execution_id: str) -> ExecutionRow:
        """Return the row of a stored execution. Raises `ToolError` (not_found)."""
        row = await self._store.execution(self._session_id, execution_id) if self._ledger.durable else None
        if row is None:
            raise _no_execution(execution_id)
        return row

    async def _outcome(self, row: ExecutionRow) -> Outcome:
        """Return the outcome of a stored execution, also of one that waits for a person."""
        if row.status == Status.WAITING:
            for request in await self._store.requests(executions=[(row.session_id, row.id)], status="open"):
                text = acknowledgement(row.id, row.tool, request.id)
                return Outcome(OutcomeStatus.WAITING, row.id, row.call_id, row.tool, text)
        return outcome_of(row)

    async def _wait_for_stored_end(self, execution_id: str) -> None:
        """Wait until the board shows the end of an execution of another process."""
        with self._board.reading():  # before the first read, so that no event is missed
            while True:
                await self._sync.catch_up(self._session_id, self._board)
                after = self._board.last_seq  # an end after that has a later event
                if (await self.stored(execution_id)).completed_at is not None:
                    return
                with suppress(CursorExpired):  # retention removed events that were not read yet
                    async with aclosing(self._board.follow(after)) as events:
                        async for event in events:
                            if event.kind == EventKind.TOOL_RESULT and event.data["execution_id"] == execution_id:
                                return
                    return

    def promote(self, call_ids: Iterable[str]) -> None:
        """Promote calls: their callers stop waiting, and their results come late."""
        for call_id in call_ids:
            if (execution := self._index.by_call(call_id)) is not None:
                self._manager.promote(execution)
            elif (waiting := self._on_workers.get(call_id)) is not None:
                waiting.cancel()


def _no_execution(execution_id: str) -> ToolError:
    return ToolError(f"There is no execution {shorten(execution_id, 80)!r}.", category=ErrorCategory.NOT_FOUND)
