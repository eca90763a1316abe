"""A store: the composition of the small ports that consumers use. An adapter implements all of them.

`callboard.testing.store_contract` has the test suite that every store must pass.
"""

from typing import Protocol

from .change import Notice
from .committer import Committer
from .document_records import DocumentRecords
from .event_log import EventLog
from .memory_records import MemoryRecords
from .owners import Owners
from .queues import Queues
from .records import (
    ApiKeyRecords,
    ConversationRecords,
    ExecutionRecords,
    IdempotencyRecords,
    RequestRecords,
    SessionRecords,
)

NO_LIMIT = 1 << 60
"""A limit that no number of rows reaches."""


class Woken(Protocol):
    """Learns that another process wrote to a session."""

    def __call__(self, session_id: str | None, notice: Notice = Notice.CHANGED, /) -> object:
        """Note it. None stands for any session; with `RESULTS_LEFT` also if notifications may have been missed."""
        ...


class Store(
    Committer,
    EventLog,
    SessionRecords,
    ExecutionRecords,
    ConversationRecords,
    RequestRecords,
    IdempotencyRecords,
    ApiKeyRecords,
    MemoryRecords,
    DocumentRecords,
    Owners,
    Queues,
    Protocol,
):
    """Everything that a runtime stores. Safe with many processes.

    Every method raises `StoreUnavailable` if the store cannot be reached.
    """

    @property
    def durable(self) -> bool:
        """Whether the contents survive the process. Sessions of a store that is not durable live in memory only."""
        ...

    async def open(self, woken: Woken) -> None:
        """Open the store. It calls `woken` on this event loop after another process wrote."""
        ...

    async def close(self) -> None:
        """Close the store. It can be opened again."""
        ...
