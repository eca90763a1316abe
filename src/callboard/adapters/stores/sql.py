"""A store in a database: one implementation for SQLite and PostgreSQL, over synchronous drivers in threads of its own.

`SqlReads` has the methods that read. The differences between the databases are in the packages `sqlite` and `postgres`
only.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DataError

from ...storage import patience
from ...storage.change import Change
from ...storage.document_records import CollectionLimits, DocumentRow, DocumentWrite
from ...storage.errors import Conflict, StoreError
from ...storage.owners import Recovered
from ...storage.queues import Claimed
from ...storage.rows import KeyRow, OwnerRow
from ...storage.store import Woken
from ...user_memory import Note
from . import document_queries, key_queries, note_queries, pruning, revisions
from .backend import Backend
from .connections import PinnedConnection
from .group_commit import GroupCommit
from .open_database import OpenDatabase
from .owner_queries import OwnerQueries
from .reads import SqlReads
from .tables import sessions

T = TypeVar("T")


class SqlStore(SqlReads):
    """The store in a database."""

    durable = True

    def __init__(self, database: Backend) -> None:
        super().__init__(database)
        self._groups = GroupCommit(database)
        self._work = OwnerQueries(database)

    async def open(self, woken: Woken) -> None:
        if self._opened is not None:
            raise StoreError("The store is open already.")
        opened = OpenDatabase(self._database, woken)
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

    async def delete(self, session_id: str, made_at: float | None = None) -> bool:
        def remove(connection: Connection) -> bool:
            removed = pruning.delete_session(connection, session_id, made_at)
            if removed:
                self._database.notify(connection, [session_id])
            return removed

        return await self._write(remove, False)

    async def sessions_to_trim(self, session_ids: Collection[str], *, keep: int, before: float) -> list[str]:
        listed = self._database.key_filter(sessions.c.id)
        return await self._read(lambda c: pruning.sessions_to_trim(c, listed, session_ids, keep, before), [])

    async def trim(self, session_id: str, *, keep: int, before: float) -> int:
        return await self._write(lambda c: pruning.trim(c, session_id, keep, before), 1)

    async def forget_idempotency_keys(self, before: float) -> int:
        return await self._write(lambda c: pruning.forget_idempotency_keys(c, before), 0)

    async def join(self, owner: OwnerRow) -> None:
        def join(connection: Connection) -> None:
            here.locks.hold(connection, owner.id)
            self._work.join(connection, owner)

        here = self._here
        await asyncio.to_thread(here.heartbeats.run, _checked(join))

    def beat(self, owner_id: str) -> bool:
        def beat(connection: Connection) -> bool:
            here.locks.hold(connection, owner_id)
            return self._work.beat(connection, owner_id)

        here = self._here
        return here.heartbeats.run(beat)

    async def living(self, owner_ids: Collection[str]) -> dict[str, bool]:
        here = self._here
        return await self._read(lambda c: here.locks.held(c, owner_ids), {})

    async def leave(self, owner_id: str) -> None:
        # Also if the store was migrated meanwhile: what the process leaves behind can be recovered at once.
        here = self._here
        await here.writer.do(
            lambda connection: connection.run(lambda c: self._work.leave(c, owner_id)), patience.writer(), writes=True
        )
        await asyncio.to_thread(here.heartbeats.run, lambda c: here.locks.release(c, owner_id))

    async def recover(
        self,
        owner_id: str | None,
        beat: int,
        heir: str,
        *,
        limit: int = 1000,
        conversations: bool = True,
        tools: Collection[str] | None = None,
    ) -> Recovered:
        def recover(connection: PinnedConnection) -> Recovered:
            work = self._work
            if owner_id is None:
                done = connection.run(_checked(lambda c: work.recover_ready(c, heir, limit, tools)))
            else:
                step = partial(work.recover, owner_id=owner_id, beat=beat, heir=heir, limit=limit)
                done = connection.run(_checked(partial(step, conversations=conversations, tools=tools)))
            work.settle()
            return done

        here = self._here
        is_poll = owner_id is None and self._work.settled
        if is_poll and not await self._read(lambda c: self._work.any_ready(c, tools), False):
            return Recovered([])  # polling costs no writing transaction
        recovered = await here.writer.do(recover)
        if owner_id is not None and recovered.found and not recovered.more:
            here.locks.forget(owner_id)
        return recovered

    async def claim(
        self, keys: Collection[tuple[str, str]], owner: str, limits: Mapping[str, int] | None = None
    ) -> Claimed:
        def claim(connection: PinnedConnection) -> Claimed:
            done = connection.run(_checked(lambda c: self._work.claim(c, others, owner, limits or {})))
            self._work.settle()
            return done

        here, wanted = self._here, list(dict.fromkeys(keys))
        if limits:
            new = Claimed([], [], {})
        else:
            claim_new = partial(self._work.claim_new, keys=wanted, owner=owner)
            new = await here.claims.do(lambda connection: connection.run(claim_new))
        known = {(row.session_id, row.id) for row in new.rows}
        others = [key for key in wanted if key not in known]
        if not others:
            return new
        rest = await here.writer.do(claim)
        return Claimed([*new.rows, *rest.rows], rest.refused, {**new.sessions, **rest.sessions})

    async def add_key(self, row: KeyRow) -> None:
        await self._here.writer.do(lambda connection: connection.run(_checked(lambda c: key_queries.add(c, row))))

    async def revoke_key(self, key_id: str, at: float) -> KeyRow | None:
        return await self._write(lambda c: key_queries.revoke(c, key_id, at), None)

    async def key_used(self, key_id: str, at: float) -> None:
        await self._write(lambda c: key_queries.used(c, key_id, at), None)

    async def save_note(self, user_id: str, note: Note, *, most: int) -> Note:
        statements = self._database.statements
        job = _checked(lambda c: note_queries.save(c, statements, user_id, note, most))
        return await self._here.writer.do(lambda connection: connection.run(job), patience.writer(), writes=True)

    async def delete_note(self, user_id: str, key: str) -> bool:
        return await self._write(lambda c: note_queries.remove(c, user_id, key), False)

    async def put_document(
        self, user_id: str, collection: str, write: DocumentWrite, limits: CollectionLimits
    ) -> DocumentRow:
        job = _checked(lambda c: document_queries.put(c, user_id, collection, write, limits))
        return await self._here.writer.do(lambda connection: connection.run(job), patience.writer(), writes=True)

    async def delete_document(self, user_id: str, collection: str, key: str) -> bool:
        return await self._write(lambda c: document_queries.remove(c, user_id, collection, key), False)

    async def _write(self, job: Callable[[Connection], T], nothing: T) -> T:
        """Return the result of a write; `nothing` if it names what no database can hold."""
        try:
            return await self._here.writer.do(
                lambda connection: connection.run(_checked(job)), patience.writer(), writes=True
            )
        except (DataError, ValueError):
            return nothing


def _checked(job: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """Return a job that raises `StoreOutdated` unless the database has the revision of this version."""

    def run(connection: Connection) -> T:
        revisions.verify(connection)
        return job(connection)

    return run
