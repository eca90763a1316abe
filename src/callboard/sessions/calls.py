"""The calls of one session: how they stand, wherever they are carried out, and how they are stopped.

It begins none: that is the manager's. What this process carries out, it knows; the store knows the rest.
"""

from collections.abc import Iterable, Mapping
from contextlib import aclosing, suppress
from typing import NamedTuple

from ..clock import within
from ..errors import ErrorCategory, ToolError
from ..events.board import Board
from ..events.kinds import EventKind
from ..execution.execution import Execution
from ..execution.failures import call_id_conflict
from ..execution.index import ExecutionIndex
from ..execution.lifecycle import Status
from ..execution.outcome import Outcome, OutcomeStatus, acknowledgement
from ..execution.record import ExecutionRecord
from ..execution.storing import fingerprint_of, live_record, outcome_of, record_of, row_of
from ..shortening import shorten
from ..storage.brief import Cut, brief
from ..storage.change import Change
from ..storage.errors import Conflict, StoreUnavailable, StoreUnconfirmed
from ..storage.rows import ExecutionRow
from .ledger import Ledger
from .services import Services


class BriefRecord(NamedTuple):
    """The record of an execution, without what is long in it."""

    record: ExecutionRecord
    cut: Mapping[str, Cut]
    """What was left out: `shown`, the arguments, or `value`."""


class Calls:
    """Those that the book of a session holds, and those of other processes and earlier times."""

    __slots__ = ("_board", "_index", "_ledger", "_services", "_session_id")

    def __init__(
        self, session_id: str, services: Services, board: Board, index: ExecutionIndex, ledger: Ledger
    ) -> None:
        self._session_id = session_id
        self._services = services
        self._board = board
        self._index = index
        self._ledger = ledger

    # How they stand

    @property
    def unfinished(self) -> list[Execution]:
        """What this process carries out."""
        return [execution for execution in self._index.entries if not execution.terminal]

    def execution(self, execution_id: str) -> Execution:
        """One that is kept in memory. Raises `ToolError` (not_found)."""
        execution = self._index.by_id.get(execution_id)
        if execution is None or execution.unloaded:
            raise _no_execution(execution_id)
        return execution

    def records(self, executions: Iterable[Execution]) -> list[ExecutionRecord]:
        """How executions of this process stand now."""
        now = self._services.clock.monotonic()
        return [live_record(execution, now) for execution in executions if not execution.unloaded]

    async def history(self, limit: int, unfinished: bool) -> list[ExecutionRecord]:
        """See `Session.history`."""
        if not self._ledger.durable:
            return self.records((self.unfinished if unfinished else self._index.entries)[-limit:])
        await self._ledger.settle()
        now = self._services.clock.time()
        rows = await self._services.store.executions(self._session_id, unfinished=unfinished, limit=limit)
        return [record_of(row, now) for row in rows]

    async def page(
        self, *, before: str | None = None, unfinished: bool = False, limit: int, longest: int
    ) -> list[BriefRecord]:
        """The newest calls, or those before one, of earlier times and of other processes too, oldest first.

        Arguments and results with more characters than `longest` are left out.
        """
        now = self._services.clock.time()
        if self._ledger.durable:
            await self._ledger.settle()
            rows = await self._services.store.brief_executions(
                self._session_id, before=before, unfinished=unfinished, limit=limit, longest=longest
            )
            return [BriefRecord(record_of(row, now), cut) for row, cut in rows]
        known = self.unfinished if unfinished else list(self._index.entries)
        if before is not None:
            known = known[: next((place for place, each in enumerate(known) if each.id == before), 0)]
        return [self._briefly(execution, longest, now) for execution in known[-limit:]]

    def _briefly(self, execution: Execution, longest: int, now: float) -> BriefRecord:
        if len(execution.display_arguments) <= longest and len(execution.result_json or b"") <= longest:
            return BriefRecord(live_record(execution, self._services.clock.monotonic()), {})
        row, cut = brief(row_of(execution, None), longest, "shown", "value")
        return BriefRecord(record_of(row, now), cut)

    async def result(self, execution_id: str, timeout: float | None = None) -> Outcome:
        """See `Session.result`."""
        execution = self._index.by_id.get(execution_id)
        if execution is None or execution.lost or execution.unloaded:
            row = await self._row(execution_id)
            if row.completed_at is None:
                await within(self._services.clock, timeout, self._ended_elsewhere(execution_id))
                row = await self._row(execution_id)
            return await self._outcome(row)
        if not execution.terminal:
            await within(self._services.clock, timeout, self._services.manager.wait(execution))
        outcome = execution.outcome()  # as it is now: what becomes of it while the rest is stored is not stored yet
        if self._ledger.durable:
            await self._ledger.settle()
            if execution.lost:
                return await self._outcome(await self._row(execution_id))
        return outcome

    async def outcome(self, call_id: str) -> Outcome | None:
        """How a call stands, by the caller's id. An end is told when it is stored."""
        if (execution := self._index.by_call(call_id)) is not None:
            outcome = execution.outcome()
            if self._ledger.durable and execution.terminal and not execution.settled:
                await self._ledger.settle()
            if not (execution.lost or execution.unloaded):
                return outcome
        row = await self.stored_call(call_id) if self._ledger.durable else None
        return None if row is None else await self._outcome(row)

    async def elsewhere(self, execution: Execution) -> Outcome | None:
        """How a call stands that turned out to be another process's; None where the store does not know it."""
        if (row := await self.stored_call(execution.call_id)) is None:
            return None
        if row.tool != execution.name or row.fingerprint != _fingerprint(execution):
            error = call_id_conflict(row.call_id, row.tool)
            return Outcome(OutcomeStatus.FAILED, row.id, row.call_id, execution.name, None, error)
        if row.completed_at is None and not execution.late:
            return await self.result(row.id, execution.tool.inline_budget)
        return await self._outcome(row)

    async def ended_with(self, execution_id: str) -> str | None:
        """How an execution ended, if it did."""
        execution = self._index.by_id.get(execution_id)
        if execution is not None and not execution.lost:
            return execution.status.value if execution.terminal else None
        row = await self._services.store.execution(self._session_id, execution_id) if self._ledger.durable else None
        return None if row is None or row.completed_at is None else row.status

    async def stored_call(self, call_id: str) -> ExecutionRow | None:
        """The stored execution of a caller's id, or of a request's."""
        return await self._services.store.execution_of_call(self._session_id, call_id)

    async def _row(self, execution_id: str) -> ExecutionRow:
        row = await self._services.store.execution(self._session_id, execution_id) if self._ledger.durable else None
        if row is None:
            raise _no_execution(execution_id)
        return row

    async def _outcome(self, row: ExecutionRow) -> Outcome:
        """How a stored execution stands. One that waits for a person says so."""
        if row.status == Status.WAITING:
            for request in await self._services.store.requests(executions=[(row.session_id, row.id)], status="open"):
                said = acknowledgement(row.id, row.tool, request.id)
                return Outcome(OutcomeStatus.WAITING, row.id, row.call_id, row.tool, said)
        return outcome_of(row)

    async def _ended_elsewhere(self, execution_id: str) -> None:
        """Return when the board says that an execution of another process has ended."""
        after = self._board.last_seq
        with self._board.attended():  # from before the first look: nothing that comes meanwhile is missed
            if (await self._row(execution_id)).completed_at is not None:
                return
            await self._services.catch_up(self._session_id, self._board)
            async with aclosing(self._board.follow(after)) as events:
                async for event in events:
                    if event.kind == EventKind.TOOL_RESULT and event.data["execution_id"] == execution_id:
                        return

    # Stopping

    async def cancel(self, execution_id: str) -> bool:
        """See `Session.cancel`."""
        execution = self._index.by_id.get(execution_id)
        if execution is not None and not execution.lost:
            return bool(await self._cancel_here(execution))
        row = await self._row(execution_id)
        if row.completed_at is not None:
            return False
        await self._cancel_elsewhere(execution_id)
        return True

    async def cancel_call(self, call_id: str) -> bool:
        """See `Session.cancel_call`."""
        if (execution := self._index.by_call(call_id)) is not None:
            return bool(await self._cancel_here(execution))
        row = await self.stored_call(call_id) if self._ledger.durable else None
        return row is not None and await self.cancel(row.id)

    async def cancel_all(self) -> int:
        """See `Session.cancel_all`."""
        here = await self._cancel_here(*self.unfinished)
        if not self._ledger.durable:
            return here
        rows = await self._services.store.executions(self._session_id, unfinished=True)
        others = [row.id for row in rows if not row.cancelling and not self._index.holds(row.id)]
        if others:
            await self._cancel_elsewhere(*others)
        return here + len(others)

    async def _cancel_here(self, *executions: Execution) -> int:
        """Stop executions of this process. Once that is said, nobody goes on with them after a crash either."""
        stopped = [execution for execution in executions if self._services.manager.cancel(execution)]
        if self._ledger.durable:
            try:
                if stopping := [execution.id for execution in stopped if not execution.terminal]:
                    with suppress(Conflict):  # they are another process's
                        await self._ledger.write(Change(self._session_id, cancel=stopping))
                await self._ledger.settle()
            except StoreUnavailable as error:
                if not stopped:
                    raise
                raise StoreUnconfirmed("They are stopped; the store does not answer at the moment.") from error
        return len(stopped)

    async def _cancel_elsewhere(self, *execution_ids: str) -> None:
        await self._ledger.write(Change(self._session_id, cancel=execution_ids))
        for execution_id in execution_ids:  # this process may have recovered one meanwhile
            if self._index.holds(execution_id):
                self._services.manager.cancel(self._index.by_id[execution_id])
        self._services.poll_orphans()

    def promote(self, call_ids: Iterable[str]) -> None:
        """Let go whoever waits for these calls; their results come late."""
        for call_id in call_ids:
            if (execution := self._index.by_call(call_id)) is not None:
                self._services.manager.promote(execution)


def _fingerprint(execution: Execution) -> str:
    return execution.fingerprint if execution.unloaded else fingerprint_of(execution.document)


def _no_execution(execution_id: str) -> ToolError:
    return ToolError(f"There is no execution {shorten(execution_id, 80)!r}.", category=ErrorCategory.NOT_FOUND)
