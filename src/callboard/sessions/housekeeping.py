"""Periodic clean-up: idle sessions, old events, old idempotency keys, and requests that have expired."""

import asyncio
from collections.abc import Iterable

from ..clock import Timer
from ..storage.store import NO_LIMIT
from .heartbeat import Heartbeat
from .recovery import Recovery
from .services import Services
from .session_cache import SessionCache
from .session_loader import Retention, SessionLoader

TRIM_BATCH = 200
"""Number of stored sessions that are trimmed in one sweep. The sweeps take turns, so that all sessions are trimmed."""
READ_BATCH = 1_000
"""Number of sessions of which one query says whether they have old events."""
KEY_LIFETIME = 86_400.0
"""Seconds for which an idempotency key is kept: a request that is repeated later counts as a new one."""
MIN_POLL_INTERVAL = 0.1
"""Least number of seconds between two polls for requests that expired."""
SWEEP_INTERVAL = 60.0
"""Seconds between two sweeps."""


class Housekeeping:
    """Sweeps at regular intervals, from `open` until `close`."""

    def __init__(
        self,
        services: Services,
        cache: SessionCache,
        loader: SessionLoader,
        recovery: Recovery,
        heartbeat: Heartbeat,
        retention: Retention,
        *,
        recover: bool,
        idle_after: float,
    ) -> None:
        self._store = services.store
        self._clock = services.clock
        self._requests = services.requests
        self._background = services.background
        self._cache = cache
        self._loader = loader
        self._recovery = recovery
        self._heartbeat = heartbeat
        self._retention = retention
        self._recover = recover
        self._idle_after = idle_after
        self._trimmed_up_to = ""
        """The last stored session that was trimmed."""
        self._trimming = asyncio.Lock()
        """Lets one sweep at a time trim sessions."""
        self._timer: Timer | None = None
        self._expiry: Timer | None = None
        self._closed = False

    def open(self) -> None:
        """Start sweeping."""
        self._closed = False
        if self._store.durable and self._recover:
            self._background.run(self.expire_requests())
        self._schedule()

    def close(self) -> None:
        """Stop sweeping."""
        self._closed = True
        for timer in (self._timer, self._expiry):
            if timer is not None:
                timer.cancel()

    def _schedule(self) -> None:
        self._timer = self._clock.call_later(min(self._idle_after, SWEEP_INTERVAL), self._sweep)

    def _sweep(self) -> None:
        self._background.run(self._store.forget_idempotency_keys(self._clock.time() - KEY_LIFETIME))
        if self._store.durable:
            self._background.run(self.trim([session.id for session in self._cache]))
            self._background.run(self._recovery.stop_cancelled())
            if self._recover:
                self._background.run(self.expire_requests())
            self._cache.evict_idle(self._clock.monotonic() - self._idle_after)
        elif self._retention.seconds is not None:
            for session in self._cache:
                session.board.drop_before(self._clock.time() - self._retention.seconds)
        self._schedule()

    async def trim(self, in_memory: Iterable[str]) -> None:
        """Delete old events: of the sessions in memory, and of some others."""
        seconds, keep = self._retention.seconds, self._retention.events
        if keep is None and seconds is None:
            return
        async with self._trimming:
            await self._trim(in_memory, NO_LIMIT if keep is None else keep, seconds)

    async def _trim(self, in_memory: Iterable[str], keep: int, seconds: float | None) -> None:
        before = 0.0 if seconds is None else self._clock.time() - seconds
        others = [row.id for row in await self._store.sessions(after=self._trimmed_up_to, limit=TRIM_BATCH)]
        self._trimmed_up_to = others[-1] if others else ""
        session_ids = [*{*in_memory, *others}]
        for start in range(0, len(session_ids), READ_BATCH):
            some = session_ids[start : start + READ_BATCH]
            for session_id in await self._store.sessions_to_trim(some, keep=keep, before=before):
                await self._store.trim(session_id, keep=keep, before=before)

    async def expire_requests(self) -> None:
        """Close requests that have expired, and schedule the next expiry: no process may hold their executions."""
        due = await self._close_expired()
        if self._closed:
            return
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if due is not None and (delay := max(MIN_POLL_INTERVAL, due - self._clock.time())) < SWEEP_INTERVAL:
            self._expiry = self._clock.call_later(delay, lambda: self._background.run(self.expire_requests()))

    async def _close_expired(self) -> float | None:
        """Close requests that have expired. Returns when the next one expires."""
        for row in await self._store.requests(status="open", due=self._clock.time()):
            if (session := await self._loader.find_or_load(row.session_id)) is not None:
                await self._requests.close_unanswered(session, row, "expired")
        await self._requests.poll(None)
        self._heartbeat.poll_soon()
        return await self._store.next_expiry()
