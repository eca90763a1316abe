"""Work that waits to be recovered, in a fair order: users take turns, and within a user, sessions do.

It only knows the order. `Recovery` acts on what it hands out.
"""

from collections import deque
from collections.abc import Iterable

from ..storage.owners import Claim
from ..storage.rows import INPUT, TURN

_Lane = tuple[deque[Claim], deque[Claim]]
"""The claims of one session: its calls, and then its turns and inputs, which go on when the calls do."""


class Backlog:
    """Claims by user and session. Adding and taking one costs the same however many there are."""

    def __init__(self) -> None:
        self._users: dict[str, dict[str, _Lane]] = {}
        """In the order of their next turns."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, claims: Iterable[Claim]) -> None:
        """Put claims at the ends of their sessions."""
        for claim in claims:
            calls, others = self._users.setdefault(claim.user_id, {}).setdefault(claim.session_id, (deque(), deque()))
            (others if claim.kind in (TURN, INPUT) else calls).append(claim)
            self._count += 1

    def take(self, most: int) -> list[Claim]:
        """Take the next claims, at most so many."""
        taken: list[Claim] = []
        while self._users and len(taken) < most:
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
