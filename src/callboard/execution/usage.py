"""The resources of this process that one user takes up: slots, room in the queue, memory, open requests.

All sessions of a user share one `UserUsage`, in which the slot limiter, the memory budget and the requests count.
"""

from dataclasses import dataclass, field
from weakref import WeakValueDictionary


@dataclass(slots=True, weakref_slot=True, eq=False)
class UserUsage:
    """The counters of one user."""

    user_id: str
    running: int = 0
    """Executions that hold a slot."""
    queued: int = 0
    """Executions that wait for a slot."""
    served: int = 0
    """The number of the last slot that the queue gave to this user: the lower, the longer ago."""
    requests: int = 0
    """Executions that wait for a person."""
    sessions: dict[str, None] = field(default_factory=dict[str, None])
    """The ids of its sessions in memory, oldest first."""
    arguments: int = 0
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
