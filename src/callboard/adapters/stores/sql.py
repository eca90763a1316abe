"""A store in a database: one implementation for SQLite and PostgreSQL, over synchronous drivers in threads of its own.

One thread writes, a few read, one watches what other processes write. What the two databases do differently stands in
`sqlite.py` and `postgres.py`, and nowhere else.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DataError

from ...storage import patience
from ...storage.brief import Brief
from ...storage.change import Change
from ...storage.errors import Conflict, StoreError
from ...storage.event_log import PAGE_BYTES, Head, Page
from ...storage.owners import Recovered, Stopping
from ...storage.rows import ExecutionRow, IdempotencyRow, InputRow, KeyRow, OwnerRow, RequestRow, SessionRow, TurnRow
from . import keys, removal, revisions
from .backend import Backend, Watch
from .briefly import Briefly
from .connections import ConnectionThreads, PinnedConnection
from .group_commit import Groups
from .loop_notifier import LoopNotifier
from .ownership import Heartbeat
from .reading import Reading

T = TypeVar("T")

READERS = 3
"""How many threads read."""

_MOST = 2**62
"""Beyond every number of an event, and within what databases count to."""


class SqlStore:
    """The store in a database."""

    def __init__(self, database: Backend) -> None:
        self._database = database
        self._reading = Reading(self._database.dialect)
        self._briefly = Briefly()
        self._groups = Groups(self._database)
        self._ownership = Heartbeat(self._database.dialect)
        self._opened: _Opened | None = None

    @property
    def durable(self) -> bool:
        return True

    async def open(self, woken: Callable[[str | None], None]) -> None:
        if self._opened is not None:
            raise StoreError("The store is open already.")
        opened = _Opened(self._database, LoopNotifier(woken))
        try:
            await asyncio.to_thread(opened.begin)
        except BaseException:
            await asyncio.to_thread(opened.end)
            raise
        self._opened = opened

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.notifier.close()
            await asyncio.to_thread(opened.end)

    async def verify(self) -> None:
        await self._here.readers.do(lambda line: line.run(revisions.verify))

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        return await self._here.writer.do(lambda line: self._groups.commit(line, changes))

    async def probe(self) -> None:
        await self._here.writer.do(lambda line: line.run(self._database.probe))

    async def session(self, session_id: str) -> SessionRow | None:
        return await self._read(lambda c: self._reading.session(c, session_id), None)

    async def sessions(self, user_id: str | None = None, *, after: str = "", limit: int = 100) -> list[SessionRow]:
        return await self._read(lambda c: self._reading.sessions(c, user_id, after, limit), [])

    async def delete(self, session_id: str, made_at: float | None = None) -> bool:
        def remove(connection: Connection) -> bool:
            removed = removal.remove(connection, session_id, made_at)
            if removed:
                self._database.notify(connection, [session_id])
            return removed

        return await self._write(remove, False)

    async def events(self, session_id: str, after: int, limit: int, *, max_bytes: int = PAGE_BYTES) -> Page:
        after, limit = min(after, _MOST), min(limit, _MOST)
        nothing = Page(after + 1, [], 1, 0)
        return await self._read(lambda c: self._reading.events(c, session_id, after, limit, max_bytes), nothing)

    async def heads(self, session_ids: Collection[str]) -> dict[str, Head]:
        return await self._read(lambda c: self._reading.heads(c, session_ids), {})

    async def trim(self, session_id: str, *, keep: int, before: float) -> int:
        return await self._write(lambda c: removal.trim(c, session_id, keep, before), 1)

    async def execution(self, session_id: str, execution_id: str) -> ExecutionRow | None:
        return await self._read(lambda c: self._reading.execution(c, session_id, execution_id), None)

    async def execution_of_call(self, session_id: str, call_id: str) -> ExecutionRow | None:
        return await self._read(lambda c: self._reading.execution_of_call(c, session_id, call_id), None)

    async def executions(
        self, session_id: str, *, ids: Collection[str] | None = None, unfinished: bool = False, limit: int = 1000
    ) -> list[ExecutionRow]:
        return await self._read(lambda c: self._reading.executions(c, session_id, ids, unfinished, limit), [])

    async def executions_by_key(self, keys: Collection[tuple[str, str]]) -> list[ExecutionRow]:
        return await self._read(lambda c: self._reading.executions_by_key(c, keys), [])

    async def stopping(self, owner_id: str) -> list[Stopping]:
        return await self._read(lambda c: self._reading.stopping(c, owner_id), [])

    async def brief_executions(
        self,
        session_id: str,
        *,
        before: str | None = None,
        unfinished: bool = False,
        limit: int,
        longest: int,
    ) -> list[Brief[ExecutionRow]]:
        return await self._read(
            lambda c: self._briefly.executions(c, session_id, before, unfinished, limit, longest), []
        )

    async def turn(self, session_id: str, number: int) -> TurnRow | None:
        return await self._read(lambda c: self._reading.turn(c, session_id, number), None)

    async def running_turns(self, session_ids: Collection[str]) -> list[TurnRow]:
        return await self._read(lambda c: self._reading.running_turns(c, session_ids), [])

    async def inputs(self, session_id: str, ids: Collection[str]) -> list[InputRow]:
        return await self._read(lambda c: self._reading.inputs(c, session_id, ids), [])

    async def request(self, request_id: str) -> RequestRow | None:
        return await self._read(lambda c: self._reading.request(c, request_id), None)

    async def closed_requests(self, request_ids: Collection[str]) -> list[RequestRow]:
        return await self._read(lambda c: self._reading.closed_requests(c, request_ids), [])

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
        wanted = {"user_id": user_id, "session_id": session_id, "status": status}
        return await self._read(lambda c: self._briefly.requests(c, after, limit, longest, **wanted), [])

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
        wanted = {"session_id": session_id, "user_id": user_id, "status": status}
        return await self._read(lambda c: self._reading.requests(c, limit, due, executions, **wanted), [])

    async def next_expiry(self) -> float | None:
        return await self._read(self._reading.next_expiry, None)

    async def transcript(self, session_id: str, after: int = 0, limit: int | None = None) -> list[bytes]:
        after, most = min(after, _MOST), _MOST if limit is None else min(limit, _MOST)
        return await self._read(lambda c: self._reading.transcript(c, session_id, after, most), [])

    async def transcript_before(self, session_id: str, before: int | None, limit: int) -> tuple[int, list[bytes]]:
        end = _MOST if before is None else min(before, _MOST)
        return await self._read(lambda c: self._reading.transcript_before(c, session_id, end, limit), (1, []))

    async def idempotency(self, session_id: str, key: str) -> IdempotencyRow | None:
        return await self._read(lambda c: self._reading.idempotency(c, session_id, key), None)

    async def forget_keys(self, before: float) -> int:
        return await self._write(lambda c: removal.forget_keys(c, before), 0)

    async def join(self, owner: OwnerRow) -> None:
        def enter(connection: Connection) -> None:
            here.locks.hold(connection, owner.id)
            self._ownership.join(connection, owner)

        here = self._here
        await asyncio.to_thread(here.beats.run, _checked(enter))

    def beat(self, owner_id: str) -> bool:
        def beat(connection: Connection) -> bool:
            here.locks.hold(connection, owner_id)
            return self._ownership.beat(connection, owner_id)

        here = self._here
        return here.beats.run(_checked(beat))

    async def living(self, owner_ids: Collection[str]) -> dict[str, bool]:
        here = self._here
        return await self._read(lambda c: here.locks.held(c, owner_ids), {})

    async def owners(self) -> list[OwnerRow]:
        return await self._read(self._reading.owners, [])

    async def leave(self, owner_id: str) -> None:
        # Also where the store was migrated meanwhile: what the process leaves behind can be taken over at once.
        here = self._here
        await here.writer.do(
            lambda line: line.run(lambda c: self._ownership.leave(c, owner_id)), patience.writer(), writes=True
        )
        await asyncio.to_thread(here.beats.run, lambda c: here.locks.release(c, owner_id))

    async def recover(self, owner_id: str | None, beat: int, heir: str, *, limit: int = 1000) -> Recovered:
        def recover(line: PinnedConnection) -> Recovered:
            done = line.run(_checked(lambda c: self._ownership.recover(c, owner_id, beat, heir, limit)))
            self._ownership.settle()
            return done

        here = self._here
        if owner_id is None and self._ownership.settled and not await self._read(self._ownership.any_ready, False):
            return Recovered([])  # a look costs no transaction that writes
        recovered = await here.writer.do(recover)
        if owner_id is not None and recovered.found and not recovered.more:
            here.locks.forget(owner_id)
        return recovered

    async def add_key(self, row: KeyRow) -> None:
        await self._here.writer.do(lambda line: line.run(_checked(lambda c: keys.add(c, row))))

    async def key(self, key_id: str) -> KeyRow | None:
        return await self._read(lambda c: keys.find(c, key_id), None)

    async def keys(self, user_id: str | None = None, *, limit: int = 1000) -> list[KeyRow]:
        return await self._read(lambda c: keys.listed(c, user_id, limit), [])

    async def revoke_key(self, key_id: str, at: float) -> KeyRow | None:
        return await self._write(lambda c: keys.revoke(c, key_id, at), None)

    async def key_used(self, key_id: str, at: float) -> None:
        await self._write(lambda c: keys.used(c, key_id, at), None)

    @property
    def _here(self) -> "_Opened":
        if self._opened is None:
            raise StoreError("The store is not open.")
        return self._opened

    async def _read(self, job: Callable[[Connection], T], nothing: T) -> T:
        """The answer to a question; `nothing` where it names what no database can hold."""
        try:
            return await self._here.readers.do(lambda line: line.run(job), patience.reader())
        except (DataError, ValueError):  # a name that no database can hold
            return nothing

    async def _write(self, job: Callable[[Connection], T], nothing: T) -> T:
        try:
            return await self._here.writer.do(lambda line: line.run(_checked(job)), patience.writer(), writes=True)
        except (DataError, ValueError):
            return nothing


class _Opened:
    """What lives between `open` and `close`: the threads and their connections. Its methods wait."""

    def __init__(self, database: Backend, notifier: LoopNotifier) -> None:
        self._database = database
        self._line = PinnedConnection(database, writes=True)
        self._watch: Watch | None = None
        self.notifier = notifier
        self.writer = ConnectionThreads("callboard-store-writer", self._line)
        self.readers = ConnectionThreads(
            "callboard-store-reader", *(PinnedConnection(database, writes=False) for _ in range(READERS))
        )
        self.beats = database.beats(self._line)
        self.locks = database.locks()

    def begin(self) -> None:
        self._database.prepare()
        self._line.run(self._database.entered)
        try:
            self._watch = self._database.watch(self._line, self.notifier)
        except Exception as error:
            raise self._database.explained(error) or error from error

    def end(self) -> None:
        if self._watch is not None:
            self._watch.close()
            with suppress(StoreError):
                self._line.run(self._database.left)
        self.writer.close()
        self.readers.close()
        self.beats.close()
        self.locks.close()


def _checked(job: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """A job that is done only in a database of this version's revision. Raises `StoreOutdated`."""

    def run(connection: Connection) -> T:
        revisions.verify(connection)
        return job(connection)

    return run
