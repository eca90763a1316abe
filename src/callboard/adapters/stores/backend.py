"""What a store needs to know of its database: the port between `sql.py` and the two databases."""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from sqlalchemy import Connection, Dialect

from ...storage.errors import Conflict
from ...storage.migration import Migrated, StoreStatus
from .bulk_statements import StatementBatch
from .connections import Database, PinnedConnection


class Watch(Protocol):
    """Something that calls when another process wrote, until it is closed."""

    def close(self) -> None: ...


class OwnerLocks(Protocol):
    """Locks of processes that use a database. The system gives a lock back when its process dies, and not before."""

    def hold(self, connection: Connection, owner_id: str) -> None:
        """Take a process's lock unless it is held already. `connection` is that of the line which beats go over."""
        ...

    def held(self, connection: Connection, owner_ids: Collection[str]) -> dict[str, bool]:
        """Whether the locks of these processes are held, by any process, for those of which that can be known."""
        ...

    def release(self, connection: Connection, owner_id: str) -> None:
        """Give a process's lock back, over the same line."""
        ...

    def forget(self, owner_id: str) -> None:
        """Remove what a dead process's lock left behind."""
        ...

    def close(self) -> None:
        """Give all locks back that are held here, after the line was closed."""
        ...


class Backend(Database, Protocol):
    """What a store needs to know of its database."""

    @property
    def name(self) -> str:
        """What errors call it."""
        ...

    @property
    def dialect(self) -> Dialect: ...

    @property
    def is_certain(self) -> bool:
        """Whether a commit that failed was certainly not made."""
        ...

    def prepare(self) -> None:
        """See to it that the tables are as they should be. Raises `StoreError`."""
        ...

    def migrate(self) -> Migrated: ...

    def status(self) -> StoreStatus:
        """How it stands. Nothing is made and nothing is migrated. Raises `StoreError`."""
        ...

    def probe(self, connection: Connection) -> None:
        """Do, within a transaction that writes, what shows whether something can be written. Raises `StoreError`."""
        ...

    def beats(self, writer: PinnedConnection) -> PinnedConnection:
        """The line that beats go over."""
        ...

    def locks(self) -> "OwnerLocks":
        """The locks of processes in this database."""
        ...

    def watch(self, writer: PinnedConnection, woken: Callable[[str | None], None]) -> Watch:
        """Begin to call when another process wrote, from any thread."""
        ...

    def entered(self, connection: Connection) -> None: ...
    def left(self, connection: Connection) -> None: ...

    def earlier(self, connection: Connection, number: int) -> list[int | Conflict] | None:
        """The results of a group of this store, if it was written."""
        ...

    def tell(
        self,
        connection: Connection,
        number: int,
        results: Sequence[int | Conflict],
        session_ids: Sequence[str],
        batch: StatementBatch,
    ) -> None:
        """Write what was folded, note a group for `earlier`, and tell other processes about its sessions."""
        ...

    def notify(self, connection: Connection, session_ids: Sequence[str]) -> None:
        """Tell other processes about sessions."""
        ...
