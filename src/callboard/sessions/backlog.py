"""Queue of work to recover, in a fair order: users take turns, and so do the sessions of a user.

It decides the order only; `Recovery` does the work.
"""

from collections import deque
from collections.abc import Iterable

from ..storage.owners import Claim
from ..storage.rows import INPUT, TURN

_Lane = tuple[deque[Claim], deque[Claim]]
"""Claims of one session: its calls, and then its turns and inputs, which need the calls."""


class Backlog:
    """Claims by user and session. The cost of adding and taking one does not grow with their number."""

    def __init__(self) -> None:
        self._users: dict[str, dict[str, _Lane]] = {}
        """In the order of their next turns."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, claims: Iterable[Claim]) -> None:
        """Append claims to the queues of their sessions."""
        for claim in claims:
            calls, others = self._users.setdefault(claim.user_id, {}).setdefault(claim.session_id, (deque(), deque()))
            (others if claim.kind in (TURN, INPUT) else calls).append(claim)
            self._count += 1

    def take(self, limit: int) -> list[Claim]:
        """Take the next claims, at most `limit`."""
        taken: list[Claim] = []
        while self._users and len(taken) < limit:
            user_id = next(iter(self._users))
            sessions = self._users.pop(user_id)
            session_id = next(iter(sessions))
            calls, others = sessions.pop(session_id)
            taken.append((calls or others).popleft())
            if calls or others:
                sessions[session_id] = calls, others
            if sessions:
                self._users[user_id] = sessions
        self._count -= len(taken)
        return taken
