"""A store in a database: one implementation for SQLite and PostgreSQL, over synchronous drivers in threads of its own.

One thread writes, a few read, and one receives notifications of other processes. The differences between the databases
are in the packages `sqlite` and `postgres` only.
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
from . import key_queries, pruning, revisions
from .backend import Backend, Watch
from .brief_queries import brief_executions, brief_requests
from .connections import ConnectionThreads, PinnedConnection
from .group_commit import GroupCommit
from .loop_notifier import LoopNotifier
from .owner_queries import OwnerQueries
from .queries import Queries

T = TypeVar("T")

READERS = 3
"""The number of threads that read."""

_MOST = 2**62
"""A number beyond every number of an event that databases can hold."""


class SqlStore:
    """The store in a database."""

    def __init__(self, database: Backend) -> None:
        self._database = database
        self._queries = Queries(database.key_filter)
        self._groups = GroupCommit(database)
        self._owners = OwnerQueries(database.statements, database.key_filter)
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
        await self._here.readers.do(lambda connection: connection.run(revisions.verify))

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        return await self._here.writer.do(lambda connection: self._groups.commit(connection, changes))

    async def probe(self) -> None:
        await self._here.writer.do(lambda connection: connection.run(self._database.probe))

    async def session(self, session_id: str) -> SessionRow | None:
        return await self._read(lambda c: self._queries.session(c, session_id), None)

    async def sessions(self, user_id: str | None = None, *, after: str = "", limit: int = 100) -> list[SessionRow]:
        return await self._read(lambda c: self._queries.sessions(c, user_id, after, limit), [])

    async def delete(self, session_id: str, made_at: float | None = None) -> bool:
        def remove(connection: Connection) -> bool:
            removed = pruning.delete_session(connection, session_id, made_at)
            if removed:
                self._database.notify(connection, [session_id])
            return removed

        return await self._write(remove, False)

    async def events(self, session_id: str, after: int, limit: int, *, max_bytes: int = PAGE_BYTES) -> Page:
        after, limit = min(after, _MOST), min(limit, _MOST)
        nothing = Page(after + 1, [], 1, 0)
        return await self._read(lambda c: self._queries.events(c, session_id, after, limit, max_bytes), nothing)

    async def heads(self, session_ids: Collection[str]) -> dict[str, Head]:
        return await self._read(lambda c: self._queries.heads(c, session_ids), {})

    async def trim(self, session_id: str, *, keep: int, before: float) -> int:
        return await self._write(lambda c: pruning.trim(c, session_id, keep, before), 1)

    async def execution(self, session_id: str, execution_id: str) -> ExecutionRow | None:
        return await self._read(lambda c: self._queries.execution(c, session_id, execution_id), None)

    async def execution_of_call(self, session_id: str, call_id: str) -> ExecutionRow | None:
        return await self._read(lambda c: self._queries.execution_of_call(c, session_id, call_id), None)

    async def executions(
        self, session_id: str, *, ids: Collection[str] | None = None, unfinished: bool = False, limit: int = 1000
    ) -> list[ExecutionRow]:
        return await self._read(lambda c: self._queries.executions(c, session_id, ids, unfinished, limit), [])

    async def executions_by_key(self, keys: Collection[tuple[str, str]]) -> list[ExecutionRow]:
        return await self._read(lambda c: self._queries.executions_by_key(c, keys), [])

    async def stopping(self, owner_id: str) -> list[Stopping]:
        return await self._read(lambda c: self._queries.stopping(c, owner_id), [])

    async def brief_executions(
        self,
        session_id: str,
        *,
        before: str | None = None,
        unfinished: bool = False,
        limit: int,
        longest: int,
    ) -> list[Brief[ExecutionRow]]:
        return await self._read(lambda c: brief_executions(c, session_id, before, unfinished, limit, longest), [])

    async def turn(self, session_id: str, number: int) -> TurnRow | None:
        return await self._read(lambda c: self._queries.turn(c, session_id, number), None)

    async def running_turns(self, session_ids: Collection[str]) -> list[TurnRow]:
        return await self._read(lambda c: self._queries.running_turns(c, session_ids), [])

    async def inputs(self, session_id: str, ids: Collection[str]) -> list[InputRow]:
        return await self._read(lambda c: self._queries.inputs(c, session_id, ids), [])

    async def request(self, request_id: str) -> RequestRow | None:
        return await self._read(lambda c: self._queries.request(c, request_id), None)

    async def closed_requests(self, request_ids: Collection[str]) -> list[RequestRow]:
        return await self._read(lambda c: self._queries.closed_requests(c, request_ids), [])

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
        return await self._read(lambda c: brief_requests(c, after, limit, longest, **wanted), [])

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
        return await self._read(lambda c: self._queries.requests(c, limit, due, executions, **wanted), [])

    async def next_expiry(self) -> float | None:
        return await self._read(self._queries.next_expiry, None)

    async def transcript(self, session_id: str, after: int = 0, limit: int | None = None) -> list[bytes]:
        after, most = min(after, _MOST), _MOST if limit is None else min(limit, _MOST)
        return await self._read(lambda c: self._queries.transcript(c, session_id, after, most), [])

    async def transcript_before(self, session_id: str, before: int | None, limit: int) -> tuple[int, list[bytes]]:
        end = _MOST if before is None else min(before, _MOST)
        return await self._read(lambda c: self._queries.transcript_before(c, session_id, end, limit), (1, []))

    async def idempotency(self, session_id: str, key: str) -> IdempotencyRow | None:
        return await self._read(lambda c: self._queries.idempotency(c, session_id, key), None)

    async def forget_keys(self, before: float) -> int:
        return await self._write(lambda c: pruning.forget_keys(c, before), 0)

    async def join(self, owner: OwnerRow) -> None:
        def join(connection: Connection) -> None:
            here.locks.hold(connection, owner.id)
            self._owners.join(connection, owner)

        here = self._here
        await asyncio.to_thread(here.heartbeats.run, _checked(join))

    def beat(self, owner_id: str) -> bool:
        def beat(connection: Connection) -> bool:
            here.locks.hold(connection, owner_id)
            return self._owners.beat(connection, owner_id)

        here = self._here
        return here.heartbeats.run(_checked(beat))

    async def living(self, owner_ids: Collection[str]) -> dict[str, bool]:
        here = self._here
        return await self._read(lambda c: here.locks.held(c, owner_ids), {})

    async def owners(self) -> list[OwnerRow]:
        return await self._read(self._queries.owners, [])

    async def leave(self, owner_id: str) -> None:
        # Also if the store was migrated meanwhile: what the process leaves behind can be recovered at once.
        here = self._here
        await here.writer.do(
            lambda connection: connection.run(lambda c: self._owners.leave(c, owner_id)), patience.writer(), writes=True
        )
        await asyncio.to_thread(here.heartbeats.run, lambda c: here.locks.release(c, owner_id))

    async def recover(self, owner_id: str | None, beat: int, heir: str, *, limit: int = 1000) -> Recovered:
        def recover(connection: PinnedConnection) -> Recovered:
            done = connection.run(_checked(lambda c: self._owners.recover(c, owner_id, beat, heir, limit)))
            self._owners.settle()
            return done

        here = self._here
        if owner_id is None and self._owners.settled and not await self._read(self._owners.any_ready, False):
            return Recovered([])  # polling costs no writing transaction
        recovered = await here.writer.do(recover)
        if owner_id is not None and recovered.found and not recovered.more:
            here.locks.forget(owner_id)
        return recovered

    async def add_key(self, row: KeyRow) -> None:
        await self._here.writer.do(lambda connection: connection.run(_checked(lambda c: key_queries.add(c, row))))

    async def key(self, key_id: str) -> KeyRow | None:
        return await self._read(lambda c: key_queries.find(c, key_id), None)

    async def keys(self, user_id: str | None = None, *, limit: int = 1000) -> list[KeyRow]:
        return await self._read(lambda c: key_queries.listed(c, user_id, limit), [])

    async def revoke_key(self, key_id: str, at: float) -> KeyRow | None:
        return await self._write(lambda c: key_queries.revoke(c, key_id, at), None)

    async def key_used(self, key_id: str, at: float) -> None:
        await self._write(lambda c: key_queries.used(c, key_id, at), None)

    @property
    def _here(self) -> "_Opened":
        if self._opened is None:
            raise StoreError("The store is not open.")
        return self._opened

    async def _read(self, job: Callable[[Connection], T], nothing: T) -> T:
        """Return the result of a query; `nothing` if it names what no database can hold."""
        try:
            return await self._here.readers.do(lambda connection: connection.run(job), patience.reader())
        except (DataError, ValueError):  # a name that no database can hold
            return nothing

    async def _write(self, job: Callable[[Connection], T], nothing: T) -> T:
        try:
            return await self._here.writer.do(
                lambda connection: connection.run(_checked(job)), patience.writer(), writes=True
            )
        except (DataError, ValueError):
            return nothing


class _Opened:
    """The threads and connections of an open store. Its methods block."""

    def __init__(self, database: Backend, notifier: LoopNotifier) -> None:
        self._database = database
        self._writer = PinnedConnection(database, writes=True)
        self._watch: Watch | None = None
        self.notifier = notifier
        self.writer = ConnectionThreads("callboard-store-writer", self._writer)
        self.readers = ConnectionThreads(
            "callboard-store-reader", *(PinnedConnection(database, writes=False) for _ in range(READERS))
        )
        self.heartbeats = database.heartbeat_connection(self._writer)
        self.locks = database.locks()

    def begin(self) -> None:
        self._database.prepare()
        self._writer.run(self._database.register)
        try:
            self._watch = self._database.watch(self.notifier)
        except Exception as error:
            raise self._database.translate_error(error) or error from error

    def end(self) -> None:
        if self._watch is not None:
            self._watch.close()
            with suppress(StoreError):
                self._writer.run(self._database.unregister)
        self.writer.close()
        self.readers.close()
        self.heartbeats.close()
        self.locks.close()


def _checked(job: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """Return a job that raises `StoreOutdated` unless the database has the revision of this version."""

    def run(connection: Connection) -> T:
        revisions.verify(connection)
        return job(connection)

    return run
