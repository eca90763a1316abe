"""A store in memory: all promises of a store, except that its contents end with the process.

No method waits, so that each is carried out in one step of the event loop, and its effect is seen whole.
"""

from collections.abc import Callable, Sequence

from ....storage.change import Change
from ....storage.errors import Conflict
from .conversations import MemoryConversationRecords
from .events import MemoryEventLog
from .executions import MemoryExecutionRecords
from .idempotency import MemoryIdempotencyRecords
from .keys import MemoryKeyRecords
from .owners import MemoryOwners
from .requests import MemoryRequestRecords
from .sessions import MemorySessionRecords
from .state import MemoryState


class MemoryStore(
    MemoryEventLog,
    MemorySessionRecords,
    MemoryExecutionRecords,
    MemoryConversationRecords,
    MemoryRequestRecords,
    MemoryIdempotencyRecords,
    MemoryKeyRecords,
    MemoryOwners,
):
    """The store of one process, as long as the object exists."""

    durable = False

    def __init__(self) -> None:
        super().__init__(MemoryState())

    async def open(self, woken: Callable[[str | None], None]) -> None:
        """Do nothing: no other process can write here, so `woken` is never called."""

    async def close(self) -> None:
        """Release the locks of processes and keep everything else: the object can be opened again."""
        self._state.locks.clear()

    async def verify(self) -> None:
        """Do nothing: a store in memory is never migrated."""

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        return [self._state.write(change) for change in changes]

    async def probe(self) -> None:
        """Do nothing: there is always space."""
