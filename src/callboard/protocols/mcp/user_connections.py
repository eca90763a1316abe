"""The number of connections of the handshake era that each user has open, which is limited."""

from collections import Counter, OrderedDict

from ...clock import Clock
from ..problem import Problem

MAX_PER_USER = 200


class UserConnections:
    """The open connections by user. One without requests for `idle_after` seconds is forgotten, as the SDK ends it."""

    def __init__(self, clock: Clock, idle_after: float) -> None:
        self._clock = clock
        self._idle_after = idle_after
        self._used: OrderedDict[tuple[str, str], float] = OrderedDict()
        """The time of the last request of each connection, by user and id, oldest first."""
        self._open: Counter[str] = Counter()
        """The number of connections of each user that has any."""

    def __len__(self) -> int:
        """Return the number of open connections of all users."""
        return len(self._used)

    def check(self, user_id: str) -> None:
        """Raise `Problem` (429) if a user may not open another connection."""
        self._forget_idle()
        if (known := self._open[user_id]) >= MAX_PER_USER:
            detail = f"You have {known} connections open. Close one first, with a DELETE request."
            raise Problem(429, "too_many_connections", "Too many at once", detail, {"retry-after": "60"})

    def used(self, user_id: str, connection_id: str) -> None:
        """Note a request on a connection."""
        self._forget_idle()
        key = user_id, connection_id
        if key not in self._used:
            self._open[user_id] += 1
        self._used[key] = self._clock.monotonic()
        self._used.move_to_end(key)

    def ended(self, user_id: str, connection_id: str) -> None:
        """Forget a connection that its client has ended, or that does not exist."""
        if self._used.pop((user_id, connection_id), None) is not None:
            self._open[user_id] -= 1
            if not self._open[user_id]:
                del self._open[user_id]

    def _forget_idle(self) -> None:
        """Forget the idle connections of all users, because most users do not return."""
        latest = self._clock.monotonic() - self._idle_after
        while self._used:
            oldest, used_at = next(iter(self._used.items()))
            if used_at >= latest:
                return
            self.ended(*oldest)
