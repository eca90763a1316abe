"""Stores: in memory, in a SQLite file, in PostgreSQL. One is chosen by its address, and only that one is loaded."""

from ...errors import MissingExtraError
from ...storage.errors import StoreError
from ...storage.store import Store

_EXTRAS = {"sqlite": "sql", "postgresql": "postgres", "postgres": "postgres", "postgresql+psycopg": "postgres"}


def open_store(url: str) -> Store:
    """The store at an address: `memory://`, `sqlite:///file.db`, `sqlite:////folder/file.db` or `postgresql://…`.

    Nothing is opened yet. Raises `StoreError` for any other address, `MissingExtraError` where a package is missing.
    """
    scheme, separator, rest = url.partition("://")
    if scheme == "memory" and separator and not rest:
        from .memory import MemoryStore

        return MemoryStore()
    if not separator or scheme not in _EXTRAS:
        raise StoreError(
            f"There is no store for {scheme!r} addresses. Use memory://, sqlite:///file.db or postgresql://host/name."
        )
    try:
        from .sql import SqlStore

        return SqlStore(url)
    except ModuleNotFoundError as missing:
        raise MissingExtraError(f"A store at a {scheme}:// address", _EXTRAS[scheme]) from missing
