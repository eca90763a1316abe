"""The seat of a conversation at its session: what it needs of it beside what everybody has."""

from collections.abc import Callable, Sequence
from typing import Any

from ..events.board import CursorExpired
from ..events.event import Event
from ..events.kinds import EventKind
from ..events.routing import Side, seen_by
from ..storage.port import Change
from ..storage.rows import ExecutionRow
from .live_session import LiveSession

_FOR_THE_MODEL = (EventKind.USER_INPUT, EventKind.SYSTEM_ERROR)


class ConversationScope:
    """Where a conversation reads what it is to tell the model, and writes what comes of it."""

    __slots__ = ("_services", "session")

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self._services = session.services

    @property
    def owner(self) -> str:
        """The process that this is, as the store knows it."""
        return self._services.owner

    def now(self) -> float:
        return self._services.clock.time()

    def later(self, seconds: float, call: Callable[[], Any]) -> None:
        self._services.clock.call_later(seconds, call)

    async def transcript(self, after: int = 0) -> list[bytes]:
        """What is stored of the conversation, after so many entries."""
        return await self._services.store.transcript(self.session.id, after)

    async def transcript_before(self, before: int | None, limit: int) -> tuple[int, list[bytes]]:
        """The newest entries that are stored, or those before a place; and the place of the first."""
        return await self._services.store.transcript_before(self.session.id, before, limit)

    async def inputs(self, ids: Sequence[str]) -> list[ExecutionRow]:
        """The stored rows of inputs, told or not, by their ids."""
        store, session_id = self._services.store, self.session.id
        if self.session.durable:
            return await store.executions(session_id, ids=ids, limit=len(ids))
        rows = [await store.execution(session_id, each) for each in ids]
        return [row for row in rows if row is not None]

    async def write(self, change: Change) -> int:
        """Write a change of the session, and know what it took."""
        taken = tuple(change.taken)
        number = await self.session.ledger.write(change)
        self.session.results.forget(taken)
        return number

    async def written_after(self, seq: int) -> tuple[int, list[Event]]:
        """What the user wrote after an event, and what the system wants the model to know; and up to where that is."""
        board = self.session.board
        await self.session.catch_up()
        last = board.last_seq
        found: list[Event] = []
        while seq < last:
            try:
                events = board.read(seq) if board.remembers(seq) else await board.recall(seq)
            except CursorExpired as expired:  # what lies before that is not kept any more
                if expired.first <= seq + 1:  # nor is anything else: the session is deleted
                    break
                seq = expired.first - 1
                continue
            told = (event for event, line in zip(events, events.encoded, strict=True) if _may_be_told(line))
            found += [event for event in told if seen_by(event.kind, Side.MODEL, event.data)]
            seq = events.first + len(events) - 1
        return max(seq, last), [each for each in found if each.kind in _FOR_THE_MODEL]

    def turn_began(self, turn_id: str) -> None:
        """Tell those who look on that a turn begins or goes on, from the task that runs it."""
        for listener in self._services.turn_listeners:
            listener.turn_began(self.session.id, turn_id)

    def turn_ended(self, turn_id: str, status: str, usage: Any = None) -> None:
        """Tell them that it ended, or paused; and what all its parts have used."""
        for listener in self._services.turn_listeners:
            listener.turn_ended(self.session.id, turn_id, status, usage)


def _may_be_told(line: bytes) -> bool:
    """Whether an event may be one that the model is told of, before it is read: most are not."""
    return b"user_input" in line or b"system_error" in line
