"""The lease of a session's turn: one turn of a session runs at a time, across all processes.

A running turn has a row in the store. It belongs to one process, can be stopped from any process, and is taken over
when its process dies. Every write of a turn requires that its process still owns the row, so that a process that was
wrongly taken for dead cannot write into a transcript that another one continues.
"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_core import to_json

from ..events.event import encode_event
from ..events.kinds import EventKind, turn_stop
from ..sessions.conversation_scope import ConversationScope
from ..storage.change import Change, TurnWrite
from ..storage.errors import AlreadyWritten, Conflict, IdempotencyConflict
from ..storage.rows import RUNNING, IdempotencyRow, TurnRow
from ..turns import TurnStatus
from .history import History
from .transcript import Entry, TurnStart


class TurnLeaseLost(Exception):
    """Another process has taken the turn over."""


class TurnLease:
    """The right to write into the transcript of a session.

    The row of a new turn is stored with its first write; if another process was faster, nothing is written.
    """

    def __init__(self, scope: ConversationScope, history: History) -> None:
        self._scope = scope
        self._history = history
        self._row: TurnRow | None = None
        self._turn_start: TurnStart | None = None
        """The first entry of a new turn, until it is written."""
        self._last_ended = 0
        """The number of the last turn that ended here."""
        self.turn_id = ""

    @property
    def held(self) -> bool:
        return self._row is not None

    @property
    def stored_number(self) -> int | None:
        """The number of the turn, if a turn runs here and its row is stored."""
        return None if self._row is None or self._turn_start is not None else self._row.number

    async def running_elsewhere(self) -> TurnRow | None:
        """The turn that another process runs, if any."""
        await self._history.refresh()
        row = await self._running_turn()
        return row if row is not None and row.owner != self._scope.owner else None

    async def store_stop(self, number: int | None, idempotency: IdempotencyRow | None, *, stopped: bool) -> None:
        """Store that a turn must stop, with the idempotency key of the request."""
        if idempotency is not None:
            idempotency = replace(idempotency, answer=to_json({"interrupted": stopped}))
        session = self._scope.session
        change = Change(session.id, stop_turns=[] if number is None else [number], idempotency=idempotency)
        try:
            await session.ledger.write(change)
        except (AlreadyWritten, IdempotencyConflict):
            raise
        except Conflict:  # the session is deleted, and the turn with it
            pass

    async def acquire(self) -> bool:
        """Start a turn, or resume a paused or abandoned one. False where another process runs a turn."""
        if self._turn_start is not None:  # a new turn of which nothing is stored yet is tried again
            return True
        if self._row is None and (last := await self._running_turn()) is not None:
            if last.owner != self._scope.owner:
                return False
            self._row = last
        if self._row is not None and self._history.state.turn_id is not None:
            self.turn_id = self._history.state.turn_id
            # A second entry for the same turn: the model may have received a request before, see `rendering`.
            turn_start = TurnStart(self.turn_id, self._history.state.turn_number)
            await self.write([turn_start], events=[self._event(EventKind.TURN_STARTED, {})])
            return True
        paused = self._history.state.turn_id if self._history.open_calls() else None
        self.turn_id = paused or f"t{secrets.token_hex(6)}"
        self._turn_start = TurnStart(self.turn_id, self._history.state.turn_number + 1)
        self._row = TurnRow(
            session_id=self._scope.session.id,
            number=self._turn_start.number,
            turn_id=self.turn_id,
            user_id=self._scope.session.user_id,
            status=RUNNING,
            started_at=self._scope.now(),
            completed_at=None,
            owner=self._scope.owner,
        )
        if paused:  # the row must exist before calls are made
            await self.begin()
        return True

    def adopt(self, row: TurnRow) -> None:
        """Take over a turn that a dead process left behind."""
        if self._row is None:
            self._row = row

    async def begin(self) -> None:
        """Store that the turn has started, if nothing of it is stored yet."""
        if self._turn_start is not None:
            await self.write(())

    async def write(
        self, entries: Sequence[Entry], *, results: Sequence[str] = (), events: Sequence[bytes] = ()
    ) -> None:
        """Write entries of the turn, and take the late results that they deliver.

        Raises `TurnLeaseLost`, or `Conflict` where a result was taken elsewhere.
        """
        if self._row is None:
            raise TurnLeaseLost
        self._row = replace(self._row, usage=self._history.state.usage.encode())
        turn = TurnWrite(self._row, self._scope.owner, new=self._turn_start is not None)
        if self._turn_start is not None:
            entries = [self._turn_start, *entries]
            events = [self._event(EventKind.TURN_STARTED, {}), *events]
        try:
            await self._history.add(entries, results=results, events=events, turn=turn)
        except Conflict:
            if not await self._history.refresh() and results and await self._owns_turn():
                raise
            self._row = self._turn_start = None
            raise TurnLeaseLost from None
        except asyncio.CancelledError:  # the write was completed
            self._turn_start = None
            raise
        self._turn_start = None

    async def end(
        self, status: TurnStatus, data: Mapping[str, Any], entries: Sequence[Entry] = (), results: Sequence[str] = ()
    ) -> None:
        """End the turn, or its part up to a pause, with the event of its status. An empty turn is not stored."""
        if self._row is None:
            raise TurnLeaseLost
        try:
            if self._turn_start is None or status is not TurnStatus.FINISHED:
                self._row = replace(self._row, status=status.value, completed_at=self._scope.now())
                ended = [self._event(turn_stop(status), data)]
                try:
                    await self.write(entries, results=results, events=ended)
                except Conflict:  # another reader took some of the results
                    await self.write(entries, events=ended)
                self._last_ended = self._history.state.turn_number
        finally:
            self._row = self._turn_start = None

    async def _running_turn(self) -> TurnRow | None:
        """The newest turn, if it is running."""
        await self._history.load()
        number = self._history.state.turn_number
        if not self._scope.session.durable or number in (0, self._last_ended):
            return None
        row = await self._scope.turn(number)
        return row if row is not None and row.completed_at is None else None

    async def _owns_turn(self) -> bool:
        """Whether the store says that this process owns the turn."""
        if self._turn_start is not None:
            return (
                await self.running_elsewhere() is None
                and self._turn_start.number == self._history.state.turn_number + 1
            )
        row = self._row
        if self._scope.session.durable:
            row = await self._scope.turn(self._history.state.turn_number)
        return row is not None and row.owner == self._scope.owner and row.completed_at is None

    def _event(self, kind: EventKind, data: Mapping[str, Any]) -> bytes:
        return encode_event(kind, self._scope.now(), to_json({"turn_id": self.turn_id, **data}))
