"""The keeper of sessions: which are live, and whose they are. A service, not an executor: calls schedule themselves.

It opens sessions, lets idle ones go from memory, brings them back when something happens in them, and takes over what
dead processes left behind.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from weakref import WeakValueDictionary

from ..budget import Budget, MemoryLimits
from ..clock import Clock, Timer
from ..errors import ErrorCategory, ToolError
from ..events.board import Board
from ..execution.index import ExecutionIndex
from ..execution.manager import ExecutionManager
from ..execution.usage import Usage, UserUsage
from ..storage.change import Change
from ..storage.errors import AlreadyWritten, Conflict, IdempotencyConflict, StoreError
from ..storage.rows import IdempotencyRow, OwnerRow, SessionRow
from ..storage.store import Store
from ..storage.text import is_storable
from ..storage.writer import Writer
from ..tools.definition import Tool
from ..tools.registry import Registry
from ..tools.view import View
from ..types import Wake
from .background_tasks import BackgroundTasks
from .boards import Boards
from .conversation_scope import ConversationScope
from .heartbeat import Heartbeat
from .housekeeping import Housekeeping
from .ids import MAX_ID, SessionIdInvalid, SessionNotFound, check_id
from .ledger import DirectLedger, Ledger, StoreLedger
from .logout import finish_work
from .recovery import Recovery
from .requests import Requests
from .services import ConversationPort, Services, Watcher
from .session import Session
from .wakes import Wakes
from .workers import Workers

IN_MEMORY, TAIL = 10_000, 500
"""How many events of a session are held in memory where there is no store, and where there is one."""
LOOKED_AT = 100
"""How many sessions of a user that has too many are looked at, to let one of them go from memory."""
SOONEST = 0.1
"""The fewest seconds between two looks for requests that expired."""
SWEEP = 60.0
"""Seconds after which one looks again for what is idle or too old."""


class SessionManager:
    """Opens and finds sessions, between `start` and `stop`."""

    def __init__(
        self,
        registry: Registry,
        manager: ExecutionManager,
        clock: Clock,
        store: Store,
        *,
        me: OwnerRow,
        workers: Iterable[Tool] = (),
        keep_events: int | None,
        keep_for: float | None,
        keep_executions: int,
        idle_after: float = 300.0,
        recover: bool = True,
    ) -> None:
        self._registry = registry
        self._manager = manager
        self._clock = clock
        self._store = store
        self._durable = store.durable
        self._me = me
        self._keep_events = keep_events
        self._keep_executions = keep_executions
        self._idle_after = idle_after
        self._recover = recover
        self._sessions: dict[str, Session] = {}
        self._known: WeakValueDictionary[str, Session] = WeakValueDictionary()
        """Also those that were let go from memory, as long as somebody holds them: there is one per id."""
        self._unsure: set[str] = set()
        """Those that another process may have changed, or deleted, since they were last read."""
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Each as long as somebody holds it or waits for it."""
        self._timer: Timer | None = None
        settings = registry.settings
        self.budget = Budget(
            MemoryLimits(
                session=settings.max_session_bytes, user=settings.max_user_bytes, total=settings.max_memory_bytes
            )
        )
        """The memory that large events, arguments and results take."""
        self._expiry: Timer | None = None
        self.background = BackgroundTasks()
        self._boards = Boards(store, self._board, self.background.run)
        self._writer = Writer(store)
        self.restored = self.restore_failures = 0
        """How many sessions came back from the store, and how often that failed."""
        self.deleted: list[Callable[[Session], None]] = []
        """Who is told of a session that was deleted, here or by another process."""
        self.converse: Callable[[ConversationScope], ConversationPort] | None = None
        """Makes the conversation of a session, where there is a model to talk to."""
        self._services = Services(
            registry=registry,
            manager=manager,
            clock=clock,
            store=store,
            requests=Requests(store, clock, me.id, registry.get, self._expired),
            workers=Workers(workers, manager, clock, me.id),
            catch_up=self._catch_up,
            log_out=self.log_out,
            poll_orphans=lambda: self._heartbeat.poll_soon(),
            conversation=self._conversation,
            usage=Usage(),
            owner=me.id,
            find=self.find,
            watchers=[],
        )
        self._recovery = Recovery(self._services, self.bring, self._wake_all)
        self._housekeeping = Housekeeping(self._services, self.bring, keep_events=keep_events, keep_for=keep_for)
        self._heartbeat = Heartbeat(store, me, self._recovery.add, self._recovery.robbed, self._recovery.died)
        self._wakes = Wakes(
            self._known,
            self._refresh,
            self._services.requests.look,
            lambda: self._recovery.stop_cancelled(self._known.get),
            self._heartbeat.poll_soon if recover else lambda: None,
            self.background.run,
        )

    async def start(self) -> None:
        """Begin to write, to beat, and to recover what was left behind, which goes on in the background."""
        if self._durable:
            self._writer.open()
            if self._recover:
                self._recovery.open()
                await self._heartbeat.open()  # else it joins when it is first used for more than looking
                self.background.run(self._expire())
        self._next_sweep()

    async def stop_recovery(self) -> None:
        """Take nothing over any more. What is not taken over yet is left to the next process."""
        await self._heartbeat.stop_looking()
        await self._recovery.close()

    async def stop(self) -> None:
        """Write what is left. Executions have ended by now, or were left to others."""
        if self._timer is not None:
            self._timer.cancel()
        await self.stop_recovery()
        await self.background.close()
        if self._expiry is not None:
            self._expiry.cancel()
        if self._durable:
            await self._writer.close()
        await self._services.requests.close()
        await self._services.workers.close()
        if self._durable:
            await self._heartbeat.close()

    async def bring(self, session_id: str) -> Session | None:
        """A session from memory or from the store, as it is now. Nobody is logged in by that."""
        known = self._known.get(session_id)
        if known is not None and session_id in self._unsure and not await self._reconciled(known):
            known = None
        if known is None:
            return await self.load(session_id)
        if session_id not in self._sessions:
            await self._restore(known)  # it was let go, and somebody holds it all the same
            self._enter(known)
        known.touch()
        return known

    async def _reconciled(self, session: Session) -> bool:
        """Take over what another process made of a session. False where it is deleted, whoever has its id now."""
        self._unsure.discard(session.id)
        try:
            row = await self._store.session(session.id)
        except BaseException:
            self._unsure.add(session.id)
            raise
        if row is None or row.created_at != session.created_at:
            self.close(session)
            return False
        if row.writes > session.writes:
            session.take_over(row)
        return True

    def _board(self, session_id: str) -> Board | None:
        session = self._known.get(session_id)
        return None if session is None else session.board

    async def _catch_up(self, session_id: str, board: Board) -> None:
        if session_id in self._unsure and (known := self._known.get(session_id)) is not None:
            await self._reconciled(known)
        await self._boards.catch_up(session_id, board)

    def _conversation(self, session: Session) -> ConversationPort | None:
        if session.current_conversation is None and self.converse is not None:
            session.current_conversation = self.converse(ConversationScope(session, self._services))
        return session.current_conversation

    # Sessions

    async def open(
        self,
        session_id: str,
        user_id: str,
        *,
        namespaces: Collection[str] | None = None,
        channel: str | None = None,
        allow: Collection[str] | None = None,
        wake: Wake | str | None = None,
        idempotency: IdempotencyRow | None = None,
    ) -> Session:
        """The session of that id, made or brought back if need be. Raises `SessionNotFound` for another user's.

        `idempotency` is stored with that. Where its key was stored before, nothing is done: raises `AlreadyWritten` or
        `IdempotencyConflict`.
        """
        check_id("session_id", session_id)
        check_id("user_id", user_id)
        if channel is not None and not is_storable(channel):
            raise SessionIdInvalid("channel must not contain a NUL character or a lone surrogate.")
        view, quiet = View.of(namespaces, channel, allow), None if wake is None else Wake(wake)
        if self._durable:
            await self._heartbeat.join()
        async with self._opening.setdefault(session_id, asyncio.Lock()):
            session = await self.bring(session_id)
            if session is None:
                self._make_room(self._services.usage.of(user_id))
                return await self._create(session_id, user_id, view, quiet, idempotency)
            if session.user_id != user_id:
                raise _not_found(session_id)
            given = View.of(
                session.view.namespaces if namespaces is None else namespaces,
                session.view.channel if channel is None else channel,
                session.view.allow if allow is None else allow,
            )
            quiet = quiet or session.wake
            if idempotency is not None and (known := await self._store.idempotency(session_id, idempotency.key)):
                same = known.fingerprint == idempotency.fingerprint
                raise AlreadyWritten(known) if same else IdempotencyConflict(known.key)
            if given != session.view or quiet is not session.wake or not session.open:
                session.view, session.wake, session.open = given, quiet, True
                session.forget_tools()
                await self._write(session, idempotency)
            elif idempotency is not None:
                await session.ledger.write(Change(session_id, idempotency=idempotency))
            if session.results:
                self._recovery.wake(session)
            return session

    def get(self, session_id: str, user_id: str) -> Session:
        """A live session of that user. Raises `SessionNotFound`."""
        known = self._sessions.get(session_id)
        if known is None or known.user_id != user_id:
            raise _not_found(session_id)
        return known

    def find(self, session_id: str) -> Session | None:
        """A session that is live, whoever it belongs to."""
        return self._sessions.get(session_id)

    def live(self, session_ids: Iterable[str]) -> list[Session]:
        """Those of the sessions that somebody holds, or that are in memory, whoever they belong to."""
        return [known for each in session_ids if (known := self._known.get(each)) is not None]

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        """The sessions that are in memory."""
        return iter(tuple(self._sessions.values()))

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Have somebody told of the turns that run here, until what this returns is called."""
        watchers = self._services.watchers
        watchers.append(watcher)

        def over() -> None:
            if watcher in watchers:
                watchers.remove(watcher)

        return over

    @property
    def writer(self) -> Writer:
        """Writes what the sessions have to store; it counts what became of it."""
        return self._writer

    async def load(self, session_id: str) -> Session | None:
        """A session as it is stored: nobody is logged in by that."""
        try:
            row = await self._store.session(session_id)
        except StoreError:
            self.restore_failures += 1
            raise
        if row is None:
            return None
        if (known := self._known.get(session_id)) is not None:
            if known.created_at == row.created_at:  # it was loaded for somebody else meanwhile
                return await self.bring(session_id)
            self.close(known)
        session = self._make(session_id, row.user_id, View.of(row.namespaces, row.channel, row.allow), row)
        session.take_over(row)
        await self._restore(session, row)
        return session

    async def _restore(self, session: Session, row: SessionRow | None = None) -> None:
        try:
            await session.results.restore(row)
        except StoreError:
            self.restore_failures += 1
            raise
        self.restored += 1

    async def _create(
        self, session_id: str, user_id: str, view: View, wake: Wake | None, idempotency: IdempotencyRow | None
    ) -> Session:
        session = self._make(session_id, user_id, view, None)
        session.wake = wake
        try:
            await session.ledger.write(Change(session_id, session=session.row(), idempotency=idempotency))
        except (Conflict, StoreError) as error:
            self._leave(session)
            self._known.pop(session_id, None)
            if isinstance(error, StoreError | IdempotencyConflict):
                raise
            other = await self.load(session_id)  # another process was faster
            if other is None or other.user_id != user_id:
                raise _not_found(session_id) from None
            return other
        if self._durable and (row := await self._store.session(session_id)) is not None:
            # Another process of the same user may have been faster.
            session.created_at = row.created_at
            session.ledger.pin_session(row.created_at)
            session.take_over(row)
        return session

    async def _write(self, session: Session, idempotency: IdempotencyRow | None = None) -> None:
        """Store a session itself, and be as it is stored then: another process may write it in the same moment."""
        try:
            await session.ledger.write(Change(session.id, session=session.row(), idempotency=idempotency))
        except (Conflict, StoreError):  # as in `log_out`, another process may have written it in the same moment
            self._doubt(session)
            raise
        if self._durable:
            await self._reconciled(session)

    def _doubt(self, session: Session) -> None:
        """A change of the session itself was not stored: read it again before it is used."""
        session.writes = -1
        self._unsure.add(session.id)

    def _make(self, session_id: str, user_id: str, view: View, row: SessionRow | None) -> Session:
        archive = self._boards.archive(session_id) if self._durable else None
        keep = self._keep_events or IN_MEMORY
        board = Board(
            min(keep, TAIL) if self._durable else keep,
            after=0 if row is None else row.last_seq,
            archive=archive,
            budget=self.budget,
            user_id=user_id,
        )
        created_at = self._clock.time() if row is None else row.created_at
        ledger: Ledger
        if self._durable:
            ledger = StoreLedger(session_id, created_at, board, self._writer, self._me.id, self._manager.disown)
        else:
            ledger = DirectLedger(session_id, board, self._store)
        session = Session(
            session_id,
            user_id,
            view,
            services=self._services,
            board=board,
            index=ExecutionIndex(self._keep_executions, budget=self.budget, user_id=user_id, stored=self._durable),
            ledger=ledger,
            created_at=created_at,
        )
        self._known[session_id] = session
        self._enter(session)
        return session

    def _enter(self, session: Session) -> None:
        """Have a session in memory."""
        self._sessions[session.id] = session
        session.user.sessions[session.id] = None

    def _leave(self, session: Session) -> None:
        """Have it in memory no more."""
        self._sessions.pop(session.id, None)
        session.user.sessions.pop(session.id, None)

    def _make_room(self, user: UserUsage) -> None:
        """Let sessions of a user go from memory that has as many as it may. Raises `ToolError` (resource)."""
        most = self._registry.settings.max_user_sessions
        for session_id in [*islice(user.sessions, LOOKED_AT)] if len(user.sessions) >= most else ():
            session = self._sessions[session_id]
            if self._durable and session.ledger.idle:
                self._let_go(session)
            if len(user.sessions) < most:
                return
            if session_id in user.sessions:  # it is in use: the next ones are looked at first next time
                user.sessions[session_id] = user.sessions.pop(session_id)
        if len(user.sessions) >= most:
            raise ToolError(
                f"This user has {len(user.sessions):,} sessions in memory, which is as many as it may. Close some.",
                category=ErrorCategory.RESOURCE,
            )

    # Logout, and sessions that nobody uses

    async def log_out(self, session: Session, grace: float, idempotency: IdempotencyRow | None = None) -> None:
        """End a session for now. See `Session.close`."""
        await finish_work(session, grace, self._manager, self._clock)
        await session.ledger.settle()
        session.open = False
        closed = Change(session.id, session=session.row(), made_at=session.created_at, idempotency=idempotency)
        try:
            await session.ledger.write(closed)
        except (AlreadyWritten, IdempotencyConflict):
            session.open = True
            self._unsure.add(session.id)  # another process wrote it in the same moment: it is read again
            raise
        except Conflict:  # it is deleted, and must not be made anew
            self.close(session)
        except StoreError:
            self._doubt(session)
            raise
        self._let_go(session)

    def close(self, session: Session) -> None:
        """Forget a session at once, after stopping what it runs: it is deleted."""
        session.gone = True
        session.board.end()
        for tell in self.deleted:
            tell(session)
        if session.current_conversation is not None:
            session.current_conversation.stop()
        for execution in session.open_executions:
            self._manager.cancel(execution)
        self._leave(session)
        self._known.pop(session.id, None)
        self._manager.forget(session)
        session.index.close()

    def _let_go(self, session: Session) -> None:
        """Free what a session holds in memory, if everything of it is stored and nothing runs."""
        talks = session.current_conversation is not None and session.current_conversation.is_processing
        if self._durable and not talks and not session.open_executions and not session.board.watched:
            self._leave(session)
            session.current_conversation = None
            session.board.shrink()
            session.index.clear()
            self._manager.forget(session)

    def _next_sweep(self) -> None:
        self._timer = self._clock.call_later(min(self._idle_after, SWEEP), self._sweep)

    def _sweep(self) -> None:
        """Let sessions go that nobody has used for a while, and see to what is too old."""
        self.background.run(self._housekeeping.forget_keys())
        if self._durable:
            self.background.run(self._housekeeping.trim(tuple(self._sessions)))
            self.background.run(self._recovery.stop_cancelled(self._known.get))
            if self._recover:
                self.background.run(self._expire())
            self._unsure.intersection_update(self._known)
            before = self._clock.monotonic() - self._idle_after
            for session in [each for each in self._sessions.values() if each.last_used <= before]:
                if self._durable and session.ledger.idle:
                    self._let_go(session)
        self._next_sweep()

    async def _expire(self) -> None:
        """Close requests whose time is over, and come back when the next one's is: no process may hold it."""
        due = await self._housekeeping.expire()
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if due is not None:
            delay = max(SOONEST, due - self._clock.time())
            if delay < SWEEP:
                self._expiry = self._clock.call_later(delay, lambda: self.background.run(self._expire()))

    # What other processes do

    def woken(self, session_id: str | None) -> None:
        """Another process wrote: in that session, or somewhere."""
        if session_id is None:
            self._unsure.update(self._known)
        elif session_id in self._known:
            self._unsure.add(session_id)
        self._wakes.add(session_id)

    async def _refresh(self, sessions: Sequence[Session]) -> None:
        """Give those that are looked at what they miss."""
        heads = await self._store.heads([session.id for session in sessions])
        for session in sessions:
            head = heads.get(session.id)
            if head is None or head.made_at != session.created_at or head.last_seq < session.board.last_seq:
                await self._reconciled(session)
            elif head.last_seq > session.board.last_seq:
                self._boards.behind(session.id)

    def _wake_all(self) -> None:
        self.background.run(self._expire())  # what waits for people has no process any more
        if self.converse is not None:
            self.background.run(self._recovery.wake_all())

    def _expired(self, request_id: str) -> None:
        self.background.run(self._services.requests.expire(request_id))


def _not_found(session_id: str) -> SessionNotFound:
    return SessionNotFound(f"There is no session {session_id[:MAX_ID]!r}.")
