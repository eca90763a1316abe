"""Executions in memory."""

from collections.abc import Collection

from ....storage.brief import Brief, brief
from ....storage.rows import ExecutionRow
from .state import MemoryPart


class MemoryExecutionRecords(MemoryPart):
    """`ExecutionRecords` in memory."""

    async def execution(self, session_id: str, execution_id: str) -> ExecutionRow | None:
        session = self._session(session_id)
        return session.executions.get(execution_id) if session else None

    async def execution_of_call(self, session_id: str, call_id: str) -> ExecutionRow | None:
        session = self._session(session_id)
        if session is None or call_id not in session.calls:
            return None
        return session.executions[session.calls[call_id]]

    async def executions(
        self, session_id: str, *, ids: Collection[str] | None = None, unfinished: bool = False, limit: int = 1000
    ) -> list[ExecutionRow]:
        session = self._session(session_id)
        wanted = None if ids is None else set(ids)
        rows = [
            row
            for row in (session.executions.values() if session else ())
            if (wanted is None or row.id in wanted) and not (unfinished and row.completed_at is not None)
        ]
        return rows[max(0, len(rows) - limit) :]

    async def executions_by_key(self, keys: Collection[tuple[str, str]]) -> list[ExecutionRow]:
        found = [await self.execution(*key) for key in dict.fromkeys(keys)]
        return [row for row in found if row is not None]

    async def brief_executions(
        self,
        session_id: str,
        *,
        before: str | None = None,
        unfinished: bool = False,
        limit: int,
        longest: int,
    ) -> list[Brief[ExecutionRow]]:
        session = self._session(session_id)
        found: list[Brief[ExecutionRow]] = []
        begun = before is None
        for row in reversed(session.executions.values() if session else ()):
            if len(found) == limit:
                break
            if begun and not (unfinished and row.completed_at is not None):
                found.append(brief(row, longest, "shown", "value", document=None))
            begun = begun or row.id == before
        return found[::-1]
