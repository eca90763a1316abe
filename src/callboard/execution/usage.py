"""The resources of this process that one user takes up: slots, room in the queue, memory, open requests.

All sessions of a user share one `UserUsage`, in which the slot limiter, the memory budget and the requests count.
"""

from weakref import WeakValueDictionary


class UserUsage:
    """The counters of one user."""

    __slots__ = ("__weakref__", "arguments", "queued", "requests", "running", "served", "sessions", "user_id")

    def __init__(self, user_id: str) -> None:
        self.user_id = user_id
        self.running = 0
        """Executions that hold a slot."""
        self.queued = 0
        """Executions that wait for a slot."""
        self.served = 0
        """The number of the last slot that the queue gave to this user: the lower, the longer ago."""
        self.requests = 0
        """Executions that wait for a person."""
        self.sessions: dict[str, None] = {}
        """The ids of its sessions in memory, oldest first."""
        self.arguments = 0
        """Bytes of the large arguments of executions that have not ended."""


class Usage:
    """The users of one process. A user is dropped with the last of its sessions."""

    def __init__(self) -> None:
        self._users: WeakValueDictionary[str, UserUsage] = WeakValueDictionary()

    def of(self, user_id: str) -> UserUsage:
        """Return the counters of a user."""
        if (known := self._users.get(user_id)) is None:
            known = self._users[user_id] = UserUsage(user_id)
        return known
