"""Notifications of changes that other processes wrote, and the polls that they cause.

Notifications arrive as fast as all other processes commit. Those that arrive during a poll are gathered for the next
one: a poll takes a fixed number of queries, however many sessions are open or busy here.
"""

import asyncio
import logging
from collections.abc import Sequence

from ..storage.errors import StoreError
from .boards import Boards
from .heartbeat import Heartbeat
from .live_session import LiveSession
from .recovery import Recovery
from .services import Services
from .session_cache import SessionCache
from .session_loader import SessionLoader

log = logging.getLogger("callboard.sessions")

RETRY_DELAY = 0.5
"""Seconds to wait before a poll that the store did not answer is repeated."""
PAUSE = 0.005
"""Seconds between the beginnings of two polls, if notifications arrive all the time."""
FEW = 4
"""Number of sessions up to which the events of each are read at once, without asking for their numbers first."""
ORPHAN_POLL_INTERVAL = 0.25
"""Seconds between two polls for orphaned executions that notifications cause."""


class ChangeNotifications:
    """Gathers notifications and handles them in polls, one at a time."""

    def __init__(
        self,
        services: Services,
        cache: SessionCache,
        loader: SessionLoader,
        boards: Boards,
        recovery: Recovery,
        heartbeat: Heartbeat | None,
    ) -> None:
        self._store = services.store
        self._requests = services.requests
        self._background = services.background
        self._cache = cache
        self._loader = loader
        self._boards = boards
        self._recovery = recovery
        self._heartbeat = heartbeat
        """Polls for orphaned executions; None if this process recovers none."""
        self._ids: set[str] = set()
        self._shown: set[str] = set()
        """Sessions with readers to which only quiet changes were written."""
        self._all = False
        """Whether any session may have been written."""
        self._polling = False
        self._orphans_polled_at: float | None = None

    def add(self, session_id: str | None, *, quiet: bool = False) -> None:
        """Note that another process wrote to a session; with None, to any of them.

        Only readers are interested in quiet changes: processes that share sessions make many of them.
        """
        self._poll_orphans()
        if session_id is None:
            self._all = bool(self._cache.known)
        elif (session := self._cache.known.get(session_id)) is None:
            return
        elif not quiet:
            self._ids.add(session_id)
        elif session.board.has_readers:
            self._shown.add(session_id)
        if self._pending and not self._polling:
            self._polling = True
            self._background.run(self._run())

    def _poll_orphans(self) -> None:
        """Poll for orphaned executions, unless that was done just now: the heartbeat also does so regularly."""
        now = asyncio.get_running_loop().time()
        if self._orphans_polled_at is None or now - self._orphans_polled_at >= ORPHAN_POLL_INTERVAL:
            self._orphans_polled_at = now
            if self._heartbeat is not None:
                self._heartbeat.poll_soon()

    async def _run(self) -> None:
        try:
            loop = asyncio.get_running_loop()
            while self._pending:
                began = loop.time()
                everything, self._all = self._all, False
                ids, self._ids = self._ids, set()
                shown, self._shown = self._shown - ids, set()
                try:
                    await self._poll(None if everything else ids, shown)
                except StoreError as error:
                    log.warning("the store was not reached: %s", error)
                    self._all, self._ids, self._shown = self._all or everything, self._ids | ids, self._shown | shown
                    await asyncio.sleep(RETRY_DELAY)
                if self._pending:
                    await asyncio.sleep(max(0.0, began + PAUSE - loop.time()))
        finally:
            self._polling = False

    @property
    def _pending(self) -> bool:
        return self._all or bool(self._ids) or bool(self._shown)

    async def _poll(self, ids: set[str] | None, shown: set[str]) -> None:
        sessions = [*self._cache.known.values()] if ids is None else self._cache.select(ids)
        for session in sessions:
            if session.current_conversation is not None and session.is_processing:
                session.current_conversation.poll_inputs()
        read = sessions if ids is None else [*sessions, *self._cache.select(shown)]
        watched = [session for session in read if session.board.has_readers]
        await asyncio.gather(
            *([self._refresh(watched)] if watched else []),  # first, since people wait for it
            *([self._recovery.stop_cancelled(), self._requests.poll(ids)] if sessions else []),
        )

    async def _refresh(self, sessions: Sequence[LiveSession]) -> None:
        """Bring sessions that have readers up to date."""
        if len(sessions) <= FEW:
            found = await asyncio.gather(*map(self._boards.refresh, sessions))
            for session, is_stored in zip(sessions, found, strict=True):
                if not is_stored:
                    await self._loader.reconcile(session)
            return
        heads = await self._store.heads([session.id for session in sessions])
        for session in sessions:
            head, last_seq = heads.get(session.id), session.board.last_seq
            if head is None or head.made_at != session.created_at or head.last_seq < last_seq:
                await self._loader.reconcile(session)
            elif head.last_seq > last_seq:
                self._boards.catch_up_soon(session.id)
