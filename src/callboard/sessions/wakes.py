"""What other processes wrote, and what has to be looked at here because of it.

Notifications come one by one, and as fast as all other processes commit. They are gathered while the last look is under
way, and seen to together: a look takes a fixed number of queries, however many sessions are open or busy here. The
store says which sessions were written; `SessionManager` says what is live.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from ..storage.errors import StoreError
from .session import Session

log = logging.getLogger("callboard.sessions")

AGAIN = 0.5
"""Seconds to wait before a look that the store did not answer is repeated."""
WORK = 0.25
"""Seconds between two searches for work that no process holds, where notifications cause them."""


class Wakes:
    """Gathers notifications and sees to them, one look at a time."""

    def __init__(
        self,
        known: Mapping[str, Session],
        refresh: Callable[[Sequence[Session]], Awaitable[None]],
        answers: Callable[[Iterable[str] | None], Awaitable[None]],
        stop_cancelled: Callable[[], Awaitable[None]],
        find_work: Callable[[], None],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._known = known
        """The sessions that are live here."""
        self._refresh = refresh
        """Gives readers of these sessions the events that they miss."""
        self._answers = answers
        """Looks for requests that were closed: in these sessions, or in all."""
        self._stop_cancelled = stop_cancelled
        """Stops executions and turns of this process that were asked to stop."""
        self._find_work = find_work
        """Looks soon for executions that no process holds."""
        self._spawn = spawn
        self._ids: set[str] = set()
        self._all = False
        """Whether any session may have been written."""
        self._looking = False
        self._searched: float | None = None

    def add(self, session_id: str | None) -> None:
        """Another process wrote to a session; with None, to any of them."""
        self._search()
        if session_id is None:
            self._all = bool(self._known)
        elif session_id in self._known:
            self._ids.add(session_id)
        if (self._all or self._ids) and not self._looking:
            self._looking = True
            self._spawn(self._run())

    def _search(self) -> None:
        """Have work found that no process holds, unless that was done just now: it is also looked for regularly."""
        now = asyncio.get_running_loop().time()
        if self._searched is None or now - self._searched >= WORK:
            self._searched = now
            self._find_work()

    async def _run(self) -> None:
        try:
            while self._all or self._ids:
                everything, self._all = self._all, False
                ids, self._ids = self._ids, set()
                try:
                    await self._look(None if everything else ids)
                except StoreError as error:
                    log.warning("the store was not reached: %s", error)
                    self._all, self._ids = self._all or everything, self._ids | ids
                    await asyncio.sleep(AGAIN)
        finally:
            self._looking = False

    async def _look(self, ids: set[str] | None) -> None:
        await self._stop_cancelled()
        await self._answers(ids)
        found = [*self._known.values()] if ids is None else [self._known[each] for each in ids if each in self._known]
        for session in found:
            if session.current_conversation is not None and session.current_conversation.is_processing:
                session.current_conversation.poll_orphans()
        if watched := [session for session in found if session.board.watched]:
            await self._refresh(watched)
