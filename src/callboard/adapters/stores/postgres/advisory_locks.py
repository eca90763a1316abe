"""Locks of processes in PostgreSQL: session-level advisory locks, held by the connection of their heartbeats.

The server holds such a lock as long as the connection exists, whatever the process does. The next heartbeat replaces a
broken connection and takes the lock again. With the settings of `SESSION` the server ends the connection of a machine
that is gone, but not that of a silent process.

A connection pooler between the two must give each client a server connection of its own (PgBouncer: session pooling).
"""

import hashlib
import logging
import os
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress
from weakref import WeakSet

import psycopg
from sqlalchemy import BigInteger, Connection, bindparam, func, select, text
from sqlalchemy.exc import DBAPIError

from ..statements import driver

log = logging.getLogger("callboard.stores")

SESSION = (
    "SET tcp_keepalives_idle = 5",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = 20000",
    "SET idle_session_timeout = 0",
    "SET idle_in_transaction_session_timeout = 0",
)
"""Settings of the connection that holds a lock. A setting that a server does not have is skipped."""

_take = select(func.pg_try_advisory_lock(bindparam("key", type_=BigInteger())))
_give_back = select(func.pg_advisory_unlock(bindparam("key", type_=BigInteger())))
_held = text(
    "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted"
    " AND objsubid = 1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)

_open: "WeakSet[AdvisoryLocks]" = WeakSet()


class AdvisoryLocks:
    """The locks of the processes that use one database."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection | None = None
        """The connection that holds the locks of `_ids`."""
        self._ids: set[str] = set()
        _open.add(self)

    def hold(self, connection: Connection, owner_id: str) -> None:
        if driver(connection) is not self._connection:
            for statement in SESSION:
                with _ignored_unless_broken():
                    connection.exec_driver_sql(statement)
            self._connection, self._ids = driver(connection), set()
        if owner_id not in self._ids:
            with _ignored_unless_broken("this process gets no advisory lock, and relies on its heartbeats alone"):
                if connection.execute(_take, {"key": lock_key(owner_id)}).scalar_one():
                    self._ids.add(owner_id)  # otherwise a broken connection still holds it, for a while

    def held(self, connection: Connection, owner_ids: Collection[str]) -> dict[str, bool]:
        held = set(connection.execute(_held).scalars())
        return {owner_id: lock_key(owner_id) in held for owner_id in owner_ids}

    def release(self, connection: Connection, owner_id: str) -> None:
        if owner_id in self._ids and driver(connection) is self._connection:
            connection.execute(_give_back, {"key": lock_key(owner_id)})
        self._ids.discard(owner_id)

    def forget(self, owner_id: str) -> None:
        """Do nothing: a lock ends with its connection."""

    def close(self) -> None:
        self._connection, self._ids = None, set()

    def drop(self) -> None:
        """Detach the parent's connection in a forked child, which would otherwise keep a dead parent's locks."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.closed:
            with suppress(OSError):
                nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
                os.dup2(nothing, connection.fileno(), inheritable=False)
                os.close(nothing)


@contextmanager
def _ignored_unless_broken(warning: str | None = None) -> Generator[None]:
    """Ignore an error of the database, unless it is a broken connection, with which nothing else can be done."""
    try:
        yield
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        if warning is not None:
            log.warning(warning, exc_info=True)


def lock_key(owner_id: str) -> int:
    """Return the number of a process's advisory lock: a signed 64-bit hash of its id."""
    digest = hashlib.sha256(b"callboard owner " + owner_id.encode(errors="replace")).digest()
    return int.from_bytes(digest[:8], signed=True)


def _in_child() -> None:
    for locks in tuple(_open):
        locks.drop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
