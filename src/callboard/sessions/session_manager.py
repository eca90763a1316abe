"""The session manager: opens the sessions of one process, finds them, and ends them.

It joins the parts that do the work: `SessionCache` (which sessions are in memory), `SessionLoader` (reading and storing
them), `Housekeeping` (clean-up), `Heartbeat` and `Recovery` (work of processes that died) and `ChangeNotifications`
(changes of other processes). Calls schedule themselves, in the execution manager.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from weakref import WeakValueDictionary

from ..background_tasks import BackgroundTasks
from ..budget import Budget, MemoryLimits
from ..clock import Clock
from ..errors import RuntimeNotOpen
from ..events.board import Board
from ..execution.engine import Engine
from ..execution.manager import ExecutionManager
from ..execution.usage import UserUsage
from ..storage.change import Change, Notice
from ..storage.errors import AlreadyWritten, IdempotencyConflict, StoreError
from ..storage.owners import QueuedCall
from ..storage.rows import IdempotencyRow, OwnerRow
from ..storage.session_list import ListPosition, SessionSummary
from ..storage.store import NO_LIMIT, Store
from ..storage.writer import Writer
from ..tools.definition import Tool
from ..tools.registry import Registry
from ..tools.view import View
from ..turns import Usage
from ..types import Wake
from .boards import Boards
from .call_arguments import parse_wake
from .change_notifications import ChangeNotifications
from .conversation_port import ConversationPort, TurnListener
from .conversation_scope import ConversationScope
from .dispatcher import Dispatcher
from .heartbeat import Heartbeat
from .housekeeping import Housekeeping
from .ids import check_channel, check_id, not_found
from .live_list import list_live_sessions
from .live_session import LiveSession
from .logout import finish_work
from .queue_worker import QueueWorker
from .recovery import Recovery
from .requests import Requests
from .services import Services
from .session_cache import SessionCache
from .session_loader import Restores, Retention, SessionLoader
from .waiting_calls import WaitingCalls
from .waker import Waker
from .workers import Workers


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
        retention: Retention,
        idle_after: float = 300.0,
        recover: bool = True,
    ) -> None:
        self._manager = manager
        self._clock = clock
        self._store = store
        self._durable = store.durable
        self._recover = recover
        self._settings = registry.settings
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.budget = Budget(
            MemoryLimits(
                session=self._settings.max_session_bytes,
                user=self._settings.max_user_bytes,
                total=self._settings.max_memory_bytes,
            )
        )
        self.writer = Writer(store)
        self.background = BackgroundTasks(expected=StoreError)
        self.conversations: Callable[[ConversationScope], ConversationPort] | None = None
        """Makes the conversation of a session; None if the runtime has no model."""
        self._services = services = Services(
            registry=registry,
            manager=manager,
            clock=clock,
            store=store,
            writer=self.writer,
            budget=self.budget,
            background=self.background,
            requests=Requests(
                store,
                clock,
                me.id,
                manager,
                registry.get,
                self.background,
                max_per_user=self._settings.max_user_requests,
            ),
            workers=Workers(workers, manager, clock, me.id),
            owner=me.id,
            keep_for=retention.seconds,
        )
        self._cache = cache = SessionCache(manager)
        self._boards = boards = Boards(services, cache.known)
        self._loader = loader = SessionLoader(services, self, cache, boards, retention)
        self._recovery = recovery = Recovery(services, cache, loader, self._recovered)
        self._waker = Waker(services, cache, loader)
        self._heartbeat = heartbeat = Heartbeat(
            store, me, recovery.add, recovery.lease_lost, recovery.results_left, self._requeued, tools=registry.names
        )
        self._housekeeping = Housekeeping(
            services, cache, loader, recovery, heartbeat, retention, recover=recover, idle_after=idle_after
        )
        self._notifications = ChangeNotifications(
            services, cache, loader, boards, recovery, heartbeat if recover else None
        )

    async def start(self) -> None:
        """Start the writer, the heartbeat and the recovery of orphaned work, which run in the background."""
        self._services.loop, self._services.has_model = asyncio.get_running_loop(), self.conversations is not None
        if self._durable:
            self.writer.open()
            self._waker.open()
            if self._recover:  # otherwise this process joins when it first opens a session
                self._recovery.open()
                await self._heartbeat.open(conversations=self._services.has_model)
        self._housekeeping.open()

    async def stop_recovery(self) -> None:
        """Stop recovering orphaned work and waking sessions. The rest is left to the next process."""
        await self._heartbeat.stop_polling()
        await self._recovery.close()
        await self._waker.close()

    async def stop(self) -> None:
        """Write what is left. Executions have ended by now, or are left to other processes."""
        try:
            self._housekeeping.close()
            await self.stop_recovery()
            await self.background.close()
            if self._durable:
                await self.writer.close()
            await self._services.requests.close()
            await self._services.workers.close()
            if self._durable:
                await self._heartbeat.close()
        finally:
            self._services.loop = None

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
    ) -> LiveSession:
        """Create a session, or log its user in again. Raises `SessionNotFound` for another user's session.

        `idempotency` is stored with the change. Raises `AlreadyWritten` or `IdempotencyConflict`, and changes nothing,
        if its key was stored before.
        """
        if not self._services.running:
            raise RuntimeNotOpen("The runtime is not open. Open sessions inside `async with Runtime(…) as runtime:`.")
        if self._durable:
            await self._heartbeat.join()
        changes_nothing = namespaces is channel is allow is idempotency is None
        if changes_nothing and (known := self.logged_in(session_id, user_id, wake)) is not None:
            return known
        check_id("session_id", session_id)
        check_id("user_id", user_id)
        check_channel(channel)
        view, new_wake = View.of(namespaces, channel, allow), None if wake is None else parse_wake(wake)
        async with self._opening.setdefault(session_id, asyncio.Lock()):
            session = await self._loader.find_or_load(session_id)
            if session is None:
                self._cache.make_room(self._services.usage.of(user_id), self._settings.max_user_sessions)
                return await self._loader.create(session_id, user_id, view, new_wake, idempotency)
            if session.user_id != user_id:
                raise not_found(session_id)
            current = session.toolbox.view
            view = View.of(
                current.namespaces if namespaces is None else namespaces,
                current.channel if channel is None else channel,
                current.allow if allow is None else allow,
            )
            new_wake = new_wake or session.wake
            if idempotency is not None and (known := await self._store.idempotency(session_id, idempotency.key)):
                same = known.fingerprint == idempotency.fingerprint
                raise AlreadyWritten(known) if same else IdempotencyConflict(known.key)
            if view != current or new_wake is not session.wake or not session.open:
                session.toolbox.view, session.wake, session.open = view, new_wake, True
                await self._loader.write(session, idempotency)
            elif idempotency is not None:
                await session.ledger.write(Change(session_id, idempotency=idempotency))
            if session.results:
                self._recovery.wake(session)
            return session

    def logged_in(self, session_id: str, user_id: str, wake: Wake | str | None) -> LiveSession | None:
        """Return a session that needs no change to be opened: in memory and current, and its user is logged in."""
        session = self._cache.get(session_id) if self._services.running else None
        if session is None or session.user_id != user_id or not session.open or session.results:
            return None
        if session_id in self._opening or self._cache.is_stale(session_id):
            return None
        if wake is not None and session.wake is not wake:
            return None
        session.touch()
        return session

    async def rename(self, session: LiveSession, title: str | None) -> None:
        """Give a session a title; None shows the automatic one. Raises `Conflict` if the session is deleted."""
        await self._loader.write_title(session, title)

    async def recent(
        self,
        user_id: str,
        before: ListPosition | None = None,
        after: ListPosition | None = None,
        *,
        search: str = "",
        limit: int = 100,
    ) -> list[SessionSummary]:
        """Return the newest sessions of a user by activity. See `SessionRecords.recent_sessions`."""
        now = self._clock.time()
        if self._durable:
            return await self._store.recent_sessions(
                user_id, now=now, before=before, after=after, search=search, limit=limit
            )
        sessions = self._cache.select(self._services.usage.of(user_id).sessions)
        requests = await self._store.requests(user_id=user_id, status="open", limit=NO_LIMIT)
        return list_live_sessions(sessions, requests, now=now, before=before, after=after, search=search, limit=limit)

    async def conversation_usage(self, session: LiveSession) -> Usage | None:
        """Return the usage of a session's conversation, in all processes; None before its first turn."""
        if not session.durable:
            return None if session.current_conversation is None else session.current_conversation.usage
        stored = (await self._store.usage([session.id])).get(session.id)
        return None if stored is None else Usage.decode(stored)

    async def find_or_load(self, session_id: str) -> LiveSession | None:
        """Return a session as it is now, from memory or from the store, without logging its user in."""
        return await self._loader.find_or_load(session_id)

    def get(self, session_id: str, user_id: str) -> LiveSession:
        """Return a session of that user that is in memory. Raises `SessionNotFound`."""
        session = self._cache.get(session_id)
        if session is None or session.user_id != user_id:
            raise not_found(session_id)
        return session

    def find(self, session_id: str) -> LiveSession | None:
        """Return a session of any user that is in memory or still referenced."""
        return self._cache.known.get(session_id)

    def known(self, session_ids: Iterable[str]) -> list[LiveSession]:
        """Return those of these sessions that are in memory or still referenced, of any user."""
        return self._cache.select(session_ids)

    def __len__(self) -> int:
        return len(self._cache)

    def __iter__(self) -> Iterator[LiveSession]:
        """Iterate over the sessions that are in memory."""
        return iter(self._cache)

    def delete(self, session: LiveSession) -> None:
        """Forget a session that is deleted from the store, and stop everything that runs in it."""
        self._cache.delete(session)

    def usage_of(self, user_id: str) -> UserUsage:
        """Return the resources of this process that a user takes up."""
        return self._services.usage.of(user_id)

    def on_delete(self, notify: Callable[[LiveSession], None]) -> None:
        """Call a function with each session that is deleted, here or by another process."""
        self._cache.on_delete.append(notify)

    @property
    def restores(self) -> Restores:
        """The reads of sessions from the store."""
        return self._loader.restores

    def watch(self, listener: TurnListener) -> Callable[[], None]:
        """Notify a listener of turns that run in this process. Returns the function that ends this."""
        listeners = self._services.turn_listeners
        listeners.append(listener)

        def end() -> None:
            if listener in listeners:
                listeners.remove(listener)

        return end

    # The host of live sessions

    def converse(self, session: LiveSession) -> ConversationPort | None:
        """Make the conversation of a session; None if the runtime has no model."""
        return None if self.conversations is None else self.conversations(ConversationScope(session))

    def is_current(self, session_id: str) -> bool:
        """Whether a session is in memory, and no other process has changed it."""
        return self._cache.is_current(session_id)

    async def refresh(self, session: LiveSession) -> None:
        """Bring a session up to date, and back into memory. Raises `SessionNotFound` if it is deleted."""
        if not await self._loader.refresh(session):
            raise not_found(session.id)

    async def log_out(self, session: LiveSession, grace: float, idempotency: IdempotencyRow | None = None) -> None:
        """Log a session out. See `Session.close`."""
        await finish_work(session, grace, self._manager, self._clock)
        await session.ledger.settle()
        await self._loader.write_closed(session, idempotency)
        self._cache.evict(session)

    async def catch_up(self, session_id: str, board: Board) -> None:
        """Apply what other processes wrote to a session and its board."""
        if self._cache.is_stale(session_id) and (session := self._cache.known.get(session_id)) is not None:
            await self._loader.reconcile(session)
        await self._boards.catch_up(session_id, board)

    def poll_orphans(self) -> None:
        """Look soon for executions that no process holds."""
        self._heartbeat.poll_soon()

    # Other processes

    def notified(self, session_id: str | None, notice: Notice = Notice.CHANGED, /) -> None:
        """Handle a notification of the store: see `Woken`."""
        self._cache.mark_stale(session_id)
        self._notifications.add(session_id, quiet=notice is Notice.QUIET)
        if notice is Notice.RESULTS_LEFT and self._services.has_model:
            if session_id is None:
                self._waker.wake_all()
            else:
                self._waker.wake(session_id)

    # Workers

    def dispatch(self, engine: Engine, serves: Collection[str]) -> Dispatcher:
        """Send executions to workers from now on, except those of the queues that this process serves."""
        dispatcher = self._services.dispatcher = Dispatcher(
            engine,
            self._store,
            self._clock,
            serves=serves,
            most_waiting=self._manager.limits.queue,
            waiting=WaitingCalls(self._services, self._loader, self._recovery),
            woken=None if self.conversations is None else self.wake,
        )
        self._manager.place(dispatcher.queue_of, dispatcher.check_room)
        return dispatcher

    def worker(self, dispatcher: Dispatcher, queues: Collection[str], concurrency: int) -> QueueWorker:
        """Make the part that serves queues in this process."""
        return QueueWorker(
            dispatcher.engine,
            self._manager,
            self._services.registry,
            self._store,
            self._clock,
            self._recovery,
            lambda: dispatcher.depths,
            owner=self._services.owner,
            queues=queues,
            concurrency=concurrency,
        )

    async def wake(self, session_id: str | None) -> None:
        """Start a turn if a session has late results, also one that is not in memory; with None, any session."""
        if session_id is None:
            self._waker.wake_all()
        elif (session := await self._loader.find_or_load(session_id)) is not None:
            self._recovery.wake(session)

    def _requeued(self, calls: Collection[QueuedCall]) -> None:
        if calls and self._services.dispatcher is not None:
            self._services.dispatcher.submit_again(calls)

    def _recovered(self) -> None:
        """Handle requests and late results of earlier processes, once the executions of dead ones are taken over."""
        self.background.run(self._housekeeping.expire_requests())
        if self.conversations is not None:
            self._waker.wake_all()
        elif self._services.dispatcher is not None:
            self._services.dispatcher.wake(None)
