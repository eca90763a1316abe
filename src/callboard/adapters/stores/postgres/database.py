"""A PostgreSQL database: how it is reached, what its errors mean, and how interrupted commits are resolved."""

import json
import os
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import psycopg
from sqlalchemy import URL, Connection, NullPool, create_engine, delete, func, insert, make_url, select, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from ....storage.change import Notice
from ....storage.errors import (
    AlreadyWritten,
    Conflict,
    IdempotencyConflict,
    StoreError,
    StoreUnavailable,
    Unstorable,
)
from ....storage.migration import Migrated, StoreStatus
from ....storage.rows import IdempotencyRow
from ....storage.store import Woken
from ..connections import PinnedConnection
from ..revisions import is_empty, require_known, stored_revision, upgrade
from ..statements import Batch, driver
from ..tables import REVISION, VERSION_TABLE, batches, metadata
from .advisory_locks import AdvisoryLocks
from .jsonb import PostgresJson
from .listener import Listener, notifications
from .memory_index import find_entries
from .statements import TEXTS, PostgresStatements, key_filter, select_listed

MIGRATING = 0x63616C6C626F6172
"""The advisory lock of migrations."""

PATIENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""Options that detect an unreachable server. Options in the address take precedence."""

IDLE = 6_000
"""Milliseconds after which the server ends the transaction of a silent process: it was stopped, or its machine is gone,
and others wait for the rows that it has locked."""

LOCK_TIMEOUT = 20_000
"""Milliseconds that a statement waits for a lock. It is tried again after stalled connections have ended."""

STALLED = 15.0
"""Seconds after which a connection counts as stalled whose process was stopped while it sent a statement, or while it
received the answer. `IDLE` does not apply to it, and no statement of a live process takes so long to send."""

FORGOTTEN = 86_400.0
"""Seconds after which the row of a store that was not closed may be removed, if no process holds its advisory lock."""

ALIVE = 0x63616C6C
"""The seed of the advisory locks of open stores."""

_SILENT = "does not answer. See that its server runs, and that this is its address"

_UNAVAILABLE = {
    "08": _SILENT,
    "25006": "takes no changes at the moment. If its server is a standby, name the primary one",
    "25P03": "ended a transaction in which this process was silent for too long. Try again",
    "28": "does not let this user in. Correct the user or the password",
    "40": "is too busy. Try again",
    "42501": "does not let this user read or write its tables. Grant it the right to",
    "53": "has no room, memory or connections left. Make room, or allow more connections",
    "55": "is locked by another process. Try again",
    "57": "stopped while it was used. Try again when its server runs",
    "58": "cannot be used: its server reports an error of the system. Its log says which",
}
"""Conditions that may be temporary, by PostgreSQL's error codes and classes of codes."""

_UNUSABLE = {
    "3D000": "does not exist. Make it first: createdb",
    "42703": "does not have the tables that it should have. Run: callboard migrate",
    "42P01": "does not have the tables that it should have. Run: callboard migrate",
    "XX001": "is damaged. Restore it from a backup",
    "XX002": "is damaged. Restore it from a backup",
}

_seen = text(
    "INSERT INTO batches (instance, number, results, at) VALUES (:instance, 0, '[]', :at)"
    " ON CONFLICT (instance) DO UPDATE SET at = excluded.at"
)
"""Stores when a store was last seen."""

_FAST_COMPRESSION = """
    SELECT set_config(name, 'lz4', false) FROM pg_settings
    WHERE name = 'default_toast_compression' AND source = 'default' AND 'lz4' = ANY(enumvals)
"""
"""Has large values compressed with LZ4, if the server has it and is not configured otherwise.

The default, PGLZ, takes 20 ms or more for each value of a megabyte, in which all changes of the same group wait."""

_alive = func.hashtextextended(batches.c.instance, ALIVE)
"""The advisory lock of an open store, for the row of its instance."""


class _WrittenBefore(StoreUnavailable):
    """This group was committed by an earlier attempt, whose outcome was not known until now."""


class PostgresDatabase:
    """A database of a server, which any number of processes may use. Errors say where it is, but name no user."""

    def __init__(self, address: str) -> None:
        url = postgres_url(address)
        self.name = " ".join(filter(None, ("The PostgreSQL database", url.database, _place(url))))
        self._unusable = f"{self.name} cannot be used. Its server's log says why."
        self.instance = uuid.uuid4().hex
        """The id of this store in notifications and in its row of `batches`."""
        self._engine = create_engine(
            url.set(query={**PATIENCE, **url.query, "client_encoding": "utf8"}),
            poolclass=NullPool,
            isolation_level="READ COMMITTED",  # a query after a lock sees all earlier commits
            hide_parameters=True,
            use_native_hstore=False,
        )
        self.statements = PostgresStatements()
        self.json = PostgresJson()
        self.key_filter = key_filter
        self.select_listed = select_listed
        self.find_entries = find_entries
        self.is_certain = False

    def prepare(self) -> None:
        """Check the tables. They are created in an empty database; otherwise only `migrate` changes them."""
        try:
            with self._engine.connect() as connection:
                empty = is_empty(connection)  # before the revision: another process may create the tables meanwhile
                revision = stored_revision(connection)
        except DBAPIError as error:
            raise self.translate_error(error) or StoreError(self._unusable) from error
        if empty and revision is None:
            self.migrate()
        elif revision != REVISION:
            require_known(revision, self.name)
            raise StoreError(f"{self.name} is not at the newest revision of Callboard's tables. Run: callboard migrate")

    def migrate(self) -> Migrated:
        """Bring the tables to the newest revision. Of several processes that try, the first does it."""
        try:
            with self._engine.begin() as connection:
                connection.execute(select(func.pg_advisory_xact_lock(MIGRATING)))
                if stored_revision(connection) not in (None, REVISION):
                    # Writers lock rows of sessions and read the revision: none of them is between the two.
                    connection.exec_driver_sql(f"LOCK TABLE sessions, {VERSION_TABLE} IN ACCESS EXCLUSIVE MODE")
                return upgrade(connection, self.name)
        except DBAPIError as error:
            raise self.translate_error(error) or StoreError(self._unusable) from error

    def status(self) -> StoreStatus:
        try:
            with self._engine.connect() as connection:
                revision = stored_revision(connection)
                now = connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one()
        except DBAPIError as error:
            raise self.translate_error(error) or StoreError(self._unusable) from error
        require_known(revision, self.name)
        return StoreStatus(revision, REVISION, float(now))

    def connect(self, *, writes: bool) -> Connection:
        connection = self._engine.connect()
        if not writes:
            return connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.exec_driver_sql(f"SET idle_in_transaction_session_timeout = {IDLE}")
        connection.exec_driver_sql(_FAST_COMPRESSION)
        _limit_lock_waits(connection)
        connection.commit()
        return connection

    def begin(self, connection: Connection) -> None:
        """Begin for SQLAlchemy; the driver begins with the first statement."""
        connection.begin()

    def is_connection_error(self, error: Exception) -> bool:
        if isinstance(error, DBAPIError):
            return error.connection_invalidated
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)

    def is_contention(self, error: Exception) -> bool:
        return isinstance(error, _WrittenBefore) or (_state(error) or "").startswith(("25P03", "40", "55P03"))

    def translate_error(self, error: Exception) -> StoreError | None:
        if isinstance(error, StoreError):
            return error
        cause = error.orig if isinstance(error, DBAPIError) else error
        state = _state(error)
        if state is None:
            if isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError | OSError):
                return StoreUnavailable(f"{self.name} {_refused(cause)}.")
            return None
        if state in _UNUSABLE:
            return StoreError(f"{self.name} {_UNUSABLE[state]}.")
        words = _UNAVAILABLE.get(state) or _UNAVAILABLE.get(state[:2])
        return StoreUnavailable(f"{self.name} {words}.") if words else None

    def probe(self, connection: Connection) -> None:
        """Write the time into this store's own row, which a full server or a standby refuses."""
        connection.execute(_seen, {"instance": self.instance, "at": time.time()})

    def claim_connection(self, writer: PinnedConnection) -> PinnedConnection:
        """Return a connection of its own for claims, which are single statements and do not wait for the disk.

        Their rows are looked up by their keys, whatever the server guesses about the size of the queues.
        """

        def prepare(connection: Connection) -> None:
            connection.exec_driver_sql("SET synchronous_commit = off")
            for method in ("seqscan", "hashjoin", "mergejoin", "material"):
                connection.exec_driver_sql(f"SET enable_{method} = off")
            _limit_lock_waits(connection)

        return PinnedConnection(self, writes=False, prepare=prepare)

    def heartbeat_connection(self, writer: PinnedConnection) -> PinnedConnection:
        """Return a connection of its own for heartbeats, so that they never wait for a group.

        Each statement is a transaction: a process that is blocked in the middle of a heartbeat keeps its connection,
        and with it its lock.
        """
        return PinnedConnection(self, writes=False)

    def locks(self) -> AdvisoryLocks:
        return AdvisoryLocks()

    def watch(self, woken: Woken) -> Listener:
        return Listener(self, self.instance, woken, self._hold)

    def _hold(self, connection: Connection) -> None:
        """Mark this store as open as long as a connection lives, so that no process removes its row."""
        mine = func.hashtextextended(self.instance, ALIVE)
        connection.execute(select(func.pg_advisory_lock_shared(mine)))

    def register(self, connection: Connection) -> None:
        """Create the row that counts this store's groups, and delete old rows of stores that no process has open."""
        now = time.time()
        old = select(batches.c.instance).where(batches.c.at < now - FORGOTTEN).scalar_subquery()
        abandoned = batches.c.instance.in_(old) & func.pg_try_advisory_xact_lock(_alive)
        connection.execute(delete(batches).where((batches.c.instance == self.instance) | abandoned))
        connection.execute(insert(batches).values(instance=self.instance, number=0, results="[]", at=now))

    def unregister(self, connection: Connection) -> None:
        connection.execute(delete(batches).where(batches.c.instance == self.instance))

    def written_results(self, connection: Connection, number: int) -> list[int | Conflict] | None:
        """Return the results of a group if it was written. Waits for a commit that is still under way."""
        mine = select(batches.c.number, batches.c.results).where(batches.c.instance == self.instance).with_for_update()
        row = connection.execute(mine).one_or_none()
        if row is None or row.number != number:
            return None
        return [_result(noted) for noted in json.loads(row.results)]

    def finish_group(
        self,
        connection: Connection,
        number: int,
        results: Sequence[int | Conflict],
        sessions: Mapping[str, Notice],
        batch: Batch,
    ) -> None:
        """Send the batch, record the group with its results, and notify other processes when it is committed.

        All this is one statement: each round trip costs as much as a statement.
        """
        parameters = {
            "instance": self.instance,
            "number": number,
            "results": json.dumps([_note(result) for result in results]),
            "at": time.time(),
            "messages": json.dumps(notifications(self.instance, sessions)),
        }
        common = ", ".join(f"{name} AS ({TEXTS[name]})" for name in (*batch, "note_group"))
        statement = f"WITH {common} {TEXTS['notify_group']}"
        is_noted, _ = driver(connection).execute(statement, {**batch, **parameters}).fetchone()
        if not is_noted:
            raise _WrittenBefore(f"{self.name} has this group already.")

    def notify(self, connection: Connection, session_ids: Sequence[str]) -> None:
        messages = json.dumps(notifications(self.instance, dict.fromkeys(session_ids, Notice.CHANGED)))
        driver(connection).execute(TEXTS["notify"], {"messages": messages})


def _limit_lock_waits(connection: Connection) -> None:
    """Let statements wait for locks for a limited time, and end the stalled connections that hold some now."""
    connection.exec_driver_sql(f"SET lock_timeout = {LOCK_TIMEOUT}")
    driver(connection).execute(TEXTS["end_stalled"], {"tables": [*metadata.tables], "seconds": STALLED})


def postgres_url(url: str) -> URL:
    """Parse `postgresql://user:password@host:port/name` or `postgres://…`, for the driver that is used.

    The error does not repeat the address, which may include a password.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or "@" in (parsed.host or ""):  # the host has a part of the password
        raise StoreError(
            "The address of the PostgreSQL store cannot be read. Use postgresql://user:password@host:port/name, with "
            "special characters of the password in percent form, such as %40 for @."
        )
    if unknown := parsed.query.keys() - {each.keyword.decode() for each in psycopg.pq.Conninfo.get_defaults()}:
        raise StoreError(
            f"The address of the PostgreSQL store has the unknown option {min(unknown)!r}. Options are those of libpq, "
            "such as sslmode=require."
        )
    return parsed.set(drivername="postgresql+psycopg")


def _note(result: int | Conflict) -> Any:
    """Encode the result of a change as JSON data for `_result`."""
    match result:
        case int():
            return result
        case AlreadyWritten(row=row):
            return {"already_written": {**asdict(row), "answer": row.answer.decode()}}
        case IdempotencyConflict(key=key):
            return {"idempotency_conflict": key}
        case Unstorable():
            return {"unstorable": str(result)}
        case _:
            return str(result)


def _result(noted: Any) -> int | Conflict:
    match noted:
        case {"already_written": row}:
            return AlreadyWritten(IdempotencyRow(**{**row, "answer": row["answer"].encode()}))
        case {"idempotency_conflict": key}:
            return IdempotencyConflict(key)
        case {"unstorable": message}:
            return Unstorable(message)
        case str():
            return Conflict(noted)
        case _:
            return noted


def _state(error: Exception) -> str | None:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return cause.sqlstate if isinstance(cause, psycopg.Error) else None


def _place(url: URL) -> str:
    """Return the place of the server, as the address says it: `at host:port`, or at the folder of its socket."""
    given = url.normalized_query
    port = str(url.port or ",".join(given.get("port", ())) or os.environ.get("PGPORT", "5432"))
    if url.host:
        return f"at [{url.host}]:{port}" if ":" in url.host else f"at {url.host}:{port}"
    hosts = [host if host[:1] == "/" or ":" in host else f"{host}:{port}" for host in given.get("host", ())]
    return f"at {', '.join(hosts)}" if hosts else ""


def _refused(cause: Exception) -> str:
    """Return why there is no connection, in the server's own words if it gave any."""
    said = re.search(r"FATAL:\s+(.+)", str(cause))
    return f"refused: {said[1]}" if said else _SILENT
