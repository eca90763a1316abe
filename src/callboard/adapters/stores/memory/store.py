"""A store in memory: all promises of a store, except that its contents end with the process.

No method waits, so that each is carried out in one step of the event loop, and its effect is seen whole.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate

from ....storage.brief import Brief, brief
from ....storage.change import Change
from ....storage.errors import Conflict
from ....storage.event_log import PAGE_BYTES, Head, Page
from ....storage.rows import ExecutionRow, IdempotencyRow, InputRow, KeyRow, RequestRow, SessionRow, TurnRow
from ....storage.session_list import ListPosition, SessionSummary
from ....storage.store import Woken
from ....storage.titles import fold_title
from ....types import Wake
from ..event_header import event_header, input_id
from .notes import MemoryNotes
from .owners import MemoryOwners
from .state import MemorySession
from .user_documents import MemoryDocuments


class MemoryStore(MemoryOwners, MemoryNotes, MemoryDocuments):
    """The store of one process, as long as the object exists."""

    durable = False

    async def open(self, woken: Woken) -> None:
        """Do nothing: no other process can write here, so `woken` is never called."""

    async def close(self) -> None:
        """Release the locks of processes and keep everything else: the object can be opened again."""
        self._state.locks.clear()

    async def verify(self) -> None:
        """Do nothing: a store in memory is never migrated."""

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        return [self._state.write(change) for change in changes]

    async def probe(self) -> None:
        """Do nothing: there is always space."""

    async def events(self, session_id: str, after: int, limit: int, *, max_bytes: int = PAGE_BYTES) -> Page:
        session = self._session(session_id)
        if session is None:
            return Page(after + 1, [], 1, 0)
        first = max(after + 1, session.first_seq)
        start = first - session.first_seq
        lines = session.events[start : start + limit]
        sizes = accumulate(map(len, lines))
        del lines[next((number for number, size in enumerate(sizes, 1) if size >= max_bytes), len(lines)) :]
        return Page(first, lines, session.first_seq, session.last_seq, session.made_at)

    async def heads(self, session_ids: Collection[str]) -> dict[str, Head]:
        found = ((session_id, self._session(session_id)) for session_id in session_ids)
        return {session_id: Head(session.last_seq, session.made_at) for session_id, session in found if session}

    async def sessions_to_trim(self, session_ids: Collection[str], *, keep: int, before: float) -> list[str]:
        found = ((session_id, self._session(session_id)) for session_id in sorted(set(session_ids)))
        boards = [(session_id, session.events) for session_id, session in found if session and session.events]
        return [each for each, events in boards if len(events) > keep or event_header(events[0]).at < before]

    async def trim(self, session_id: str, *, keep: int, before: float) -> int:
        session = self._session(session_id)
        if session is None:
            return 1
        gone = max(0, len(session.events) - keep)
        while gone < len(session.events) and event_header(session.events[gone]).at < before:
            gone += 1
        pending = {row.id for row in session.inputs.values() if row.delivered_at is None}
        if pending:
            gone = next((place for place, line in enumerate(session.events[:gone]) if input_id(line) in pending), gone)
        del session.events[:gone]
        session.first_seq += gone
        return session.first_seq

    async def session(self, session_id: str) -> SessionRow | None:
        session = self._session(session_id)
        return session.current_row() if session else None

    async def sessions(self, user_id: str | None = None, *, after: str = "", limit: int = 100) -> list[SessionRow]:
        wanted = sorted(
            session_id
            for session_id, session in self._state.sessions.items()
            if session_id > after and user_id in (None, session.user_id)
        )
        return [self._state.sessions[session_id].current_row() for session_id in wanted[:limit]]

    async def sessions_to_wake(
        self, *, ids: Collection[str] | None = None, after: str = "", limit: int = 100
    ) -> list[tuple[str, str]]:
        wanted = sorted(
            (session_id, session.user_id)
            for session_id, session in self._state.sessions.items()
            if session_id > after and (ids is None or session_id in ids) and session.unconsumed and session.transcript
            if (session.row.open and session.row.wake in (None, Wake.WAKE)) or session.is_paused
        )
        return wanted[:limit]

    async def recent_sessions(
        self,
        user_id: str,
        *,
        now: float,
        before: ListPosition | None = None,
        after: ListPosition | None = None,
        search: str = "",
        limit: int = 100,
    ) -> list[SessionSummary]:
        found = [
            (ListPosition(session.active_at, session_id), session)
            for session_id, session in self._state.sessions.items()
            if session.user_id == user_id and fold_title(search) in fold_title(session.row.title or "")
        ]
        wanted = sorted(
            (each for each in found if (before is None or each[0] < before) and (after is None or each[0] > after)),
            key=lambda each: each[0],
            reverse=True,
        )
        return [self._state.summary(session, now) for _, session in wanted[:limit]]

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

    async def execution(self, session_id: str, execution_id: str) -> ExecutionRow | None:
        session = self._session(session_id)
        return session.executions.get(execution_id) if session else None

    async def execution_of_call(self, session_id: str, call_id: str) -> ExecutionRow | None:
        session = self._session(session_id)
        return session.executions[session.calls[call_id]] if session and call_id in session.calls else None

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
                found.append(brief(row, longest, "display_arguments", "value", document=None))
            begun = begun or row.id == before
        return found[::-1]

    async def turn(self, session_id: str, number: int) -> TurnRow | None:
        session = self._session(session_id)
        return session.turns.get(number) if session else None

    async def running_turns(self, session_ids: Collection[str]) -> list[TurnRow]:
        return [row for row in self._state.running_turns() if row.session_id in session_ids]

    async def usage(self, session_ids: Collection[str]) -> dict[str, bytes]:
        found = ((session_id, self._session(session_id)) for session_id in session_ids)
        usages = ((session_id, session.usage) for session_id, session in found if session)
        return {session_id: usage for session_id, usage in usages if usage is not None}

    async def inputs(self, session_id: str, ids: Collection[str]) -> list[InputRow]:
        session = self._session(session_id)
        return [session.inputs[each] for each in sorted(set(ids)) if each in session.inputs] if session else []

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
        closed: bool = False,
        after: str | None = None,
        limit: int,
        longest: int,
    ) -> list[Brief[RequestRow]]:
        found: list[Brief[RequestRow]] = []
        begun = after is None
        rows = self._state.requests.values()
        for row in reversed(rows) if closed else rows:
            if len(found) == limit:
                break
            if begun and _matches(row, user_id, session_id, status) and not (closed and row.status == "open"):
                found.append(brief(row, longest, "payload"))
            begun = begun or row.id == after
        return found

    async def next_expiry(self) -> float | None:
        times = (row.expires_at for row in self._state.requests.values() if row.status == "open")
        return min((time for time in times if time is not None), default=None)

    async def idempotency(self, session_id: str, key: str) -> IdempotencyRow | None:
        session = self._session(session_id)
        return session.idempotency.get(key) if session else None

    async def forget_idempotency_keys(self, before: float) -> int:
        forgotten = 0
        for session in self._state.sessions.values():
            old = [key for key, row in session.idempotency.items() if row.at < before]
            for key in old:
                del session.idempotency[key]
            forgotten += len(old)
        return forgotten

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

    def _session(self, session_id: str) -> MemorySession | None:
        return self._state.sessions.get(session_id)


def _matches(row: RequestRow, user_id: str | None, session_id: str | None, status: str | None) -> bool:
    """Return whether a request has these values; None stands for any."""
    return user_id in (None, row.user_id) and session_id in (None, row.session_id) and status in (None, row.status)
