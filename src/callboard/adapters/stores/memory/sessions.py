"""Sessions and transcripts in memory."""

from ....storage.rows import SessionRow
from .state import MemoryPart


class MemorySessionRecords(MemoryPart):
    """`SessionRecords` in memory."""

    async def session(self, session_id: str) -> SessionRow | None:
        session = self._session(session_id)
        return session.stored() if session else None

    async def sessions(self, user_id: str | None = None, *, after: str = "", limit: int = 100) -> list[SessionRow]:
        wanted = sorted(
            session_id
            for session_id, session in self._state.sessions.items()
            if session_id > after and (user_id is None or session.user_id == user_id)
        )
        return [self._state.sessions[session_id].stored() for session_id in wanted[:limit]]

    async def delete(self, session_id: str, made_at: float | None = None) -> bool:
        session = self._session(session_id)
        if session is None or made_at not in (None, session.made_at):
            return False
        del self._state.sessions[session_id]
        requests = self._state.requests
        self._state.requests = {row.id: row for row in requests.values() if row.session_id != session_id}
        return True

    async def transcript(self, session_id: str, after: int = 0, limit: int | None = None) -> list[bytes]:
        session = self._session(session_id)
        return session.transcript[after : None if limit is None else after + limit] if session else []

    async def transcript_before(self, session_id: str, before: int | None, limit: int) -> tuple[int, list[bytes]]:
        session = self._session(session_id)
        entries = session.transcript if session else []
        end = len(entries) if before is None else min(len(entries), before - 1)
        start = max(0, end - limit)
        return start + 1, entries[start:end]
