"""A queue that is fair between users: urgent calls first, then each user in turn, then each of its sessions in turn.

Finding the next call takes constant time. A user or a session that uses all its slots leaves the rotation when its turn
comes, and returns when it frees a slot.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from .execution import Execution, Priority, Scope
from .usage import UserUsage


class Queued(NamedTuple):
    """A queued call, and its number in the order of arrival."""

    number: int
    execution: Execution


@dataclass(slots=True, eq=False)
class _SessionQueue:
    """The calls of one session and one priority, in order of arrival."""

    scope: Scope
    users: "_UserQueue"
    calls: dict[str, Queued] = field(default_factory=dict[str, Queued])
    listed: bool = False
    """Whether it is in the rotation of its user."""


@dataclass(slots=True, eq=False)
class _UserQueue:
    """The sessions of one user with calls of one priority."""

    user: UserUsage
    sessions: dict[str, _SessionQueue] = field(default_factory=dict[str, _SessionQueue])
    """The sessions in the rotation, the next one first."""
    size: int = 0
    """The number of its sessions, in the rotation or not."""
    listed: bool = False
    """Whether it is in the rotation of the users."""


class FairQueue:
    """Queued calls. Those of users and sessions that use `per_user` or `per_session` slots stay queued.

    Without these limits only the order matters, as for nested calls, which run on the slot of their parent.
    """

    __slots__ = ("_per_session", "_per_user", "_rings", "_sessions", "_users")

    def __init__(self, per_user: int | None = None, per_session: int | None = None) -> None:
        self._per_user = per_user
        self._per_session = per_session
        self._rings: dict[Priority, dict[str, _UserQueue]] = {priority: {} for priority in Priority}
        """The users in the rotation by priority, the next one first."""
        self._users: dict[tuple[Priority, str], _UserQueue] = {}
        self._sessions: dict[tuple[Priority, str], _SessionQueue] = {}

    def __bool__(self) -> bool:
        return bool(self._sessions)

    def add(self, number: int, execution: Execution) -> None:
        priority, scope = execution.priority, execution.scope
        if (session := self._sessions.get((priority, scope.id))) is None:
            if (users := self._users.get((priority, scope.user_id))) is None:
                users = self._users[priority, scope.user_id] = _UserQueue(scope.user)
            session = self._sessions[priority, scope.id] = _SessionQueue(scope, users)
            users.size += 1
            self._list(priority, session)
        session.calls[execution.id] = Queued(number, execution)

    def remove(self, execution: Execution) -> None:
        """Remove a call that is in the queue."""
        priority, scope = execution.priority, execution.scope
        session = self._sessions[priority, scope.id]
        del session.calls[execution.id]
        if session.calls:
            return
        del self._sessions[priority, scope.id]
        users = session.users
        users.size -= 1
        users.sessions.pop(scope.id, None)
        if not users.sessions and users.listed:
            self._unlist(priority, users)
        if not users.size:
            del self._users[priority, scope.user_id]

    def take(self, execution: Execution) -> None:
        """Remove the call whose turn it is, and move its user and session to the end of the rotation."""
        priority, scope = execution.priority, execution.scope
        users = self._users[priority, scope.user_id]
        self.remove(execution)
        if (session := users.sessions.pop(scope.id, None)) is not None:
            users.sessions[scope.id] = session
        if users.listed:
            del self._rings[priority][scope.user_id]
            self._rings[priority][scope.user_id] = users

    def first(self) -> Queued | None:
        """Return the call whose turn it is; None if none may run."""
        for priority, ring in self._rings.items():
            while ring:
                users = next(iter(ring.values()))
                full = self._per_user is not None and users.user.running >= self._per_user
                if not full and (session := self._first_of(users)) is not None:
                    return next(iter(session.calls.values()))
                self._unlist(priority, users)
        return None

    def restore(self, scope: Scope) -> None:
        """Put a session that freed a slot, and its user, back into the rotation."""
        for priority in Priority:
            if (session := self._sessions.get((priority, scope.id))) is not None:
                self._list(priority, session)
            users = self._users.get((priority, scope.user_id))
            if users is not None and users.sessions and not users.listed:
                users.listed = True
                self._rings[priority][scope.user_id] = users

    def _first_of(self, users: _UserQueue) -> _SessionQueue | None:
        while users.sessions:
            session = next(iter(users.sessions.values()))
            if self._per_session is None or session.scope.running < self._per_session:
                return session
            del users.sessions[session.scope.id]
            session.listed = False
        return None

    def _list(self, priority: Priority, session: _SessionQueue) -> None:
        users = session.users
        if not session.listed:
            session.listed = True
            users.sessions[session.scope.id] = session
        if not users.listed:
            users.listed = True
            self._rings[priority][users.user.user_id] = users

    def _unlist(self, priority: Priority, users: _UserQueue) -> None:
        del self._rings[priority][users.user.user_id]
        users.listed = False
