"""The revision of a store's tables, and the result of migrating them."""

from typing import NamedTuple


class Migrated(NamedTuple):
    """The revisions before and after a migration."""

    before: str | None
    """The revision that was found; None: an empty database."""
    after: str


class StoreStatus(NamedTuple):
    """The state of a database, read without changing anything."""

    revision: str | None
    """The revision of its tables; None: it has none yet."""
    newest: str
    """The revision that this version of Callboard works with."""
    clock: float | None = None
    """The time of the database server; None if the database has no clock of its own."""
