"""What is too old: stored events that nobody wants to keep, and requests to people whose time is over."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from ..storage.change import Change, RequestWrite
from ..storage.errors import Conflict
from ..storage.store import NO_LIMIT
from .services import Services
from .session import Session

AT_ONCE = 200
"""How many of the stored sessions are looked at each time. All of them have their turn, also those nobody opens."""


KEEP_KEYS = 86_400.0
"""Seconds for which a client's idempotency key is kept: a request that is repeated later counts as a new one."""


class Housekeeping:
    """Clears away, a little at a time."""

    def __init__(
        self,
        services: Services,
        bring: Callable[[str], Awaitable[Session | None]],
        *,
        keep_events: int | None,
        keep_for: float | None,
    ) -> None:
        self._services = services
        self._store = services.store
        self._clock = services.clock
        self._bring = bring
        """Gives a session, from memory or from the store, without logging anybody in."""
        self._keep_events = keep_events
        self._keep_for = keep_for
        self._after = ""
        """The last session that had its turn."""

    async def trim(self, in_memory: Iterable[str]) -> None:
        """Forget old events: of the sessions that are in use, and of some others."""
        if self._keep_events is None and self._keep_for is None:
            return
        keep = NO_LIMIT if self._keep_events is None else self._keep_events
        before = 0.0 if self._keep_for is None else self._clock.time() - self._keep_for
        others = [row.id for row in await self._store.sessions(after=self._after, limit=AT_ONCE)]
        self._after = others[-1] if others else ""
        for session_id in {*in_memory, *others}:
            await self._store.trim(session_id, keep=keep, before=before)

    async def forget_keys(self) -> None:
        """Forget idempotency keys that are too old."""
        await self._store.forget_keys(self._clock.time() - KEEP_KEYS)

    async def expire(self) -> float | None:
        """Close requests whose time is over and for which no process waits. Returns when the next one expires."""
        now = self._clock.time()
        for row in await self._store.requests(status="open", due=now):
            session = await self._bring(row.session_id)
            closed = replace(row, status="expired", answered_at=now)
            with suppress(Conflict):  # somebody answered, or closed it, in the same moment
                if session is not None:
                    await session.ledger.write(Change(session.id, requests=[RequestWrite(closed, "open")]))
        await self._services.requests.look(None)
        self._services.poll_orphans()
        return await self._store.next_expiry()
