"""A store in memory: everything a store promises, except that it ends with the process.

No method waits for anything, so whatever it does is done in one turn of the event loop, and nobody sees half of it.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from ...storage.port import PAGE_BYTES, Change, Conflict, Head, Page
from ...storage.rows import INPUT, ExecutionRow, KeyRow, OwnerRow, RequestRow, SessionRow
from .encoded import input_of, posted
from .guards import refusal

CLOSED_REQUESTS = 10_000
"""How many requests are remembered that need no answer any more. A database keeps all of them."""


class _Session:
    """A session and all that is its own."""

    __slots__ = ("calls", "events", "executions", "first_seq", "row", "transcript", "unconsumed")

    def __init__(self, row: SessionRow) -> None:
        self.row = row
        self.events: list[bytes] = []
        self.first_seq = 1
        self.executions: dict[str, ExecutionRow] = {}
        self.calls: dict[str, str] = {}
        self.unconsumed: dict[str, None] = {}
        self.transcript: list[bytes] = []

    @property
    def user_id(self) -> str:
        return self.row.user_id

    @property
    def made_at(self) -> float:
        return self.row.created_at

    @property
    def last_seq(self) -> int:
        return self.first_seq + len(self.events) - 1

    @property
    def entries(self) -> int:
        return len(self.transcript)

    def stored(self) -> SessionRow:
        return replace(self.row, last_seq=self.last_seq, first_seq=self.first_seq, unconsumed=tuple(self.unconsumed))

    def write(self, change: Change) -> None:
        """Take in a change that fits."""
        if change.session is not None:
            self.row = replace(change.session, created_at=self.row.created_at, writes=self.row.writes + 1)
        for write in change.executions:
            row = write.row
            known = self.executions.get(row.id)
            if known is not None and known.cancelling and not row.cancelling:
                row = replace(row, cancelling=True)
            self.executions[row.id] = row
            self.calls[row.call_id] = row.id
        for execution_id in change.late:
            self.unconsumed[execution_id] = None
        for execution_id in change.taken:
            del self.unconsumed[execution_id]
        for execution_id in change.cancel:
            row = self.executions[execution_id]
            if row.completed_at is None and not row.cancelling:
                self.executions[execution_id] = replace(row, cancelling=True)
        self.transcript += change.transcript
        self.events += change.events


class MemoryStore:
    """The store of one process, for as long as it lives."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}
        self._requests: dict[str, RequestRow] = {}
        self._closed: dict[str, None] = {}
        """The requests that need no answer any more, the one that was closed first at first."""
        self._owners: dict[str, OwnerRow] = {}
        self._keys: dict[str, KeyRow] = {}
        self._beating = threading.Lock()

    async def open(self, woken: Callable[[str | None], None]) -> None:
        """Nobody else can write here, so nobody is ever woken."""

    async def close(self) -> None:
        """Everything stays, for whoever opens this object again."""

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        return [self._write(change) for change in changes]

    async def session(self, session_id: str) -> SessionRow | None:
        session = self._sessions.get(session_id)
        return session.stored() if session else None

    async def sessions(self, user_id: str | None = None, *, after: str = "", limit: int = 100) -> list[SessionRow]:
        wanted = sorted(
            session_id
            for session_id, session in self._sessions.items()
            if session_id > after and (user_id is None or session.user_id == user_id)
        )
        return [self._sessions[session_id].stored() for session_id in wanted[:limit]]

    async def delete(self, session_id: str, made_at: float | None = None) -> bool:
        session = self._sessions.get(session_id)
        if session is None or made_at not in (None, session.made_at):
            return False
        del self._sessions[session_id]
        self._requests = {row.id: row for row in self._requests.values() if row.session_id != session_id}
        return True

    async def events(self, session_id: str, after: int, limit: int) -> Page:
        session = self._sessions.get(session_id)
        if session is None:
            return Page(after + 1, [], 1, 0)
        first = max(after + 1, session.first_seq)
        start = first - session.first_seq
        lines = session.events[start : start + limit]
        before = 0
        for place, line in enumerate(lines):
            if before >= PAGE_BYTES:
                del lines[place:]
                break
            before += len(line)
        return Page(first, lines, session.first_seq, session.last_seq)

    async def heads(self, session_ids: Collection[str]) -> dict[str, Head]:
        found = ((session_id, self._sessions.get(session_id)) for session_id in session_ids)
        return {each: Head(session.last_seq, session.made_at) for each, session in found if session}

    async def trim(self, session_id: str, *, keep: int, before: float) -> int:
        session = self._sessions.get(session_id)
        if session is None:
            return 1
        gone = max(0, len(session.events) - keep)
        while gone < len(session.events) and posted(session.events[gone]).at < before:
            gone += 1
        untold = {row.id for row in session.executions.values() if row.kind == INPUT and row.completed_at is None}
        if untold:
            gone = next((place for place, line in enumerate(session.events[:gone]) if input_of(line) in untold), gone)
        del session.events[:gone]
        session.first_seq += gone
        return session.first_seq

    async def execution(self, session_id: str, execution_id: str) -> ExecutionRow | None:
        session = self._sessions.get(session_id)
        return session.executions.get(execution_id) if session else None

    async def execution_of_call(self, session_id: str, call_id: str) -> ExecutionRow | None:
        session = self._sessions.get(session_id)
        if session is None or call_id not in session.calls:
            return None
        return session.executions[session.calls[call_id]]

    async def executions(
        self, session_id: str, *, ids: Collection[str] | None = None, unfinished: bool = False, limit: int = 1000
    ) -> list[ExecutionRow]:
        session = self._sessions.get(session_id)
        wanted = None if ids is None else set(ids)
        rows = [
            row
            for row in (session.executions.values() if session else ())
            if (wanted is None or row.id in wanted) and not (unfinished and row.completed_at is not None)
        ]
        return rows[max(0, len(rows) - limit) :]

    async def request(self, request_id: str) -> RequestRow | None:
        return self._requests.get(request_id)

    async def requests(
        self,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        status: str | None = None,
        due: float | None = None,
        limit: int = 1000,
    ) -> list[RequestRow]:
        rows = [
            row
            for row in self._requests.values()
            if (session_id is None or row.session_id == session_id)
            and (user_id is None or row.user_id == user_id)
            and (status is None or row.status == status)
            and (due is None or (row.expires_at is not None and row.expires_at <= due))
        ]
        return rows[:limit]

    async def transcript(self, session_id: str, after: int = 0) -> list[bytes]:
        session = self._sessions.get(session_id)
        return session.transcript[after:] if session else []

    async def join(self, owner: OwnerRow) -> None:
        with self._beating:
            self._owners[owner.id] = owner

    def beat(self, owner_id: str) -> bool:
        with self._beating:
            owner = self._owners.get(owner_id)
            if owner is None or owner.beat < 0:
                return False
            self._owners[owner_id] = replace(owner, beat=owner.beat + 1)
            return True

    async def owners(self) -> list[OwnerRow]:
        with self._beating:
            return sorted(self._owners.values(), key=lambda owner: owner.id)

    async def leave(self, owner_id: str) -> None:
        left = any(row.owner == owner_id for row in self._unfinished())
        with self._beating:
            owner = self._owners.pop(owner_id, None)
            if owner is not None and left:
                self._owners[owner_id] = replace(owner, beat=-1)

    async def recover(self, owner_id: str | None, beat: int, heir: str) -> list[ExecutionRow]:
        if owner_id is None:
            found = [row for row in self._unfinished() if row.owner is None and self._goes_on(row)]
        else:
            with self._beating:
                owner = self._owners.get(owner_id)
                if owner is None or owner.beat != beat:
                    return []
                del self._owners[owner_id]
            found = [row for row in self._unfinished() if row.owner == owner_id]
        given = [replace(row, owner=heir) for row in found]
        for row in given:
            self._sessions[row.session_id].executions[row.id] = row
        return given

    async def add_key(self, row: KeyRow) -> None:
        if self._keys.setdefault(row.id, row) != row:
            raise Conflict(f"There is a key {row.id} already.")

    async def key(self, key_id: str) -> KeyRow | None:
        return self._keys.get(key_id)

    async def keys(self, user_id: str | None = None, *, limit: int = 1000) -> list[KeyRow]:
        return [row for row in self._keys.values() if user_id is None or row.user_id == user_id][:limit]

    async def revoke_key(self, key_id: str, at: float) -> KeyRow | None:
        row = self._keys.get(key_id)
        if row is not None and row.revoked_at is None:
            row = self._keys[key_id] = replace(row, revoked_at=at)
        return row

    async def key_used(self, key_id: str, at: float) -> None:
        row = self._keys.get(key_id)
        if row is not None and (row.last_used_at is None or row.last_used_at < at):
            self._keys[key_id] = replace(row, last_used_at=at)

    def _write(self, change: Change) -> int | Conflict:
        session = self._sessions.get(change.session_id)
        conflict = refusal(change, session, self._requests)
        if conflict is not None:
            return conflict
        if session is None:
            assert change.session is not None
            session = self._sessions[change.session_id] = _Session(replace(change.session, writes=0))
        for write in change.requests:
            self._requests[write.row.id] = write.row
            if write.row.status not in ("open", "answered"):
                self._closed[write.row.id] = None
                if len(self._closed) > CLOSED_REQUESTS:
                    oldest = next(iter(self._closed))
                    del self._closed[oldest]
                    self._requests.pop(oldest, None)
        session.write(change)
        return session.last_seq

    def _unfinished(self) -> list[ExecutionRow]:
        return [
            row
            for _, session in sorted(self._sessions.items())
            for row in session.executions.values()
            if row.completed_at is None
        ]

    def _goes_on(self, row: ExecutionRow) -> bool:
        """Whether an execution that nobody holds has something to go on with."""
        asked = [
            request.status
            for request in self._requests.values()
            if request.session_id == row.session_id and request.execution_id == row.id
        ]
        return row.cancelling or "answered" in asked or (bool(asked) and "open" not in asked)
