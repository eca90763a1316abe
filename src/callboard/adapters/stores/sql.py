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

from ...storage.port import Change, Conflict, Head, Page, StoreError
from ...storage.rows import ExecutionRow, IdempotencyRow, KeyRow, OwnerRow, RequestRow, SessionRow
from . import keys, removal
from .addresses import postgres_url, sqlite_path
from .backend import Backend, Watch
from .groups import Groups
from .lines import Clerks, Line
from .ownership import Ownership
from .reading import Reading
from .revisions import Look, Migrated
from .sqlite import SqliteDatabase
from .waking import Waking

T = TypeVar("T")

READERS = 3
"""How many threads read."""

_MOST = 2**62
"""Beyond every number of an event, and within what databases count to."""


def migrate(url: str) -> Migrated:
    """Bring the database at an address to the newest revision of the tables. Raises `StoreError`."""
    return _backend(url).migrate()


def look(url: str) -> Look:
    """How the database at an address stands; nothing is changed. Raises `StoreError`."""
    return _backend(url).look()


class SqlStore:
    """The store at a database's address."""

    def __init__(self, url: str) -> None:
        self._database = _backend(url)
        self._reading = Reading(self._database.dialect)
        self._groups = Groups(self._database)
        self._ownership = Ownership(self._database.dialect)
        self._opened: _Opened | None = None

    async def open(self, woken: Callable[[str | None], None]) -> None:
        if self._opened is not None:
            raise StoreError("The store is open already.")
        opened = _Opened(self._database, Waking(woken))
        try:
            await asyncio.to_thread(opened.begin)
        except BaseException:
            await asyncio.to_thread(opened.end)
            raise
        self._opened = opened

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.waking.close()
            await asyncio.to_thread(opened.end)

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        return await self._here.writer.do(lambda line: self._groups.commit(line, changes))

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

    async def events(self, session_id: str, after: int, limit: int) -> Page:
        after, limit = min(after, _MOST), min(limit, _MOST)
        nothing = Page(after + 1, [], 1, 0)
        return await self._read(lambda c: self._reading.events(c, session_id, after, limit), nothing)

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

    async def request(self, request_id: str) -> RequestRow | None:
        return await self._read(lambda c: self._reading.request(c, request_id), None)

    async def requests(
        self,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        status: str | None = None,
        due: float | None = None,
        limit: int = 1000,
    ) -> list[RequestRow]:
        wanted = {"session_id": session_id, "user_id": user_id, "status": status}
        return await self._read(lambda c: self._reading.requests(c, limit, due, **wanted), [])

    async def transcript(self, session_id: str, after: int = 0) -> list[bytes]:
        return await self._read(lambda c: self._reading.transcript(c, session_id, min(after, _MOST)), [])

    async def idempotency(self, session_id: str, key: str) -> IdempotencyRow | None:
        return await self._read(lambda c: self._reading.idempotency(c, session_id, key), None)

    async def forget_keys(self, before: float) -> int:
        return await self._write(lambda c: removal.forget_keys(c, before), 0)

    async def join(self, owner: OwnerRow) -> None:
        await self._here.writer.do(lambda line: line.run(lambda c: self._ownership.join(c, owner)))

    def beat(self, owner_id: str) -> bool:
        return self._here.beats.run(lambda c: self._ownership.beat(c, owner_id))

    async def owners(self) -> list[OwnerRow]:
        return await self._read(self._reading.owners, [])

    async def leave(self, owner_id: str) -> None:
        await self._write(lambda c: self._ownership.leave(c, owner_id), None)

    async def recover(self, owner_id: str | None, beat: int, heir: str) -> list[ExecutionRow]:
        def recover(line: Line) -> list[ExecutionRow]:
            given = line.run(lambda c: self._ownership.recover(c, owner_id, beat, heir))
            self._ownership.settle()
            return given

        return await self._here.writer.do(recover)

    async def add_key(self, row: KeyRow) -> None:
        await self._here.writer.do(lambda line: line.run(lambda c: keys.add(c, row)))

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
        return await _answered(self._here.readers, job, nothing)

    async def _write(self, job: Callable[[Connection], T], nothing: T) -> T:
        return await _answered(self._here.writer, job, nothing)


class _Opened:
    """What lives between `open` and `close`: the threads and their connections. Its methods wait."""

    def __init__(self, database: Backend, waking: Waking) -> None:
        self._database = database
        self._line = Line(database, writes=True)
        self._watch: Watch | None = None
        self.waking = waking
        self.writer = Clerks("callboard-store-writer", self._line)
        self.readers = Clerks("callboard-store-reader", *(Line(database, writes=False) for _ in range(READERS)))
        self.beats = database.beats(self._line)

    def begin(self) -> None:
        self._database.prepare()
        self._line.run(self._database.entered)
        try:
            self._watch = self._database.watch(self._line, self.waking)
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


async def _answered(clerks: Clerks, job: Callable[[Connection], T], nothing: T) -> T:
    try:
        return await clerks.do(lambda line: line.run(job))
    except (DataError, ValueError):  # a name that no database can hold
        return nothing


def _backend(url: str) -> Backend:
    """The one place where the two are told apart."""
    if url.startswith("sqlite:"):
        return SqliteDatabase(sqlite_path(url))
    from .postgres import PostgresDatabase

    return PostgresDatabase(postgres_url(url))
