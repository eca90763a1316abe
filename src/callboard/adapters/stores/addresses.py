"""Addresses of databases. No error repeats their contents, which may include a password."""

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from ...storage.errors import StoreError


def sqlite_path(url: str) -> str:
    """Return the file of `sqlite:///file.db`, relative to the working folder, or of `sqlite:////folder/file.db`."""
    path = url.removeprefix("sqlite:///")
    if path == url or not path or path == ":memory:":
        raise StoreError("A SQLite store needs a file: sqlite:///file.db. For one that is not kept use memory://.")
    if "?" in path or path.startswith("file:"):
        raise StoreError("The address of a SQLite store has no options: sqlite:///file.db.")
    return path


def postgres_url(url: str) -> URL:
    """Parse `postgresql://user:password@host:port/name` or `postgres://…`, for the driver that is used."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            "The address of the PostgreSQL store cannot be read. Use postgresql://user:password@host:port/name, with "
            "special characters of the password in percent form."
        ) from error
    return parsed.set(drivername="postgresql+psycopg")
