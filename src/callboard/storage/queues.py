"""The port of the queues of executions: those that wait for a worker, and their claims."""

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from .owners import Claim, QueuedCall
from .rows import ExecutionRow


class QueueDepth(NamedTuple):
    """The executions that wait in a queue."""

    queue: str
    waiting: int
    oldest_at: float
    """When the call of the oldest of them was made."""
    users: Mapping[str, int]
    """How many of them each user has."""


class Claimed(NamedTuple):
    """The result of a claim."""

    rows: list[ExecutionRow]
    """The executions that the claiming process owns from now on, each after its caller."""
    refused: list[tuple[str, str]]
    """Executions, by session and id, that still wait: as many calls of their tool run as may run at once."""
    sessions: Mapping[str, float]
    """When the sessions of the rows were created, by id."""


class Queues(Protocol):
    """Gives executions that wait in queues to workers. `Change.executions` puts them there."""

    async def claim(
        self, keys: Collection[tuple[str, str]], owner: str, limits: Mapping[str, int] | None = None
    ) -> Claimed:
        """Give those of these executions that wait in a queue to a process, with their unfinished nested calls.

        Executions that have ended, or that another process owns, are left out: each goes to one process. One that has
        not begun and belongs to the claiming process is returned again, since an earlier claim may have been made
        without its knowledge. A claim that the database loses in a crash is harmless: writes of its process are
        refused then, and no handler that must not run twice begins before such a write.

        `limits` has the number of executions that may run at once of some tools, in all processes together.
        """
        ...

    async def claimed_calls(self, owner_id: str) -> list[Claim]:
        """Return the executions that a process has claimed and not begun, by session and then in their order.

        The cost does not depend on how many executions wait in queues.
        """
        ...

    async def queue_depths(self) -> list[QueueDepth]:
        """Return the queues in which executions wait, by name."""
        ...

    async def queued_calls(
        self, queue: str, *, before: float, limit: int, tools: Collection[str] | None = None
    ) -> list[QueuedCall]:
        """Return the executions that wait in a queue and were called before a time, oldest first.

        With `tools`, only executions of these tools are returned.
        """
        ...

    async def queued_calls_of(self, queue: str, users: Mapping[str, int]) -> dict[str, list[QueuedCall]]:
        """Return the oldest executions of some users that wait in a queue, by user: as many as are asked for."""
        ...
