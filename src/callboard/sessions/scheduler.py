"""The scheduler: which sessions are live, and whose they are. A service, not an executor: calls schedule themselves."""

from collections.abc import Collection, Iterable

from ..clock import Clock
from ..errors import CallboardError
from ..events.board import Board
from ..execution.book import Book
from ..execution.manager import ExecutionManager
from ..tools.registry import Registry
from ..tools.view import View
from .session import MAX_ID, Session


class SessionNotFound(CallboardError):
    """There is no such session, or it belongs to somebody else: the two look the same."""

    code = "session_not_found"


class SessionIdInvalid(CallboardError, ValueError):
    """A session id or user id cannot be used."""

    code = "session_id"


class Scheduler:
    """Opens and finds sessions."""

    def __init__(
        self, registry: Registry, manager: ExecutionManager, clock: Clock, *, keep_events: int, keep_executions: int
    ) -> None:
        self._registry = registry
        self._manager = manager
        self._clock = clock
        self._keep_events = keep_events
        self._keep_executions = keep_executions
        self._sessions: dict[str, Session] = {}

    def open(
        self,
        session_id: str,
        user_id: str,
        *,
        namespaces: Collection[str] | None = None,
        channel: str | None = None,
        allow: Collection[str] | None = None,
    ) -> Session:
        """The session of that id, made if need be. Raises `SessionNotFound` for one of another user."""
        _check_id("session_id", session_id)
        _check_id("user_id", user_id)
        known = self._sessions.get(session_id)
        if known is not None:
            return self._owned(known, user_id)
        session = self._sessions[session_id] = Session(
            session_id,
            user_id,
            View.of(namespaces, channel, allow),
            registry=self._registry,
            manager=self._manager,
            clock=self._clock,
            board=Board(self._keep_events),
            book=Book(self._keep_executions),
        )
        return session

    def get(self, session_id: str, user_id: str) -> Session:
        """A live session of that user. Raises `SessionNotFound`."""
        known = self._sessions.get(session_id)
        if known is None:
            raise _not_found(session_id)
        return self._owned(known, user_id)

    def close(self, session: Session) -> None:
        """Forget a session, after stopping what it runs."""
        for execution in session.open_executions:
            self._manager.cancel(execution)
        self._sessions.pop(session.id, None)
        self._manager.forget(session)

    def live(self, session_ids: Iterable[str]) -> list[Session]:
        """Those of the sessions that are live, whoever they belong to."""
        return [self._sessions[each] for each in session_ids if each in self._sessions]

    def __len__(self) -> int:
        return len(self._sessions)

    def _owned(self, session: Session, user_id: str) -> Session:
        if session.user_id != user_id:
            raise _not_found(session.id)
        return session


def _check_id(name: str, value: str) -> None:
    if not value or len(value) > MAX_ID or not value.isprintable():
        raise SessionIdInvalid(f"{name} must have 1 to {MAX_ID} printable characters.")


def _not_found(session_id: str) -> SessionNotFound:
    return SessionNotFound(f"There is no session {session_id[:MAX_ID]!r}.")
