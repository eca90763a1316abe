"""Whose turn it is: one turn of a session runs at a time, in whatever process.

A turn that runs is stored. So it belongs to one process, is taken over when that one dies, and can be
asked to stop from anywhere. What a turn writes is written only while the store says that the turn is still its
process's: one that was taken for dead cannot write into the transcript of the one that goes on.
"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_core import to_json

from ..events.event import encode_event
from ..events.kinds import EventKind
from ..sessions.conversation_scope import ConversationScope
from ..storage.change import TurnWrite
from ..storage.errors import Conflict
from ..storage.rows import TurnRow
from ..turns import TurnStatus
from .history import History
from .rows import new_turn
from .transcript import Began, Entry

_ENDS = {
    EventKind.TURN_FINISHED: TurnStatus.FINISHED,
    EventKind.TURN_PAUSED: TurnStatus.PAUSED,
    EventKind.TURN_FAILED: TurnStatus.FAILED,
    EventKind.TURN_INTERRUPTED: TurnStatus.INTERRUPTED,
}


class TurnLeaseLost(Exception):
    """The turn is another process's by now."""


class TurnLease:
    """The right to write into the transcript of a session.

    A turn that begins is written with the first thing that it writes; if another one was faster, nothing is written.
    """

    def __init__(self, scope: ConversationScope, history: History) -> None:
        self._scope = scope
        self._history = history
        self._row: TurnRow | None = None
        self._began: Began | None = None
        """What is not written yet of a turn that begins."""
        self._left = 0
        """The number of the last turn that ended here."""
        self.turn_id = ""

    @property
    def held(self) -> bool:
        return self._row is not None

    @property
    def stored(self) -> int | None:
        """The number of the turn, if a turn runs here and its row is stored."""
        return None if self._row is None or self._began is not None else self._row.number

    async def holder(self) -> TurnRow | None:
        """The turn that runs in another process, if one does."""
        await self._history.refresh()
        row = await self._last()
        return row if row is not None and row.owner != self._scope.owner else None

    async def take(self) -> bool:
        """Begin a turn, or go on with one that was paused or left behind. False where one runs elsewhere."""
        if self._row is None and (last := await self._last()) is not None:
            if last.owner != self._scope.owner:
                return False
            self._row = last
        if self._row is not None and self._history.turn_id is not None:
            self.turn_id = self._history.turn_id
            began = Began(self.turn_id, self._history.began)  # the model may have been asked in vain: see `rendering`
            await self.write([began], events=[self._event(EventKind.TURN_STARTED, {})])
            return True
        paused = self._history.turn_id if self._history.open_calls() else None
        self.turn_id = paused or f"t{secrets.token_hex(6)}"
        self._began = Began(self.turn_id, self._history.began + 1)
        self._row = new_turn(self._scope, self.turn_id, self._began.number)
        if paused:  # before anything is called
            await self.begin()
        return True

    def adopt(self, row: TurnRow) -> None:
        """A turn that a dead process left behind is this one's."""
        if self._row is None:
            self._row = row

    async def begin(self) -> None:
        """Write that the turn has begun, if nothing was written yet."""
        if self._began is not None:
            await self.write(())

    async def write(self, entries: Sequence[Entry], *, taken: Sequence[str] = (), events: Sequence[bytes] = ()) -> None:
        """Write what the turn has come to. Raises `TurnLeaseLost`, or `Conflict` where somebody else took a result."""
        if self._row is None:
            raise TurnLeaseLost
        turn = TurnWrite(self._row, self._scope.owner, new=self._began is not None)
        if self._began is not None:
            entries = [self._began, *entries]
            events = [self._event(EventKind.TURN_STARTED, {}), *events]
        try:
            await self._history.add(entries, taken=taken, events=events, turn=turn)
        except Conflict:
            if not await self._history.refresh() and taken and await self._is_mine():
                raise
            self._row = self._began = None
            raise TurnLeaseLost from None
        except asyncio.CancelledError:  # it is written all the same
            self._began = None
            raise
        self._began = None

    async def leave(
        self, kind: EventKind, data: Mapping[str, Any], entries: Sequence[Entry] = (), taken: Sequence[str] = ()
    ) -> None:
        """End the turn, or this part of it, with the event that says how. One without anything in it is forgotten."""
        if self._row is None:
            raise TurnLeaseLost
        try:
            if self._began is None or kind is not EventKind.TURN_FINISHED:
                self._row = replace(self._row, status=_ENDS[kind].value, completed_at=self._scope.now())
                await self.write(entries, taken=taken, events=[self._event(kind, data)])
                self._left = self._history.began
        finally:
            self._row = self._began = None

    async def _last(self) -> TurnRow | None:
        """The newest turn, if it has not ended."""
        await self._history.load()
        number = self._history.began
        if not self._scope.session.durable or number in (0, self._left):
            return None
        row = await self._scope.turn(number)
        return row if row is not None and row.completed_at is None else None

    async def _is_mine(self) -> bool:
        """Whether the store says so."""
        if self._began is not None:
            return await self.holder() is None and self._began.number == self._history.began + 1
        row = self._row
        if self._scope.session.durable:
            row = await self._scope.turn(self._history.began)
        return row is not None and row.owner == self._scope.owner and row.completed_at is None

    def _event(self, kind: EventKind, data: Mapping[str, Any]) -> bytes:
        return encode_event(kind, self._scope.now(), to_json({"turn_id": self.turn_id, **data}))
