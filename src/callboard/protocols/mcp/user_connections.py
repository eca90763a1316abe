"""The number of connections of the handshake era that each user has open, which is limited."""

from collections import OrderedDict

from ...clock import Clock
from ..problem import Problem

MAX_PER_USER = 200


class UserConnections:
    """The open connections by user. One without requests for `idle_after` seconds is forgotten, as the SDK ends it."""

    def __init__(self, clock: Clock, idle_after: float) -> None:
        self._clock = clock
        self._idle_after = idle_after
        self._by_user: dict[str, OrderedDict[str, float]] = {}
        """The time of the last request of each connection, oldest first."""

    def check(self, user_id: str) -> None:
        """Raise `Problem` (429) if a user may not open another connection."""
        known = self._by_user.get(user_id)
        if known is None:
            return
        now = self._clock.monotonic()
        while known and next(iter(known.values())) + self._idle_after < now:
            known.popitem(last=False)
        if not known:
            del self._by_user[user_id]
        elif len(known) >= MAX_PER_USER:
            detail = f"You have {len(known)} connections open. Close one first, with a DELETE request."
            raise Problem(429, "too_many_connections", "Too many at once", detail, {"retry-after": "60"})

    def used(self, user_id: str, connection_id: str) -> None:
        """Note a request on a connection."""
        known = self._by_user.setdefault(user_id, OrderedDict())
        known[connection_id] = self._clock.monotonic()
        known.move_to_end(connection_id)

    def ended(self, user_id: str, connection_id: str) -> None:
        """Forget a connection that its client has ended, or that does not exist."""
        if (known := self._by_user.get(user_id)) is not None:
            known.pop(connection_id, None)
            if not known:
                del self._by_user[user_id]
