"""A SQLite file: how it is opened, what its errors mean, and how the writing of other processes is noticed."""

import json
import logging
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from ...storage.errors import Conflict, StoreError, StoreUnavailable
from ...storage.migration import Migrated, StoreStatus
from .addresses import sqlite_path
from .bulk_statements import StatementBatch
from .connections import Database, PinnedConnection
from .file_locks import FileLocks
from .revisions import is_empty, require_known, stored_revision, upgrade
from .tables import REVISION, VERSION_TABLE

log = logging.getLogger("callboard.stores")

BUSY = 5.0
"""How many seconds to wait for another process that writes."""

PAUSE = 0.0005
"""How many seconds to wait between two attempts to write. SQLite's own pauses grow so long that one process starves
beside another that writes all the time."""

GLANCE = 0.02
"""How many seconds lie between two looks at whether another process wrote."""

ROOM = 1 << 20
"""A disk with fewer free bytes counts as full."""

KEPT = 1_000
"""How many of the newest groups are kept for other processes. One that misses more is woken for all sessions."""

LONGEST = 32_768
"""The longest list of session ids that is kept for a group, in characters; a longer one stands for all sessions."""

CHECKED = 8 << 20
"""Files of up to so many bytes are looked through before they are used; longer ones would delay the start."""

_NOTE = "INSERT INTO notifications (instance, session_ids) VALUES (?, ?)"
_FORGET = "DELETE FROM notifications WHERE number <= ?"
_LAST = "SELECT coalesce(max(number), 0) FROM notifications"
_GROUPS = (
    "SELECT number, CASE WHEN instance <> ? THEN session_ids END FROM notifications WHERE number > ? ORDER BY number"
)

_HEADER = b"SQLite format 3\0"

_LOCKED = "is locked by another process. Try again, or end that process"
_UNREAD = "may not be read. Give this user the right to read and write it"
_UNWRITTEN = "may not be written. Give this user the right to write it and its folder"

_UNAVAILABLE = {
    sqlite3.SQLITE_PERM: _UNREAD,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_NOMEM: "cannot be used: there is no memory left. Free some",
    sqlite3.SQLITE_READONLY: _UNWRITTEN,
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error. See to the disk",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full. Make room on it",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: it was removed, or its folder may not be used. Look at its folder",
    sqlite3.SQLITE_PROTOCOL: _LOCKED,
    sqlite3.SQLITE_AUTH: _UNREAD,
}
"""What may be over after a while, by SQLite's primary codes."""


class SqliteDatabase:
    """One file, in WAL mode. Errors name it with its folder: they are for operators."""

    def __init__(self, url: str) -> None:
        self._path = Path(sqlite_path(url)).absolute()
        self.name = f"The SQLite file {self._path}"
        self._unusable = f"{self.name} cannot be used. See that it can be read and written."
        self._engine = create_engine(
            "sqlite+pysqlite://", creator=self._connection, poolclass=NullPool, hide_parameters=True
        )
        self.dialect = self._engine.dialect
        self.is_certain = True
        self.instance = uuid.uuid4().hex
        """This store, as others that use the file know it."""
        self._identity: tuple[int, int] | None = None

    def prepare(self) -> None:
        """What has to be done before it is opened. The tables of a file are brought to the newest revision."""
        self.migrate()
        self._identity = self._found()

    def migrate(self) -> Migrated:
        """Make the file, or bring it to the newest revision. One that is damaged or not ours stays untouched."""
        self._require_folder()
        self._examine()
        try:
            with closing(self._connection("rwc")), self._engine.connect() as connection:
                revision = stored_revision(connection)
                if revision == REVISION:
                    return Migrated(revision, revision)
                if revision is None and not is_empty(connection):
                    raise self._foreign()
                connection.rollback()
                self._log_ahead(connection)
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                migrated = upgrade(connection, self.name)
                connection.commit()
                return migrated
        except (sqlite3.Error, DBAPIError) as error:
            raise self.explained(error) or StoreError(self._unusable) from error

    def status(self) -> StoreStatus:
        self._require_folder()
        self._examine()
        if self._found() is None:
            return StoreStatus(None, REVISION)
        try:
            with self._engine.connect() as connection:
                revision = stored_revision(connection)
        except (sqlite3.Error, DBAPIError) as error:
            raise self.explained(error) or StoreError(self._unusable) from error
        if revision is not None:
            require_known(revision, self.name)
        if not os.access(self._path, os.W_OK):
            raise StoreUnavailable(f"{self.name} {_UNWRITTEN}.")
        return StoreStatus(revision, REVISION)

    def connect(self, *, writes: bool) -> Connection:
        connection = self._engine.connect()
        _driver(connection).execute("PRAGMA busy_timeout=0" if writes else "PRAGMA query_only=ON")
        return connection

    def begin(self, connection: Connection) -> None:
        if self._found() != self._identity:
            raise StoreUnavailable(f"{self.name} was removed or replaced while it was in use. Start again.")
        connection.begin()
        deadline = time.monotonic() + BUSY
        while True:
            try:
                _driver(connection).execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(PAUSE)

    def broken(self, error: Exception) -> bool:
        return False

    def contended(self, error: Exception) -> bool:
        return False

    def explained(self, error: Exception) -> StoreError | None:
        if isinstance(error, StoreError):
            return error
        cause = error.orig if isinstance(error, DBAPIError) else error
        if not isinstance(cause, sqlite3.Error):
            return StoreUnavailable(self._unusable) if isinstance(cause, OSError) else None
        code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return self._damaged()
        if code == sqlite3.SQLITE_ERROR:
            return StoreError(f"{self.name} does not have the tables that it should have. Restore it from a backup.")
        return StoreUnavailable(f"{self.name} {_UNAVAILABLE[code]}.") if code in _UNAVAILABLE else None

    def probe(self, connection: Connection) -> None:
        """See whether there is room. That the file can be locked for writing is known when this is called.

        Nothing is written: a few bytes might find room in the log while nothing else does.
        """
        disk = os.statvfs(self._path.parent)
        if disk.f_flag & os.ST_RDONLY:
            raise StoreUnavailable(f"{self.name} {_UNWRITTEN}.")
        if disk.f_bavail * disk.f_frsize < ROOM:
            raise StoreUnavailable(f"{self.name} {_UNAVAILABLE[sqlite3.SQLITE_FULL]}.")

    def beats(self, writer: PinnedConnection) -> PinnedConnection:
        """Return the line of the writer: only one connection can write at a time."""
        return writer

    def locks(self) -> FileLocks:
        return FileLocks(self._path)

    def watch(self, writer: PinnedConnection, woken: Callable[[str | None], None]) -> "DataVersionPoller":
        return DataVersionPoller(self, self.instance, woken)

    def entered(self, connection: Connection) -> None:
        """Nothing to note: a commit that fails here was not made, and what was made shows in the file."""

    def left(self, connection: Connection) -> None:
        """Nothing was noted."""

    def earlier(self, connection: Connection, number: int) -> list[int | Conflict] | None:
        return None

    def tell(
        self,
        connection: Connection,
        number: int,
        results: Sequence[int | Conflict],
        session_ids: Sequence[str],
        batch: StatementBatch,
    ) -> None:
        """Note which sessions a group is about."""
        if session_ids:
            self.notify(connection, session_ids)

    def notify(self, connection: Connection, session_ids: Sequence[str]) -> None:
        """Note sessions for the other processes that use the file, and forget what is too old to be looked for."""
        document = json.dumps(session_ids)
        driver = _driver(connection)
        noted = driver.execute(_NOTE, (self.instance, document if len(document) <= LONGEST else "[]"))
        driver.execute(_FORGET, ((noted.lastrowid or 0) - KEPT,))

    def _connection(self, mode: str = "rw") -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(str(self._path))}?mode={mode}",
            uri=True,
            timeout=BUSY,
            isolation_level=None,  # transactions begin where we say so
            check_same_thread=False,  # lines see to it that only one thread at a time uses it
            cached_statements=256,
        )
        try:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA foreign_keys=ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_folder(self) -> None:
        if not self._path.parent.is_dir():
            raise StoreError(f"{self.name} cannot be made: its folder does not exist. Make the folder first.")

    def _examine(self) -> None:
        """Refuse what is not a whole database of ours, without leaving a trace."""
        try:
            with self._path.open("rb") as file:
                header = file.read(len(_HEADER))
                size = os.fstat(file.fileno()).st_size
        except FileNotFoundError:
            return
        except IsADirectoryError as error:
            raise StoreError(f"{self.name} is a folder. Name a file in it.") from error
        except OSError as error:
            raise StoreUnavailable(f"{self.name} {_UNREAD}.") from error
        if size == 0:
            return
        if header != _HEADER:
            raise self._damaged()
        if self._in_use():
            return  # what counts may be in the other files, and SQLite itself puts the three together
        try:
            with closing(sqlite3.connect(f"file:{quote(str(self._path))}?mode=ro&immutable=1", uri=True)) as connection:
                tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                whole = size > CHECKED or connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
        except sqlite3.DatabaseError as error:
            if self._in_use():
                return
            raise self._damaged() from error
        if not whole:
            raise self._damaged()
        if tables and VERSION_TABLE not in tables:
            raise self._foreign()

    def _log_ahead(self, connection: Connection) -> None:
        """Have writers not wait for readers. SQLite does not wait by itself for others who do the same."""
        deadline = time.monotonic() + BUSY
        while True:
            try:
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")
                return
            except DBAPIError as error:
                if not isinstance(self.explained(error), StoreUnavailable) or time.monotonic() > deadline:
                    raise
            finally:
                connection.rollback()
            time.sleep(0.01)

    def _in_use(self) -> bool:
        """Whether a process has it open, or was stopped while it had."""
        return any(os.path.exists(f"{self._path}{end}") for end in ("-wal", "-journal"))

    def _found(self) -> tuple[int, int] | None:
        """Which file it is that has this name now."""
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _damaged(self) -> StoreError:
        return StoreError(
            f"{self.name} is not a whole database, and was left as it is. Restore it from a backup, or move it away "
            f"to begin with a new one."
        )

    def _foreign(self) -> StoreError:
        return StoreError(f"{self.name} is a database of something else. Choose another name for Callboard's.")


class DataVersionPoller:
    """Looks for what other processes wrote, over a connection of its own.

    Each look costs the same however many sessions there are: a number that SQLite keeps says whether anything was
    committed; if so, one query gives the groups that came since. Heartbeats are no groups, and wake nothing.
    """

    def __init__(self, database: Database, instance: str, woken: Callable[[str | None], None]) -> None:
        self._line = PinnedConnection(database, writes=False)
        self._instance = instance
        self._woken = woken
        self._ended = threading.Event()
        self._version: int | None = None
        """SQLite's count of commits when this last looked; None after an error."""
        self._last: int = self._line.run(lambda connection: _driver(connection).execute(_LAST).fetchone()[0])
        """The number of the newest group that was seen."""
        self._thread = threading.Thread(target=self._run, name="callboard-store-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._line.close()

    def _run(self) -> None:
        while not self._ended.wait(GLANCE):
            try:
                self.look()
            except StoreError as error:
                self._version = None
                log.debug("what other processes wrote could not be read: %s", error)
            except Exception:
                self._version = None
                log.exception("the runtime failed while it looked for what other processes wrote")

    def look(self) -> None:
        """Wake the sessions that other processes have written since the last look."""
        for number, session_ids in self._line.run(self._groups):
            missed, self._last = number > self._last + 1, number
            if missed:
                self._woken(None)
            if session_ids is not None:
                for session_id in json.loads(session_ids) or [None]:
                    self._woken(session_id)

    def _groups(self, connection: Connection) -> list[tuple[int, str | None]]:
        """The groups since the last look, without the sessions where they are this store's own."""
        driver = _driver(connection)
        version = driver.execute("PRAGMA data_version").fetchone()[0]
        if version == self._version:
            return []
        self._version = version
        return driver.execute(_GROUPS, (self._instance, self._last)).fetchall()


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver
