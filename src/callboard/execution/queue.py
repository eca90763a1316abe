"""A queue that is fair between users: urgent calls first, then each user in turn, then each of its sessions in turn.

Finding the next call costs the same however many wait. A user or a session that has all its places is taken out of
the rotation when its turn comes, and put back when it gives a place back.
"""

from typing import NamedTuple

from .execution import Execution, Priority, Scope
from .usage import UserUsage


class Queued(NamedTuple):
    """A call that waits, and its number in the order of arrival."""

    number: int
    execution: Execution


class _SessionLine:
    """The calls of one session and one priority, in the order of their arrival."""

    __slots__ = ("calls", "listed", "scope", "users")

    def __init__(self, scope: Scope, users: "_UserLine") -> None:
        self.scope = scope
        self.users = users
        self.calls: dict[str, Queued] = {}
        self.listed = False
        """Whether it takes part in the rotation of its user."""


class _UserLine:
    """The sessions of one user with calls of one priority."""

    __slots__ = ("listed", "sessions", "size", "user")

    def __init__(self, user: UserUsage) -> None:
        self.user = user
        self.sessions: dict[str, _SessionLine] = {}
        """Those in the rotation, the next one first."""
        self.size = 0
        """How many sessions there are, with those that are not in the rotation."""
        self.listed = False
        """Whether it takes part in the rotation of the users."""


class FairQueue:
    """Calls that wait. With `per_user` and `per_session`, those of users and sessions that have as many places wait on.

    Without them only the order matters: calls made by handlers run on the place of their caller.
    """

    __slots__ = ("_lines", "_per_session", "_per_user", "_rings", "_users")

    def __init__(self, per_user: int | None = None, per_session: int | None = None) -> None:
        self._per_user = per_user
        self._per_session = per_session
        self._rings: dict[Priority, dict[str, _UserLine]] = {priority: {} for priority in Priority}
        """The users in the rotation by priority, the next one first."""
        self._users: dict[tuple[Priority, str], _UserLine] = {}
        self._lines: dict[tuple[Priority, str], _SessionLine] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, number: int, execution: Execution) -> None:
        """Let a call wait."""
        priority, scope = execution.priority, execution.scope
        if (line := self._lines.get((priority, scope.id))) is None:
            if (users := self._users.get((priority, scope.user_id))) is None:
                users = self._users[priority, scope.user_id] = _UserLine(scope.user)
            line = self._lines[priority, scope.id] = _SessionLine(scope, users)
            users.size += 1
            self._list(priority, line)
        line.calls[execution.id] = Queued(number, execution)

    def remove(self, execution: Execution) -> bool:
        """Take a call out; False where it was not in it."""
        priority, scope = execution.priority, execution.scope
        line = self._lines.get((priority, scope.id))
        if line is None or line.calls.pop(execution.id, None) is None:
            return False
        if not line.calls:
            del self._lines[priority, scope.id]
            users = line.users
            users.size -= 1
            users.sessions.pop(scope.id, None)
            if not users.sessions and users.listed:
                self._unlist(priority, users)
            if not users.size:
                del self._users[priority, scope.user_id]
        return True

    def take(self, execution: Execution) -> None:
        """Take the call out whose turn it is: its user and its session go to the end of the rotation."""
        priority, scope = execution.priority, execution.scope
        users = self._users[priority, scope.user_id]
        self.remove(execution)
        if (line := users.sessions.pop(scope.id, None)) is not None:
            users.sessions[scope.id] = line
        if users.listed:
            del self._rings[priority][scope.user_id]
            self._rings[priority][scope.user_id] = users

    def first(self) -> Queued | None:
        """The call whose turn it is; None where none may run."""
        for priority, ring in self._rings.items():
            while ring:
                users = next(iter(ring.values()))
                full = self._per_user is not None and users.user.running >= self._per_user
                if not full and (line := self._first_of(users)) is not None:
                    return next(iter(line.calls.values()))
                self._unlist(priority, users)
        return None

    def freed(self, scope: Scope) -> None:
        """A session gave a place back: it and its user take part in the rotation again."""
        for priority in Priority:
            if (line := self._lines.get((priority, scope.id))) is not None:
                self._list(priority, line)
            users = self._users.get((priority, scope.user_id))
            if users is not None and users.sessions and not users.listed:
                users.listed = True
                self._rings[priority][scope.user_id] = users

    def _first_of(self, users: _UserLine) -> _SessionLine | None:
        while users.sessions:
            line = next(iter(users.sessions.values()))
            if self._per_session is None or line.scope.running < self._per_session:
                return line
            del users.sessions[line.scope.id]
            line.listed = False
        return None

    def _list(self, priority: Priority, line: _SessionLine) -> None:
        users = line.users
        if not line.listed:
            line.listed = True
            users.sessions[line.scope.id] = line
        if not users.listed:
            users.listed = True
            self._rings[priority][users.user.user_id] = users

    def _unlist(self, priority: Priority, users: _UserLine) -> None:
        del self._rings[priority][users.user.user_id]
        users.listed = False
