"""A PostgreSQL database: how it is reached, what its errors mean, and how groups that were cut off are found again."""

import json
import os
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import psycopg
from sqlalchemy import (
    URL,
    Connection,
    NullPool,
    Text,
    bindparam,
    cast,
    create_engine,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import DBAPIError

from ...storage.port import AlreadyWritten, Conflict, IdempotencyConflict, StoreError, StoreUnavailable
from ...storage.rows import IdempotencyRow
from .lines import Line
from .listening import CHANNEL, Listener, written
from .revisions import Look, Migrated, is_empty, require_known, stored_revision, upgrade
from .sheets import Fold, driver
from .tables import REVISION, batches

MIGRATING = 0x63616C6C626F6172
"""The advisory lock of those who migrate."""

PATIENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""How a server is noticed that has gone without a word. What an address says itself comes first."""

IDLE = 3_000
"""After how many milliseconds the server ends a transaction whose process says nothing more: it was stopped, or its
machine is gone, and others wait for the rows that it has locked."""

FORGOTTEN = 86_400.0
"""After how many seconds the last group of a store that was not closed is of no interest any more."""

_SILENT = "does not answer. See that its server runs, and that this is its address"

_UNAVAILABLE = {
    "08": _SILENT,
    "25006": "takes no changes at the moment. If its server is a standby, name the primary one",
    "28": "does not let this user in. Correct the user or the password",
    "40": "is too busy. Try again",
    "42501": "does not let this user read or write its tables. Grant it the right to",
    "53": "has no room, memory or connections left. Make room, or allow more connections",
    "55": "is locked by another process. Try again",
    "57": "stopped while it was used. Try again when its server runs",
    "58": "cannot be used: its server reports an error of the system. Its log says which",
}
"""What may be over after a while, by PostgreSQL's codes and classes of codes."""

_UNUSABLE = {
    "3D000": "does not exist. Make it first: createdb",
    "42703": "does not have the tables that it should have. Run: callboard migrate",
    "42P01": "does not have the tables that it should have. Run: callboard migrate",
    "XX001": "is damaged. Restore it from a backup",
    "XX002": "is damaged. Restore it from a backup",
}

_messages = func.jsonb_array_elements_text(cast(bindparam("messages", type_=Text()), JSONB)).table_valued("value")
_notified = select(func.count(func.pg_notify(CHANNEL, _messages.c.value)))
_noted = (
    update(batches)
    .where(batches.c.instance == bindparam("who"))
    .values(number=bindparam("group"), results=bindparam("found"), at=bindparam("now"))
    .returning(_notified.scalar_subquery())
)


class PostgresDatabase:
    """One database of a server, which any number of processes may use. Errors say where it is, and never for whom."""

    def __init__(self, url: URL) -> None:
        self._noting: tuple[str, Mapping[str, Any]] | None = None
        """The statement that notes a group, made once."""
        self.name = " ".join(filter(None, ("The PostgreSQL database", url.database, _place(url))))
        self._unusable = f"{self.name} cannot be used. Its server's log says why."
        self.instance = uuid.uuid4().hex
        """Who writes, as others see it."""
        self._engine = create_engine(
            url.set(query={**PATIENCE, **url.query, "client_encoding": "utf8"}),
            poolclass=NullPool,
            isolation_level="READ COMMITTED",  # what is read after a lock is what was there when it was given
            hide_parameters=True,
            use_native_hstore=False,
        )
        self.dialect = self._engine.dialect

    def prepare(self) -> None:
        """Make sure of the tables. In an empty database they are made; others are migrated only by `migrate`."""
        try:
            with self._engine.connect() as connection:
                revision = stored_revision(connection)
                empty = revision is None and is_empty(connection)
        except DBAPIError as error:
            raise self.explained(error) or StoreError(self._unusable) from error
        if empty:
            self.migrate()
        elif revision != REVISION:
            if revision is not None:
                require_known(revision, self.name)
            raise StoreError(f"{self.name} is not at the newest revision of Callboard's tables. Run: callboard migrate")

    def migrate(self) -> Migrated:
        """Bring the tables to the newest revision. Of several processes that try, one does it."""
        try:
            with self._engine.begin() as connection:
                connection.execute(select(func.pg_advisory_xact_lock(MIGRATING)))
                return upgrade(connection, self.name)
        except DBAPIError as error:
            raise self.explained(error) or StoreError(self._unusable) from error

    def look(self) -> Look:
        try:
            with self._engine.connect() as connection:
                revision = stored_revision(connection)
                now = connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one()
        except DBAPIError as error:
            raise self.explained(error) or StoreError(self._unusable) from error
        if revision is not None:
            require_known(revision, self.name)
        return Look(revision, REVISION, float(now))

    def connect(self, *, writes: bool) -> Connection:
        connection = self._engine.connect()
        if not writes:
            return connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.exec_driver_sql(f"SET idle_in_transaction_session_timeout = {IDLE}")
        connection.commit()
        return connection

    def begin(self, connection: Connection) -> None:
        """SQLAlchemy is to know of it; the driver begins by itself, with the first statement."""
        connection.begin()

    def broken(self, error: Exception) -> bool:
        if isinstance(error, DBAPIError):
            return error.connection_invalidated
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)

    def contended(self, error: Exception) -> bool:
        return (_state(error) or "").startswith("40")

    def explained(self, error: Exception) -> StoreError | None:
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

    def beats(self, writer: Line) -> Line:
        """Whose line a beat goes over: one of its own, so that it never waits for a group."""
        return Line(self, writes=True)

    def watch(self, writer: Line, woken: Callable[[str | None], None]) -> Listener:
        return Listener(self, self.instance, woken)

    def entered(self, connection: Connection) -> None:
        """Make the row in which this store's groups are counted, and forget those of others that never came back."""
        now = time.time()
        connection.execute(
            delete(batches).where((batches.c.instance == self.instance) | (batches.c.at < now - FORGOTTEN))
        )
        connection.execute(insert(batches).values(instance=self.instance, number=0, results="[]", at=now))

    def left(self, connection: Connection) -> None:
        connection.execute(delete(batches).where(batches.c.instance == self.instance))

    def earlier(self, connection: Connection, number: int) -> list[int | Conflict] | None:
        """The results of a group if it was written after all. Waits for a commit that is still on its way."""
        mine = select(batches.c.number, batches.c.results).where(batches.c.instance == self.instance).with_for_update()
        row = connection.execute(mine).one_or_none()
        if row is None or row.number != number:
            return None
        return [_result(noted) for noted in json.loads(row.results)]

    def tell(
        self,
        connection: Connection,
        number: int,
        results: Sequence[int | Conflict],
        session_ids: Sequence[str],
        fold: Fold,
    ) -> None:
        """Note a group with its results, and say to other processes what it is about, when it is committed."""
        noted = json.dumps([_note(result) for result in results])
        messages = json.dumps(written(self.instance, session_ids))
        values = {"who": self.instance, "group": number, "found": noted, "now": time.time(), "messages": messages}
        if self._noting is None:
            compiled = _noted.compile(dialect=self.dialect)
            self._noting = str(compiled), compiled.params
        text, parameters = self._noting
        driver(connection).execute(*fold.before(text, {**parameters, **values}))

    def notify(self, connection: Connection, session_ids: Sequence[str]) -> None:
        connection.execute(_notified, {"messages": json.dumps(written(self.instance, session_ids))})


def _note(result: int | Conflict) -> Any:
    """A result of a change as JSON data, from which `_result` makes it again."""
    match result:
        case int():
            return result
        case AlreadyWritten(row=row):
            return {"already_written": {**asdict(row), "answer": row.answer.decode()}}
        case IdempotencyConflict(key=key):
            return {"idempotency_conflict": key}
        case _:
            return str(result)


def _result(noted: Any) -> int | Conflict:
    match noted:
        case {"already_written": row}:
            return AlreadyWritten(IdempotencyRow(**{**row, "answer": row["answer"].encode()}))
        case {"idempotency_conflict": key}:
            return IdempotencyConflict(key)
        case str():
            return Conflict(noted)
        case _:
            return noted


def _state(error: Exception) -> str | None:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return cause.sqlstate if isinstance(cause, psycopg.Error) else None


def _place(url: URL) -> str:
    """Where its server is, as the address says it: `at host:port`, or at the folder of its socket."""
    given = url.normalized_query
    port = str(url.port or ",".join(given.get("port", ())) or os.environ.get("PGPORT", "5432"))
    if url.host:
        return f"at [{url.host}]:{port}" if ":" in url.host else f"at {url.host}:{port}"
    hosts = [host if host[:1] == "/" or ":" in host else f"{host}:{port}" for host in given.get("host", ())]
    return f"at {', '.join(hosts)}" if hosts else ""


def _refused(cause: Exception) -> str:
    """Why there is no connection: in the server's own words where it gave any."""
    said = re.search(r"FATAL:\s+(.+)", str(cause))
    return f"refused: {said[1]}" if said else _SILENT
