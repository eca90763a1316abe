"""Idempotency keys in memory."""

from ....storage.rows import IdempotencyRow
from .state import MemoryPart


class MemoryIdempotencyRecords(MemoryPart):
    """`IdempotencyRecords` in memory."""

    async def idempotency(self, session_id: str, key: str) -> IdempotencyRow | None:
        session = self._session(session_id)
        return session.idempotency.get(key) if session else None

    async def forget_keys(self, before: float) -> int:
        forgotten = 0
        for session in self._state.sessions.values():
            old = [key for key, row in session.idempotency.items() if row.at < before]
            for key in old:
                del session.idempotency[key]
            forgotten += len(old)
        return forgotten
