"""Turns and inputs in memory."""

from collections.abc import Collection

from ....storage.rows import InputRow, TurnRow
from .state import MemoryPart


class MemoryConversationRecords(MemoryPart):
    """`ConversationRecords` in memory."""

    async def turn(self, session_id: str, number: int) -> TurnRow | None:
        session = self._session(session_id)
        return session.turns.get(number) if session else None

    async def running_turns(self, session_ids: Collection[str]) -> list[TurnRow]:
        return [row for row in self._state.running_turns() if row.session_id in session_ids]

    async def inputs(self, session_id: str, ids: Collection[str]) -> list[InputRow]:
        session = self._session(session_id)
        return [session.inputs[each] for each in sorted(set(ids)) if each in session.inputs] if session else []
