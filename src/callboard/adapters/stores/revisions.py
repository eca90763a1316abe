"""The revision of a database's tables, and its migration to the newest.

Alembic is loaded only if there is something to migrate.
"""

from sqlalchemy import ColumnElement, Connection, column, inspect, select, table

from ...storage.errors import StoreError, StoreOutdated
from ...storage.migration import Migrated
from .tables import REVISION, VERSION_TABLE

_version = table(VERSION_TABLE, column("version_num"))


def stored_revision(connection: Connection) -> str | None:
    """Return the revision of a database; None if it has no tables of Callboard."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(select(_version.c.version_num)).scalar_one_or_none()


def require_current(stored: str | None) -> None:
    """Raise `StoreOutdated` unless a revision, read by the writing transaction, is that of this version."""
    if stored != REVISION:
        raise StoreOutdated(stored, REVISION)


def verify(connection: Connection) -> None:
    """Raise `StoreOutdated` unless the database has the revision of this version."""
    require_current(connection.execute(select(_version.c.version_num)).scalar_one())


def is_current() -> ColumnElement[bool]:
    """Return the condition that the database has the revision of this version."""
    return select(_version.c.version_num).scalar_subquery() == REVISION


def is_empty(connection: Connection) -> bool:
    """Return whether a database has no table at all."""
    return not inspect(connection).get_table_names()


def upgrade(connection: Connection, name: str) -> Migrated:
    """Bring a database to the newest revision, in the open transaction. `name` names the database in errors."""
    before = stored_revision(connection)
    if before != REVISION:
        from .migrations import migrate_to

        require_known(before, name)
        migrate_to(connection, REVISION)
    return Migrated(before, REVISION)


def require_known(revision: str | None, name: str) -> None:
    """Raise `StoreError` for a revision that only a newer version knows. None: there are no tables yet."""
    from .migrations import revisions

    if revision is not None and revision not in revisions():
        raise StoreError(
            f"{name} was made by a newer version of Callboard (its revision is {revision}). Update Callboard to use it."
        )
