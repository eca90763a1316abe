"""Queue of sessions to wake, in a fair order: users take turns, and each has a share of what is under way at once.

It decides the order only; `Waker` wakes the sessions.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable


class WakeQueue:
    """Sessions by user. The cost of adding and taking one does not grow with their number.

    At most `at_once` are under way. A user may have as many under way as there is room left, so that no user takes all
    of it.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._users: OrderedDict[str, deque[str]] = OrderedDict()
        """Waiting sessions by user, in the order of the users' next turns."""
        self._waiting: set[str] = set()
        self._under_way: Counter[str] = Counter()
        """The number of sessions under way, of users that have any."""
        self._room = at_once

    def __len__(self) -> int:
        """Return the number of sessions that wait."""
        return len(self._waiting)

    def add(self, sessions: Iterable[tuple[str, str]]) -> None:
        """Append sessions, each given by its id and its user. One that waits already is not added again."""
        for session_id, user_id in sessions:
            if session_id not in self._waiting:
                self._waiting.add(session_id)
                self._users.setdefault(user_id, deque()).append(session_id)

    def take(self) -> tuple[str, str] | None:
        """Take the next session and its user: it is under way until `done`. None if there is none, or no room."""
        if not self._room:
            return None
        for user_id in self._users:  # fewer than `at_once` users are passed over: they have sessions under way
            if self._under_way[user_id] < self._room:
                break
        else:
            return None
        sessions = self._users[user_id]
        session_id = sessions.popleft()
        self._waiting.discard(session_id)
        if sessions:
            self._users.move_to_end(user_id)
        else:
            del self._users[user_id]
        self._under_way[user_id] += 1
        self._room -= 1
        return session_id, user_id

    def done(self, user_id: str) -> None:
        """Note that a session of a user is under way no longer."""
        self._under_way[user_id] -= 1
        if not self._under_way[user_id]:
            del self._under_way[user_id]
        self._room += 1
