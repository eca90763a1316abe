"""API keys in memory."""

from dataclasses import replace

from ....storage.errors import Conflict
from ....storage.rows import KeyRow
from .state import MemoryPart


class MemoryKeyRecords(MemoryPart):
    """`KeyRecords` in memory."""

    async def add_key(self, row: KeyRow) -> None:
        if self._state.keys.setdefault(row.id, row) != row:
            raise Conflict(f"There is a key {row.id} already.")

    async def key(self, key_id: str) -> KeyRow | None:
        return self._state.keys.get(key_id)

    async def keys(self, user_id: str | None = None, *, limit: int = 1000) -> list[KeyRow]:
        return [row for row in self._state.keys.values() if user_id in (None, row.user_id)][:limit]

    async def revoke_key(self, key_id: str, at: float) -> KeyRow | None:
        row = self._state.keys.get(key_id)
        if row is not None and row.revoked_at is None:
            row = self._state.keys[key_id] = replace(row, revoked_at=at)
        return row

    async def key_used(self, key_id: str, at: float) -> None:
        row = self._state.keys.get(key_id)
        if row is not None and (row.last_used_at is None or row.last_used_at < at):
            self._state.keys[key_id] = replace(row, last_used_at=at)
