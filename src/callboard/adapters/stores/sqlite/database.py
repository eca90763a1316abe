"""A SQLite file: how it is opened, and what its errors mean."""

import json
import os
import sqlite3
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from ....storage.change import Notice
from ....storage.errors import Conflict, StoreError, StoreUnavailable
from ....storage.migration import Migrated, StoreStatus
from ....storage.store import Woken
from ..address import FILE_PREFIX
from ..connections import PinnedConnection
from ..json_text import JsonText
from ..revisions import is_empty, require_known, stored_revision, upgrade
from ..statements import Batch, driver
from ..tables import REVISION, VERSION_TABLE
from .file_locks import FileLocks
from .memory_index import find_entries
from .poller import RESULTS_LEFT, DataVersionPoller
from .statements import TEXTS, SqliteStatements, key_filter, select_listed

BUSY = 5.0
"""Seconds to wait for another process that writes."""

PAUSE = 0.0005
"""Seconds between two attempts to write. SQLite's own pauses grow so long that one process starves beside another
that writes all the time."""

ROOM = 1 << 20
"""The number of free bytes below which a disk counts as full."""

KEPT = 1_000
"""The number of notifications that are kept at least. A process that misses more is notified of all sessions."""

FORGET_EVERY = 64
"""The number of notifications after which old ones are deleted: doing it in every group costs a page of each commit."""

LONGEST = 32_768
"""The longest list of session ids in a notification, in characters. A longer list stands for all sessions."""

LOG_LIMIT = 16 << 20
"""The size in bytes to which the write-ahead log is cut when it starts again, after a write that made it longer.

Otherwise it would stay as long as the largest write, such as the deletion of a long session, while the file is open."""

CHECKED = 8 << 20
"""The size in bytes up to which a file is checked before it is used. A check of larger files would delay the start."""

_HEADER = b"SQLite format 3\0"

_LOCKED = "is locked by another process. Try again, or end that process"
_UNREAD = "may not be read. Give this user the right to read and write it"
_UNWRITTEN = "is read-only. Give this user the right to write the file and its folder"

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
"""Conditions that may be temporary, by SQLite's primary error codes."""


class SqliteDatabase:
    """A SQLite file in WAL mode. Errors name it with its folder: they are for operators."""

    def __init__(self, url: str) -> None:
        self._path = Path(_path(url)).absolute()
        self.name = f"The SQLite file {self._path}"
        self._unusable = f"{self.name} cannot be used. See that it can be read and written."
        self._engine = create_engine(
            "sqlite+pysqlite://", creator=self._connection, poolclass=NullPool, hide_parameters=True
        )
        self.statements = SqliteStatements()
        self.json = JsonText()
        self.key_filter = key_filter
        self.select_listed = select_listed
        self.find_entries = find_entries
        self.is_certain = True
        self.instance = uuid.uuid4().hex
        """The id of this store in notifications."""
        self._identity: tuple[int, int] | None = None

    def prepare(self) -> None:
        """Bring the tables to the newest revision before the file is opened."""
        self.migrate()
        self._identity = self._found()

    def migrate(self) -> Migrated:
        """Create the file, or bring it to the newest revision. A damaged or foreign file stays untouched."""
        self._examine()
        try:
            with closing(self._connection("rwc")), self._engine.connect() as connection:
                empty = is_empty(connection)  # before the revision: another process may create the tables meanwhile
                revision = stored_revision(connection)
                if revision == REVISION:
                    return Migrated(revision, revision)
                if revision is None and not empty:
                    raise self._foreign()
                connection.rollback()
                self._log_ahead(connection)
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                migrated = upgrade(connection, self.name)
                connection.commit()
                return migrated
        except (sqlite3.Error, DBAPIError) as error:
            raise self.translate_error(error) or StoreError(self._unusable) from error

    def status(self) -> StoreStatus:
        self._examine()
        if self._found() is None:
            return StoreStatus(None, REVISION)
        try:
            with self._engine.connect() as connection:
                revision = stored_revision(connection)
        except (sqlite3.Error, DBAPIError) as error:
            raise self.translate_error(error) or StoreError(self._unusable) from error
        require_known(revision, self.name)
        if not os.access(self._path, os.W_OK):
            raise StoreUnavailable(f"{self.name} {_UNWRITTEN}.")
        return StoreStatus(revision, REVISION)

    def connect(self, *, writes: bool) -> Connection:
        connection = self._engine.connect()
        driver(connection).execute("PRAGMA busy_timeout=0" if writes else "PRAGMA query_only=ON")
        return connection

    def begin(self, connection: Connection) -> None:
        if self._found() != self._identity:
            raise StoreUnavailable(f"{self.name} was removed or replaced while it was in use. Start again.")
        connection.begin()
        deadline = time.monotonic() + BUSY
        while True:
            try:
                driver(connection).execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(PAUSE)

    def is_connection_error(self, error: Exception) -> bool:
        return False

    def is_contention(self, error: Exception) -> bool:
        return False

    def translate_error(self, error: Exception) -> StoreError | None:
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
        """Check for space on the disk. The transaction has already locked the file for writing.

        Nothing is written: a few bytes might fit into the log while nothing else does.
        """
        disk = os.statvfs(self._path.parent)
        if disk.f_flag & os.ST_RDONLY:
            raise StoreUnavailable(f"{self.name} {_UNWRITTEN}.")
        if disk.f_bavail * disk.f_frsize < ROOM:
            raise StoreUnavailable(f"{self.name} {_UNAVAILABLE[sqlite3.SQLITE_FULL]}.")

    def claim_connection(self, writer: PinnedConnection) -> PinnedConnection:
        """Return the writer's own connection: the file has one writer at a time."""
        return writer

    def heartbeat_connection(self, writer: PinnedConnection) -> PinnedConnection:
        """Return the connection of the writer: only one connection can write at a time."""
        return writer

    def locks(self) -> FileLocks:
        return FileLocks(self._path)

    def watch(self, woken: Woken) -> DataVersionPoller:
        return DataVersionPoller(self, self.instance, woken)

    def register(self, connection: Connection) -> None:
        """Do nothing: a commit that fails here was certainly not made."""

    def unregister(self, connection: Connection) -> None:
        """Do nothing."""

    def written_results(self, connection: Connection, number: int) -> list[int | Conflict] | None:
        return None

    def finish_group(
        self,
        connection: Connection,
        number: int,
        results: Sequence[int | Conflict],
        sessions: Mapping[str, Notice],
        batch: Batch,
    ) -> None:
        left = [session_id for session_id, notice in sessions.items() if notice is Notice.RESULTS_LEFT]
        others = [session_id for session_id, notice in sessions.items() if notice is not Notice.RESULTS_LEFT]
        if left:
            self._notify(connection, f"{self.instance}{RESULTS_LEFT}", left)
        if others:
            self.notify(connection, others)

    def notify(self, connection: Connection, session_ids: Sequence[str]) -> None:
        self._notify(connection, self.instance, session_ids)

    def _notify(self, connection: Connection, sender: str, session_ids: Sequence[str]) -> None:
        """Record sessions for the other processes that use the file, and delete old records from time to time."""
        document = json.dumps(session_ids)
        sent = document if len(document) <= LONGEST else "[]"
        number = driver(connection).execute(TEXTS["notify"], (sender, sent)).lastrowid
        if number % FORGET_EVERY == 0:
            driver(connection).execute(TEXTS["forget_notifications"], (number - KEPT,))

    def _connection(self, mode: str = "rw") -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(str(self._path))}?mode={mode}",
            uri=True,
            timeout=BUSY,
            isolation_level=None,  # transactions begin explicitly
            check_same_thread=False,  # `PinnedConnection` lets only one thread at a time use it
            cached_statements=256,
        )
        try:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute(f"PRAGMA journal_size_limit={LOG_LIMIT}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _examine(self) -> None:
        """Raise if the file is not an undamaged database of Callboard, or cannot be created. Nothing is changed."""
        if not self._path.parent.is_dir():
            raise StoreError(f"{self.name} cannot be made: its folder does not exist. Make the folder first.")
        try:
            with self._path.open("rb") as file:
                before = os.fstat(file.fileno())  # before the header, which another process may write meanwhile
                header = file.read(len(_HEADER))
        except FileNotFoundError:
            return
        except IsADirectoryError as error:
            raise StoreError(f"{self.name} is a folder. Name a file in it.") from error
        except OSError as error:
            raise StoreUnavailable(f"{self.name} {_UNREAD}.") from error
        if before.st_size == 0:
            return
        if header != _HEADER:
            raise self._damaged()
        if self._in_use():
            return  # the contents may be in the other files, which SQLite itself combines
        try:
            with closing(sqlite3.connect(f"file:{quote(str(self._path))}?mode=ro&immutable=1", uri=True)) as connection:
                tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                whole = before.st_size > CHECKED or connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
        except sqlite3.DatabaseError:
            whole, tables = False, set[str]()
        if self._in_use() or self._written_since(before):
            return  # another process wrote meanwhile
        if not whole:
            raise self._damaged()
        if tables and VERSION_TABLE not in tables:
            raise self._foreign()

    def _log_ahead(self, connection: Connection) -> None:
        """Switch to WAL mode, so that writers do not wait for readers. SQLite does not wait for others that switch."""
        deadline = time.monotonic() + BUSY
        while True:
            try:
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")
                return
            except DBAPIError as error:
                if not isinstance(self.translate_error(error), StoreUnavailable) or time.monotonic() > deadline:
                    raise
            finally:
                connection.rollback()
            time.sleep(0.01)

    def _in_use(self) -> bool:
        """Return whether a process has the file open, or was killed while it had."""
        return any(os.path.exists(f"{self._path}{end}") for end in ("-wal", "-journal"))

    def _written_since(self, before: os.stat_result) -> bool:
        """Return whether the file was written, or removed, since its status was read."""
        try:
            now = os.stat(self._path)
        except OSError:
            return True
        return (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns)

    def _found(self) -> tuple[int, int] | None:
        """Return the identity of the file that has this name now."""
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


def _path(url: str) -> str:
    """Return the file of `sqlite:///file.db`, relative to the working folder, or of `sqlite:////folder/file.db`."""
    path = url.removeprefix(FILE_PREFIX)
    if path == url or not path or path == ":memory:":
        raise StoreError("A SQLite store needs a file: sqlite:///file.db. For one that is not kept use memory://.")
    if "?" in path or path.startswith("file:"):
        raise StoreError("The address of a SQLite store has no options: sqlite:///file.db.")
    return path
