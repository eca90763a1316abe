"""A store in memory: everything a store promises, except that it ends with the process.

No method waits for anything, so whatever it does is done in one turn of the event loop, and nobody sees half of it.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import accumulate

from ...storage.brief import Brief, brief
from ...storage.port import (
    LEFT,
    MAX_KEYS,
    PAGE_BYTES,
    TAKEN,
    Change,
    Claim,
    Conflict,
    Head,
    Page,
    Recovered,
    Stopping,
)
from ...storage.rows import (
    INPUT,
    TURN,
    ExecutionRow,
    IdempotencyRow,
    InputRow,
    KeyRow,
    OwnerRow,
    RequestRow,
    SessionRow,
    TurnRow,
)
from .conflicts import refusal
from .encoded import input_of, posted

CLOSED_REQUESTS = 10_000
"""How many requests are remembered that need no answer any more. A database keeps all of them."""


class _Session:
    """A session and all that is its own."""

    __slots__ = (
        *("calls", "events", "executions", "first_seq", "idempotency", "inputs", "row", "transcript", "turns"),
        "unconsumed",
    )

    def __init__(self, row: SessionRow) -> None:
        self.row = row
        self.events: list[bytes] = []
        self.first_seq = 1
        self.executions: dict[str, ExecutionRow] = {}
        self.calls: dict[str, str] = {}
        self.turns: dict[int, TurnRow] = {}
        self.inputs: dict[str, InputRow] = {}
        self.unconsumed: dict[str, None] = {}
        self.transcript: list[bytes] = []
        self.idempotency: dict[str, IdempotencyRow] = {}

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
        return replace(
            self.row,
            last_seq=self.last_seq,
            first_seq=self.first_seq,
            unconsumed=tuple(self.unconsumed),
            active_at=posted(self.events[-1]).at if self.events else None,
        )

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
        self._write_conversation(change)
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
        if (key := change.idempotency) is not None:
            first = self.last_seq - len(change.events) + 1 if change.events else self.last_seq
            self.idempotency[key.key] = key if key.seq is not None else replace(key, seq=first)
            if len(self.idempotency) > MAX_KEYS:
                del self.idempotency[next(iter(self.idempotency))]

    def _write_conversation(self, change: Change) -> None:
        for turn, _, _ in change.turns:
            known = self.turns.get(turn.number)
            is_stopping = turn.cancelling or (known is not None and known.cancelling)
            self.turns[turn.number] = replace(turn, cancelling=is_stopping)
        for number in change.stop_turns:
            if self.turns[number].completed_at is None:
                self.turns[number] = replace(self.turns[number], cancelling=True)
        for row in change.inputs:
            self.inputs[row.id] = row
        for input_id, at in change.deliveries:
            self.inputs[input_id] = replace(self.inputs[input_id], delivered_at=at)


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
        self._locks: set[str] = set()
        """The processes that are entered through this object."""

    async def open(self, woken: Callable[[str | None], None]) -> None:
        """Nobody else can write here, so nobody is ever woken."""

    async def close(self) -> None:
        """Keep everything but the locks of processes: the object can be opened again."""
        self._locks.clear()

    async def verify(self) -> None:
        """A store in memory is never migrated."""

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        return [self._write(change) for change in changes]

    async def probe(self) -> None:
        """There is always room."""

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

    async def events(self, session_id: str, after: int, limit: int, *, max_bytes: int = PAGE_BYTES) -> Page:
        session = self._sessions.get(session_id)
        if session is None:
            return Page(after + 1, [], 1, 0)
        first = max(after + 1, session.first_seq)
        start = first - session.first_seq
        lines = session.events[start : start + limit]
        sizes = accumulate(map(len, lines))
        del lines[next((number for number, size in enumerate(sizes, 1) if size >= max_bytes), len(lines)) :]
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
        waiting = {row.id for row in session.inputs.values() if row.delivered_at is None}
        if waiting:
            gone = next((place for place, line in enumerate(session.events[:gone]) if input_of(line) in waiting), gone)
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

    async def executions_by_key(self, keys: Collection[tuple[str, str]]) -> list[ExecutionRow]:
        found = [await self.execution(*key) for key in dict.fromkeys(keys)]
        return [row for row in found if row is not None]

    async def stopping(self, owner_id: str) -> list[Stopping]:
        executions = [
            Stopping(row.session_id, row.id, row.kind)
            for row in self._unfinished()
            if row.owner == owner_id and row.cancelling
        ]
        turns = [
            Stopping(row.session_id, row.turn_id, TURN)
            for row in self._running_turns()
            if row.owner == owner_id and row.cancelling
        ]
        return executions + turns

    async def brief_executions(
        self,
        session_id: str,
        *,
        before: str | None = None,
        unfinished: bool = False,
        limit: int,
        longest: int,
    ) -> list[Brief[ExecutionRow]]:
        session = self._sessions.get(session_id)
        found: list[Brief[ExecutionRow]] = []
        begun = before is None
        for row in reversed(session.executions.values() if session else ()):
            if len(found) == limit:
                break
            if begun and not (unfinished and row.completed_at is not None):
                found.append(brief(row, longest, "shown", "value", document=None))
            begun = begun or row.id == before
        return found[::-1]

    async def turn(self, session_id: str, number: int) -> TurnRow | None:
        session = self._sessions.get(session_id)
        return session.turns.get(number) if session else None

    async def running_turns(self, session_ids: Collection[str]) -> list[TurnRow]:
        return [row for row in self._running_turns() if row.session_id in session_ids]

    async def inputs(self, session_id: str, ids: Collection[str]) -> list[InputRow]:
        session = self._sessions.get(session_id)
        return [session.inputs[each] for each in sorted(set(ids)) if each in session.inputs] if session else []

    async def request(self, request_id: str) -> RequestRow | None:
        return self._requests.get(request_id)

    async def closed_requests(self, request_ids: Collection[str]) -> list[RequestRow]:
        wanted = set(request_ids)
        return [row for row in self._requests.values() if row.id in wanted and row.status != "open"]

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
        for row in self._requests.values():
            if len(found) == limit:
                break
            fits = row.user_id == user_id and session_id in (None, row.session_id) and status in (None, row.status)
            if begun and fits:
                found.append(brief(row, longest, "payload"))
            begun = begun or row.id == after
        return found

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
        of = None if executions is None else set(executions)
        rows = [
            row
            for row in self._requests.values()
            if (session_id is None or row.session_id == session_id)
            and (user_id is None or row.user_id == user_id)
            and (status is None or row.status == status)
            and (due is None or (row.expires_at is not None and row.expires_at <= due))
            and (of is None or (row.session_id, row.execution_id) in of)
        ]
        return rows[:limit]

    async def next_expiry(self) -> float | None:
        times = (row.expires_at for row in self._requests.values() if row.status == "open")
        return min((time for time in times if time is not None), default=None)

    async def transcript(self, session_id: str, after: int = 0) -> list[bytes]:
        session = self._sessions.get(session_id)
        return session.transcript[after:] if session else []

    async def transcript_before(self, session_id: str, before: int | None, limit: int) -> tuple[int, list[bytes]]:
        session = self._sessions.get(session_id)
        entries = session.transcript if session else []
        end = len(entries) if before is None else min(len(entries), before - 1)
        start = max(0, end - limit)
        return start + 1, entries[start:end]

    async def idempotency(self, session_id: str, key: str) -> IdempotencyRow | None:
        session = self._sessions.get(session_id)
        return session.idempotency.get(key) if session else None

    async def forget_keys(self, before: float) -> int:
        forgotten = 0
        for session in self._sessions.values():
            old = [key for key, row in session.idempotency.items() if row.at < before]
            for key in old:
                del session.idempotency[key]
            forgotten += len(old)
        return forgotten

    async def join(self, owner: OwnerRow) -> None:
        with self._beating:
            self._owners[owner.id] = owner
            self._locks.add(owner.id)

    def beat(self, owner_id: str) -> bool:
        with self._beating:
            owner = self._owners.get(owner_id)
            self._locks.add(owner_id)
            if owner is None or owner.beat < 0:
                return False
            self._owners[owner_id] = replace(owner, beat=owner.beat + 1)
            return True

    async def living(self, owner_ids: Collection[str]) -> dict[str, bool]:
        return {owner_id: owner_id in self._locks for owner_id in owner_ids}

    async def owners(self) -> list[OwnerRow]:
        with self._beating:
            return sorted(self._owners.values(), key=lambda owner: owner.id)

    async def leave(self, owner_id: str) -> None:
        left = any(row.owner == owner_id for row in (*self._unfinished(), *self._running_turns(), *self._waiting()))
        with self._beating:
            owner = self._owners.pop(owner_id, None)
            if owner is not None and left:
                self._owners[owner_id] = replace(owner, beat=LEFT)
            self._locks.discard(owner_id)

    async def recover(self, owner_id: str | None, beat: int, heir: str, *, limit: int = 1000) -> Recovered:
        with self._beating:
            owner = None if owner_id is None else self._owners.get(owner_id)
            if owner_id is not None and (owner is None or owner.beat != beat):
                return Recovered([])
            asked = self._asked()
            held = [row for row in self._unfinished() if row.owner == owner_id]
            if owner is None:
                held = [row for row in held if _goes_on(row, asked.get((row.session_id, row.id), ()))]
            first = set(sorted((row.session_id, row.id) for row in held)[:limit])
            found = [row for row in held if (row.session_id, row.id) in first]
            turns = [row for row in self._running_turns() if row.owner == owner_id]
            inputs = [row for row in self._waiting() if row.owner == owner_id]
            more = len(held) + len(turns) + len(inputs) > limit
            turns = turns[: limit - len(found)]
            inputs = inputs[: limit - len(found) - len(turns)]
            claims: list[Claim] = []
            for row in found:
                rests = owner is not None and _rests(row, asked.get((row.session_id, row.id), ()))
                self._sessions[row.session_id].executions[row.id] = replace(row, owner=None if rests else heir)
                if not rests:
                    claims.append(Claim(row.session_id, row.id, row.user_id, row.kind))
            waiting = len(found) - len(claims)
            for turn in turns:
                self._sessions[turn.session_id].turns[turn.number] = replace(turn, owner=heir)
                claims.append(Claim(turn.session_id, turn.turn_id, turn.user_id, TURN))
            for each in inputs:
                self._sessions[each.session_id].inputs[each.id] = replace(each, owner=heir)
                claims.append(Claim(each.session_id, each.id, each.user_id, INPUT))
            if owner is not None and more:
                self._owners[owner.id] = replace(owner, beat=TAKEN)
            elif owner is not None:
                del self._owners[owner.id]
            return Recovered(claims, waiting, more, found=owner is not None or bool(claims))

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

    def _running_turns(self) -> list[TurnRow]:
        return [
            row
            for _, session in sorted(self._sessions.items())
            for row in session.turns.values()
            if row.completed_at is None
        ]

    def _waiting(self) -> list[InputRow]:
        return [
            row
            for _, session in sorted(self._sessions.items())
            for row in session.inputs.values()
            if row.delivered_at is None
        ]

    def _asked(self) -> dict[tuple[str, str], list[str]]:
        """The statuses of all requests, by session and execution."""
        asked: dict[tuple[str, str], list[str]] = {}
        for request in self._requests.values():
            asked.setdefault((request.session_id, request.execution_id), []).append(request.status)
        return asked


def _goes_on(row: ExecutionRow, asked: Collection[str]) -> bool:
    """Whether an execution that no process holds has something to go on with."""
    return row.cancelling or "answered" in asked or (bool(asked) and "open" not in asked)


def _rests(row: ExecutionRow, asked: Collection[str]) -> bool:
    """Whether an execution of a dead process waits for a person, and needs no process until it is answered."""
    waits = row.status == "waiting" and row.parent_id is None and not row.cancelling
    return waits and "open" in asked and "answered" not in asked
