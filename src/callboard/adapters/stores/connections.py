"""Connections and the threads that use them. The drivers are synchronous; the event loop waits for a thread.

A job that a thread has begun runs to its end, even if the task that submitted it is cancelled.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from ...storage.errors import StoreError, StoreUnavailable, StoreUnconfirmed
from ...storage.patience import Patience, within

T = TypeVar("T")

ATTEMPTS = 4
"""The number of times that a job is begun at most, if other transactions block it."""


class Database(Protocol):
    """A database, as a connection uses it."""

    def connect(self, *, writes: bool) -> Connection: ...

    def begin(self, connection: Connection) -> None:
        """Begin a transaction that writes."""
        ...

    def is_connection_error(self, error: Exception) -> bool:
        """Return whether the connection failed: a new connection may work."""
        ...

    def is_contention(self, error: Exception) -> bool:
        """Return whether a transaction was aborted in favour of another transaction."""
        ...

    def translate_error(self, error: Exception) -> StoreError | None:
        """Return the error of the store; None if the data of the statement caused it."""
        ...


class PinnedConnection:
    """A connection that one thread at a time uses, and that is opened again after it broke."""

    def __init__(
        self,
        database: Database,
        *,
        writes: bool,
        prepare: Callable[[Connection], None] = lambda connection: None,
    ) -> None:
        self._database = database
        self._writes = writes
        self._prepare = prepare
        """Called with each new connection."""
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._closed = False

    def run(self, job: Callable[[Connection], T]) -> T:
        """Run a job, in one transaction if it writes. Raises `StoreError`, or the error that the job's data caused.

        The job is begun again if a connection that had worked is broken, or if another transaction blocked it. It must
        be safe to repeat, also after a commit with an unknown result.
        """
        with self._lock:
            if self._closed:
                raise _closed()
            for attempts_left in reversed(range(ATTEMPTS)):
                fresh = self._connection is None
                try:
                    return self._attempt(job)
                except Exception as error:
                    translated = self._database.translate_error(error)
                    if translated is None:
                        raise
                    self._drop()
                    broken = self._database.is_connection_error(error)
                    retry = self._database.is_contention(error) or (broken and not fresh)
                    if not (retry and attempts_left):
                        raise translated from error
            raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Close the connection for good."""
        with self._lock:
            self._closed = True
            self._drop()

    def _attempt(self, job: Callable[[Connection], T]) -> T:
        connection = self._connection
        if connection is None:
            connection = self._connection = self._connect()
        try:
            if self._writes:
                self._database.begin(connection)
            result = job(connection)
            connection.commit()
        except BaseException:
            try:
                connection.rollback()
            except Exception:
                self._drop()
            raise
        return result

    def _connect(self) -> Connection:
        connection = self._database.connect(writes=self._writes)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


class ConnectionThreads:
    """Threads that run jobs, each with a connection of its own."""

    def __init__(self, name: str, *connections: PinnedConnection) -> None:
        self._connections = connections
        self._idle = deque(connections)
        self._threads = ThreadPoolExecutor(len(connections), thread_name_prefix=name)

    async def do(
        self, work: Callable[[PinnedConnection], T], patience: Patience | None = None, *, writes: bool = False
    ) -> T:
        """Run some work in a thread. A cancelled caller stops waiting; work that has begun continues.

        If the caller's patience ends first, work that has not begun is withdrawn, and `StoreUnavailable` is raised.
        `StoreUnconfirmed` is raised for work that writes and has begun.
        """
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        try:
            job = self._threads.submit(self._serve, work, done)
        except RuntimeError as error:  # the threads are shut down
            raise _closed() from error
        try:
            if patience is None or await within(patience, done):
                return await done
        except asyncio.CancelledError:
            job.cancel()
            done.cancel()
            raise
        if job.cancel() or not writes:
            done.cancel()
            raise StoreUnavailable("The store did not answer in time.")
        done.add_done_callback(_retrieve_error)
        raise StoreUnconfirmed("The store did not say in time whether it was written.")

    def close(self) -> None:
        """Finish all submitted work and close the connections. Blocks; do not call it on the event loop."""
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def _serve(self, work: Callable[[PinnedConnection], T], done: "asyncio.Future[T]") -> None:
        """Do some work in a thread, and resolve its future. `asyncio.wrap_future` costs more than a small statement."""
        connection = self._idle.pop()
        try:
            result = work(connection)
        except BaseException as error:
            _notify(done, done.set_exception, error)
        else:
            _notify(done, done.set_result, result)
        finally:
            self._idle.append(connection)


def _notify(done: "asyncio.Future[Any]", resolve: Callable[[Any], None], value: Any) -> None:
    """Resolve a future on its event loop."""
    with suppress(RuntimeError):  # the loop is closed: no caller waits any longer
        done.get_loop().call_soon_threadsafe(_resolve, done, resolve, value)


def _resolve(done: "asyncio.Future[Any]", resolve: Callable[[Any], None], value: Any) -> None:
    if not done.done():
        resolve(value)


def _retrieve_error(done: "asyncio.Future[Any]") -> None:
    """Retrieve the error of work that no caller waits for, so that asyncio does not log it."""
    if not done.cancelled():
        done.exception()


def _closed() -> StoreError:
    return StoreError("The store is not open.")
