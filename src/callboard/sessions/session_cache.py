"""The sessions that this process knows: those in memory, and evicted ones that are still referenced.

It decides which sessions stay in memory. `SessionLoader` reads and writes them.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from weakref import WeakValueDictionary

from ..errors import ErrorCategory, ToolError
from ..execution.manager import ExecutionManager
from ..execution.usage import UserUsage
from .live_session import LiveSession

CANDIDATES = 100
"""Number of sessions of a user at the limit that are considered for eviction."""


class SessionCache:
    """Live sessions by id. There is at most one per id, even if it is evicted while code still refers to it."""

    def __init__(self, manager: ExecutionManager) -> None:
        self._manager = manager
        self._in_memory: dict[str, LiveSession] = {}
        self.known: WeakValueDictionary[str, LiveSession] = WeakValueDictionary()
        """Sessions in memory, and evicted ones that are still referenced."""
        self._stale: set[str] = set()
        self.on_delete: list[Callable[[LiveSession], None]] = []
        """Called with each session that was deleted, here or by another process."""

    def __len__(self) -> int:
        return len(self._in_memory)

    def __iter__(self) -> Iterator[LiveSession]:
        return iter(tuple(self._in_memory.values()))

    def get(self, session_id: str) -> LiveSession | None:
        """Return a session that is in memory."""
        return self._in_memory.get(session_id)

    def select(self, session_ids: Iterable[str]) -> list[LiveSession]:
        """Return those of these sessions that are known."""
        return [session for each in session_ids if (session := self.known.get(each)) is not None]

    def add(self, session: LiveSession) -> None:
        """Put a session into memory."""
        self.known[session.id] = session
        self._in_memory[session.id] = session
        session.user.sessions[session.id] = None

    def discard(self, session: LiveSession) -> None:
        """Forget a session entirely."""
        self._leave(session)
        self.known.pop(session.id, None)

    def _leave(self, session: LiveSession) -> None:
        self._in_memory.pop(session.id, None)
        session.user.sessions.pop(session.id, None)

    # Sessions that another process may have changed

    def mark_stale(self, session_id: str | None) -> None:
        """Have a session, or all of them (None), read again before it is used."""
        if session_id is None:
            self._stale.update(self.known)
        elif session_id in self.known:
            self._stale.add(session_id)

    def mark_fresh(self, session_id: str) -> None:
        """Note that a session was read from the store."""
        self._stale.discard(session_id)

    def is_current(self, session_id: str) -> bool:
        """Return whether a session is in memory, and need not be read again before it is used."""
        return session_id in self._in_memory and session_id not in self._stale

    def is_stale(self, session_id: str) -> bool:
        """Return whether a session must be read again before it is used."""
        return session_id in self._stale

    # Eviction and deletion

    def evict(self, session: LiveSession) -> None:
        """Free the memory of a session, if everything of it is stored and nothing runs or reads in it."""
        in_use = session.is_processing or session.calls.unfinished or session.board.has_readers
        if session.durable and not in_use:
            self._leave(session)
            session.current_conversation = None
            session.board.drop_archived()
            session.index.clear()
            self._manager.forget(session)

    def evict_idle(self, before: float) -> None:
        """Evict sessions that were last used before a monotonic time."""
        self._stale.intersection_update(self.known)
        for session in self:
            if session.last_used <= before and session.ledger.idle:
                self.evict(session)

    def make_room(self, user: UserUsage, limit: int) -> None:
        """Evict sessions of a user that has as many in memory as its limit. Raises `ToolError` (resource)."""
        for session_id in [*islice(user.sessions, CANDIDATES)] if len(user.sessions) >= limit else ():
            session = self._in_memory[session_id]
            if session.ledger.idle:
                self.evict(session)
            if len(user.sessions) < limit:
                return
            if session_id in user.sessions:  # it is in use: move it to the end of the candidates
                user.sessions[session_id] = user.sessions.pop(session_id)
        if len(user.sessions) >= limit:
            raise ToolError(
                f"This user has {len(user.sessions):,} sessions in memory, which is the limit. Close some of them.",
                category=ErrorCategory.RESOURCE,
            )

    def delete(self, session: LiveSession) -> None:
        """Forget a session that was deleted, and stop everything that runs in it."""
        session.deleted = True
        session.board.end()
        for notify in self.on_delete:
            notify(session)
        if session.current_conversation is not None:
            session.current_conversation.stop()
        for execution in session.calls.unfinished:
            self._manager.cancel(execution)
        self.discard(session)
        self._manager.forget(session)
        session.index.close()
