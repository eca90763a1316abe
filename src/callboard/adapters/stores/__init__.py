"""Stores in memory, in a SQLite file and in PostgreSQL. The address chooses the store; no other is loaded."""

from typing import TYPE_CHECKING

from ...errors import MissingExtraError
from ...storage.errors import StoreError
from ...storage.migration import Migrated, StoreStatus
from ...storage.store import Store
from .address import FILE_PREFIX
from .memory import MemoryStore

if TYPE_CHECKING:
    from .backend import Backend

_EXTRAS = {"sqlite": "sql", "postgresql": "postgres", "postgres": "postgres", "postgresql+psycopg": "postgres"}


def open_store(url: str) -> Store:
    """Return the store at an address, not opened yet.

    An address is `memory://`, `sqlite:///file.db`, `sqlite:////folder/file.db` or `postgresql://…`. Raises `StoreError`
    for any other, `MissingExtraError` if a package is missing.
    """
    if url == "memory://":
        return MemoryStore()
    database = _database(url)
    from .sql import SqlStore

    return SqlStore(database)


def migrate_store(url: str) -> Migrated:
    """Bring the database at an address to the newest revision of the tables. Raises `StoreError` as `open_store`."""
    return _database(url).migrate()


def store_status(url: str) -> StoreStatus:
    """Read the state of the database at an address without changing it. Raises `StoreError` as `open_store`."""
    return _database(url).status()


def _database(url: str) -> "Backend":
    """Return the database at an address: the only place that distinguishes the two."""
    scheme, separator, _ = url.partition("://")
    if url and not separator:
        if "@" in url:  # with a password, perhaps
            raise StoreError("There is no store for an address without a scheme. Use postgresql://user@host/name.")
        file = f"{FILE_PREFIX}{url.removeprefix('sqlite:')}"
        raise StoreError(
            f"There is no store for the address {url!r}. For a SQLite file, use {file}. "
            "Other stores are memory:// and postgresql://host/name."
        )
    if scheme not in _EXTRAS:
        named = "such" if "@" in scheme or ":" in scheme else repr(scheme)  # with a password, perhaps
        raise StoreError(
            f"There is no store for {named} addresses. Use memory://, sqlite:///file.db or postgresql://host/name."
        )
    try:
        if scheme == "sqlite":
            from .sqlite.database import SqliteDatabase

            return SqliteDatabase(url)
        from .postgres.database import PostgresDatabase

        return PostgresDatabase(url)
    except ModuleNotFoundError as missing:
        raise MissingExtraError(f"A store at a {scheme}:// address", _EXTRAS[scheme]) from missing
