"""What one user takes up in this process: places, room in the queue, memory, open requests.

Every session of a user shares one `UserUsage`. The gatekeeper, the memory budget and the requests count in it; none of
them needs to know the others.
"""

from weakref import WeakValueDictionary


class UserUsage:
    """The counters of one user."""

    __slots__ = ("__weakref__", "arguments", "queued", "requests", "running", "served", "sessions", "user_id")

    def __init__(self, user_id: str) -> None:
        self.user_id = user_id
        self.running = 0
        """Executions that hold a place."""
        self.queued = 0
        """Executions that wait for a place."""
        self.served = 0
        """The number of the last place that the queue gave to this user: the lower, the longer ago."""
        self.requests = 0
        """Executions that wait for a person."""
        self.sessions: dict[str, None] = {}
        """The ids of its sessions that are in memory, the one that came first at first."""
        self.arguments = 0
        """Bytes of the large arguments of executions that have not ended."""


class Usage:
    """The users of one process. A user is forgotten with the last of its sessions."""

    def __init__(self) -> None:
        self._users: WeakValueDictionary[str, UserUsage] = WeakValueDictionary()

    def of(self, user_id: str) -> UserUsage:
        """The counters of a user, shared by all of its sessions."""
        if (known := self._users.get(user_id)) is None:
            known = self._users[user_id] = UserUsage(user_id)
        return known
