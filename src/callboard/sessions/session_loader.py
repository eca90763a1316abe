"""Creates live sessions, reads them from the store, and keeps them equal to their stored rows."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..events.board import Board
from ..execution.index import ExecutionIndex
from ..storage.change import Change, TitleWrite
from ..storage.errors import AlreadyWritten, Conflict, IdempotencyConflict, StoreError
from ..storage.rows import IdempotencyRow, SessionRow
from ..tools.view import View
from ..types import Wake
from .boards import Boards, StoredBoard
from .ids import not_found
from .ledger import DirectLedger, Ledger
from .live_session import LiveSession, SessionHost
from .services import Services
from .session_cache import SessionCache
from .session_rows import apply_row, session_row
from .store_ledger import StoreLedger

MEMORY_EVENTS, CACHED_EVENTS = 10_000, 500
"""Number of events of a session that are held in memory: without a store, and with one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Limits on what is kept of a session."""

    events: int | None
    """Newest events to keep; None: 10,000 in memory, and all in a store."""
    seconds: float | None
    """Age up to which events are kept; None: no limit."""
    executions: int
    """Ended executions to keep in memory."""


@dataclass(slots=True)
class Restores:
    """Number of sessions that were read from the store, and of reads that failed."""

    succeeded: int = 0
    failed: int = 0


class SessionLoader:
    """Makes the live sessions of one process."""

    def __init__(
        self,
        services: Services,
        host: SessionHost,
        cache: SessionCache,
        boards: Boards,
        retention: Retention,
    ) -> None:
        self._services = services
        self._host = host
        self._cache = cache
        self._boards = boards
        self._retention = retention
        self._store = services.store
        self.restores = Restores()

    async def find_or_load(self, session_id: str) -> LiveSession | None:
        """Return a session as it is now, from memory or from the store, without logging its user in."""
        session = self._cache.known.get(session_id)
        if session is not None and await self.refresh(session):
            return session
        return await self.load(session_id)

    async def refresh(self, session: LiveSession) -> bool:
        """Bring a session up to date, and back into memory if it was evicted. False if the session is deleted."""
        if not session.deleted and self._cache.is_stale(session.id):
            await self.reconcile(session)
        if not session.deleted and self._cache.get(session.id) is None:  # it was evicted, and is still referenced
            await self._restore(session)
            if not session.deleted:
                self._cache.add(session)
        session.touch()
        return not session.deleted

    async def find_all(self, session_ids: Iterable[str]) -> dict[str, LiveSession | None]:
        """Return sessions from memory as they are, and others from the store.

        One from memory may have been deleted meanwhile, and its id used again: compare its `created_at`.
        """
        found: dict[str, LiveSession | None] = {}
        for session_id in dict.fromkeys(session_ids):
            session = self._cache.get(session_id)
            if session is None:
                session = await self.find_or_load(session_id)
            else:
                session.touch()
            found[session_id] = session
        return found

    async def load(self, session_id: str) -> LiveSession | None:
        """Read a session from the store, without logging its user in."""
        try:
            row = await self._store.session(session_id)
        except StoreError:
            self.restores.failed += 1
            raise
        if row is None:
            return None
        if (known := self._cache.known.get(session_id)) is not None:
            if known.created_at == row.created_at:  # it was loaded meanwhile
                return await self.find_or_load(session_id)
            self._cache.delete(known)
        session = self._make(session_id, row.user_id, View.of(row.namespaces, row.channel, row.allow), row)
        apply_row(session, row)
        await self._restore(session, row)
        return session

    async def create(
        self, session_id: str, user_id: str, view: View, wake: Wake | None, idempotency: IdempotencyRow | None
    ) -> LiveSession:
        """Make and store a new session. Raises `SessionNotFound` if another process made it for another user."""
        session = self._make(session_id, user_id, view, None)
        session.wake = wake
        try:
            await session.ledger.write(Change(session_id, session=session_row(session), idempotency=idempotency))
        except (Conflict, StoreError) as error:
            self._cache.discard(session)
            if isinstance(error, StoreError | IdempotencyConflict):
                raise
            other = await self.load(session_id)  # another process was faster
            if other is None or other.user_id != user_id:
                raise not_found(session_id) from None
            return other
        if self._store.durable and (row := await self._store.session(session_id)) is not None:
            # Another process of the same user may have been faster.
            session.created_at = row.created_at
            session.ledger.pin_session(row.created_at)
            apply_row(session, row)
        return session

    async def write(self, session: LiveSession, idempotency: IdempotencyRow | None = None) -> None:
        """Store the row of a session, and apply the stored one, which another process may have written meanwhile."""
        try:
            await session.ledger.write(Change(session.id, session=session_row(session), idempotency=idempotency))
        except (Conflict, StoreError):
            self._mark_unsure(session)
            raise
        if self._store.durable:
            await self.reconcile(session)

    async def write_title(self, session: LiveSession, title: str | None) -> None:
        """Store the title that a person gives a session; None shows the automatic one. Raises `Conflict`."""
        write = TitleWrite(title)
        await session.ledger.write(Change(session.id, title=write))
        session.title.written(write)
        if self._store.durable:
            await self.reconcile(session)

    async def write_closed(self, session: LiveSession, idempotency: IdempotencyRow | None = None) -> None:
        """Store that a session is logged out."""
        session.open = False
        closed = Change(session.id, session=session_row(session), made_at=session.created_at, idempotency=idempotency)
        try:
            await session.ledger.write(closed)
        except (AlreadyWritten, IdempotencyConflict):
            session.open = True
            self._cache.mark_stale(session.id)  # another process wrote it in the same moment
            raise
        except Conflict:  # it is deleted, and must not be created again
            self._cache.delete(session)
        except StoreError:
            self._mark_unsure(session)
            raise

    async def reconcile(self, session: LiveSession) -> bool:
        """Apply the stored row of a session. False if the session is deleted, also if its id is used again."""
        self._cache.mark_fresh(session.id)
        try:
            row = await self._store.session(session.id)
        except BaseException:
            self._cache.mark_stale(session.id)
            raise
        if row is None or row.created_at != session.created_at:
            self._cache.delete(session)
            return False
        if row.writes > session.writes:
            apply_row(session, row)
        return True

    def _mark_unsure(self, session: LiveSession) -> None:
        """Have a session read again before it is used, since its row may not be stored."""
        session.writes = -1
        self._cache.mark_stale(session.id)

    async def _restore(self, session: LiveSession, row: SessionRow | None = None) -> None:
        try:
            await session.results.restore(row)
        except StoreError:
            self.restores.failed += 1
            raise
        self.restores.succeeded += 1

    def _make(self, session_id: str, user_id: str, view: View, row: SessionRow | None) -> LiveSession:
        services, durable, keep = self._services, self._store.durable, self._retention.events or MEMORY_EVENTS
        board = Board(
            min(keep, CACHED_EVENTS) if durable else keep,
            after=0 if row is None else row.last_seq,
            archive=StoredBoard(self._boards, session_id) if durable else None,
            budget=services.budget,
            user_id=user_id,
        )
        created_at = services.clock.time() if row is None else row.created_at
        ledger: Ledger
        if durable:
            ledger = StoreLedger(
                session_id,
                created_at,
                board,
                services.writer,
                services.owner,
                services.manager.disown,
                services.manager.cancel,
                services.dispatcher,
                has_model=services.has_model,
            )
        else:
            ledger = DirectLedger(session_id, board, self._store)
        index = ExecutionIndex(self._retention.executions, budget=services.budget, user_id=user_id, stored=durable)
        session = LiveSession(
            session_id,
            user_id,
            view,
            services=services,
            host=self._host,
            board=board,
            index=index,
            ledger=ledger,
            created_at=created_at,
        )
        self._cache.add(session)
        return session
