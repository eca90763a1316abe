"""The port between `SqlStore` and the two databases."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, Select

from ...storage.change import Notice
from ...storage.errors import Conflict
from ...storage.migration import Migrated, StoreStatus
from ...storage.store import Woken
from .connections import Database, PinnedConnection
from .json_text import JsonText
from .memory_search import FindEntries
from .statements import Batch, Statements


class Watch(Protocol):
    """Reports writes of other processes until it is closed."""

    def close(self) -> None: ...


class OwnerLocks(Protocol):
    """Locks of the processes that use a database. The system releases a lock when its process dies."""

    def hold(self, connection: Connection, owner_id: str) -> None:
        """Acquire the lock of a process unless it is held. `connection` is that of the heartbeats."""
        ...

    def held(self, connection: Connection, owner_ids: Collection[str]) -> dict[str, bool]:
        """Return whether the locks of these processes are held, for those of which that can be known."""
        ...

    def release(self, connection: Connection, owner_id: str) -> None:
        """Release the lock of a process, over the connection of the heartbeats."""
        ...

    def forget(self, owner_id: str) -> None:
        """Remove what the lock of a dead process left behind."""
        ...

    def close(self) -> None:
        """Release all locks that this object holds, after the connection was closed."""
        ...


class Backend(Database, Protocol):
    """A database, as a store uses it."""

    @property
    def name(self) -> str:
        """The name of the database in errors."""
        ...

    @property
    def statements(self) -> Statements: ...

    @property
    def json(self) -> JsonText:
        """The type of its columns of JSON, which reads what they store."""
        ...

    @property
    def find_entries(self) -> FindEntries:
        """Finds the entries of memory that fit a query."""
        ...

    @property
    def is_certain(self) -> bool:
        """Whether a failed commit was certainly not made."""
        ...

    def key_filter(self, *columns: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return the condition that these columns equal one of the keys in the parameter `keys`."""
        ...

    def select_listed(self, wanted: Select[*tuple[Any, ...]], *key: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
        """Return a query for the wanted rows with the keys in the parameter `keys`, in the order of the keys.

        Its cost does not depend on the number of other rows, however old its plan is.
        """
        ...

    def prepare(self) -> None:
        """Check the tables, and create or migrate them if that is allowed. Raises `StoreError`."""
        ...

    def migrate(self) -> Migrated: ...

    def status(self) -> StoreStatus:
        """Read the state of the database without changing it. Raises `StoreError`."""
        ...

    def probe(self, connection: Connection) -> None:
        """Check, within a writing transaction, that the database accepts writes. Raises `StoreError`."""
        ...

    def claim_connection(self, writer: PinnedConnection) -> PinnedConnection:
        """Return the connection for claims of queued executions, which need not be durable at once."""
        ...

    def heartbeat_connection(self, writer: PinnedConnection) -> PinnedConnection:
        """Return the connection for heartbeats."""
        ...

    def locks(self) -> OwnerLocks:
        """Return the locks of processes in this database."""
        ...

    def watch(self, woken: Woken) -> Watch:
        """Begin to report writes of other processes, from any thread."""
        ...

    def register(self, connection: Connection) -> None:
        """Record that the store is open."""
        ...

    def unregister(self, connection: Connection) -> None:
        """Record that the store is closed."""
        ...

    def written_results(self, connection: Connection, number: int) -> list[int | Conflict] | None:
        """Return the results of a group of this store; None if it was not written."""
        ...

    def finish_group(
        self,
        connection: Connection,
        number: int,
        results: Sequence[int | Conflict],
        sessions: Mapping[str, Notice],
        batch: Batch,
    ) -> None:
        """Send the batch, record the group for `written_results`, and notify other processes of its sessions."""
        ...

    def notify(self, connection: Connection, session_ids: Sequence[str]) -> None:
        """Notify other processes of sessions."""
        ...
