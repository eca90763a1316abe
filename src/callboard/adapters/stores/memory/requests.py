"""Requests to people in memory."""

from collections.abc import Collection

from ....storage.brief import Brief, brief
from ....storage.rows import RequestRow
from .state import MemoryPart


class MemoryRequestRecords(MemoryPart):
    """`RequestRecords` in memory."""

    async def request(self, request_id: str) -> RequestRow | None:
        return self._state.requests.get(request_id)

    async def closed_requests(self, request_ids: Collection[str]) -> list[RequestRow]:
        wanted = set(request_ids)
        return [row for row in self._state.requests.values() if row.id in wanted and row.status != "open"]

    async def requests(
        self,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        status: str | None = None,
        due: float | None = None,
        executions: Collection[tuple[str, str]] | None = None,
        limit: int = 1000,
    ) -> list[RequestRow]:
        keys = None if executions is None else set(executions)
        rows = [
            row
            for row in self._state.requests.values()
            if _matches(row, user_id, session_id, status)
            and (due is None or (row.expires_at is not None and row.expires_at <= due))
            and (keys is None or (row.session_id, row.execution_id) in keys)
        ]
        return rows[:limit]

    async def brief_requests(
        self,
        *,
        user_id: str,
        session_id: str | None = None,
        status: str | None = None,
        after: str | None = None,
        limit: int,
        longest: int,
    ) -> list[Brief[RequestRow]]:
        found: list[Brief[RequestRow]] = []
        begun = after is None
        for row in self._state.requests.values():
            if len(found) == limit:
                break
            if begun and _matches(row, user_id, session_id, status):
                found.append(brief(row, longest, "payload"))
            begun = begun or row.id == after
        return found

    async def next_expiry(self) -> float | None:
        times = (row.expires_at for row in self._state.requests.values() if row.status == "open")
        return min((time for time in times if time is not None), default=None)


def _matches(row: RequestRow, user_id: str | None, session_id: str | None, status: str | None) -> bool:
    """Return whether a request has these values; None stands for any."""
    return user_id in (None, row.user_id) and session_id in (None, row.session_id) and status in (None, row.status)
