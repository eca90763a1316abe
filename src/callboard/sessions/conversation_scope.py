"""The part of a session that only its conversation uses: transcript, inputs, and events of turns."""

from collections.abc import Sequence
from typing import Any

from ..events.event import Event
from ..events.kinds import EventKind
from ..events.routing import Side, seen_by
from ..storage.change import Change
from ..storage.rows import InputRow, TurnRow
from .live_session import LiveSession

_FOR_MODEL = (EventKind.USER_INPUT, EventKind.SYSTEM_ERROR)


class ConversationScope:
    """Reads the input of a conversation from its session, and writes its results."""

    __slots__ = ("_services", "_wakes_later", "session")

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self._services = session.services
        self._wakes_later = False

    @property
    def owner(self) -> str:
        """Id of this process in the store."""
        return self._services.owner

    def now(self) -> float:
        return self._services.clock.time()

    def wake_later(self, seconds: float) -> None:
        """Wake the conversation that the session has by then: a session that left memory gets another one.

        Until then, further requests have no effect. Otherwise each failure that something else woke would add one more
        attempt to all later rounds.
        """
        if not self._wakes_later:
            self._wakes_later = True
            self._services.clock.call_later(seconds, self._wake)

    def _wake(self) -> None:
        self._wakes_later = False
        if (conversation := self.session.find_conversation()) is not None:
            conversation.wake()

    async def transcript(self, after: int, limit: int) -> list[bytes]:
        """Return up to `limit` stored entries of the conversation after the first `after`."""
        return await self._services.store.transcript(self.session.id, after, limit)

    async def transcript_before(self, before: int | None, limit: int) -> tuple[int, list[bytes]]:
        """Return the newest stored entries, or those before a position, and the position of the first."""
        return await self._services.store.transcript_before(self.session.id, before, limit)

    async def turn(self, number: int) -> TurnRow | None:
        """Return the stored turn of a number."""
        return await self._services.store.turn(self.session.id, number)

    async def inputs(self, ids: Sequence[str]) -> list[InputRow]:
        """Return the stored rows of inputs, by their ids."""
        return await self._services.store.inputs(self.session.id, ids)

    async def write(self, change: Change) -> int:
        """Write a change of the session, and forget the late results that it consumed."""
        consumed = tuple(change.consumed)
        number = await self.session.ledger.write(change)
        self.session.results.forget(consumed)
        return number

    async def written_after(self, seq: int) -> tuple[int, list[Event]]:
        """Return the inputs and the system errors for the model after an event, and the number up to which was read."""
        board = self.session.board
        await self.session.catch_up()
        last = board.last_seq
        found: list[Event] = []
        while seq < last and (events := await board.kept_page(seq)):
            found += filter(_is_for_model, events)
            seq = events.last
        return max(seq, last), found

    def turn_began(self, turn_id: str) -> None:
        """Notify listeners that a turn begins or continues, from the task that runs it."""
        for listener in self._services.turn_listeners:
            listener.turn_began(self.session.id, turn_id)

    def turn_ended(self, turn_id: str, status: str, usage: Any = None) -> None:
        """Notify listeners that a turn ended or paused, with the usage of all its parts."""
        for listener in self._services.turn_listeners:
            listener.turn_ended(self.session.id, turn_id, status, usage)


def _is_for_model(event: Event) -> bool:
    """Return whether an event is an input, or a system error that the model sees. Most others are not parsed."""
    if b"user_input" not in event.encoded and b"system_error" not in event.encoded:
        return False
    return event.kind in _FOR_MODEL and seen_by(event.kind, Side.MODEL, event.data)
