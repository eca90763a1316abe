"""Connections, and the threads that use them. The drivers are synchronous; the event loop waits for a thread's answer.

A job that a thread has begun is carried to its end, whatever becomes of the task that asked for it.
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
"""How often a job is begun at most, where others are in its way."""


class Database(Protocol):
    """What a line needs to know of its database."""

    def connect(self, *, writes: bool) -> Connection: ...

    def begin(self, connection: Connection) -> None:
        """Begin a transaction that will write."""
        ...

    def broken(self, error: Exception) -> bool:
        """Whether it was the connection that failed: another one may work."""
        ...

    def contended(self, error: Exception) -> bool:
        """Whether a transaction was given up in favour of another one's."""
        ...

    def explained(self, error: Exception) -> StoreError | None:
        """What an error means for the store; None where it speaks only of what was handed over."""
        ...


class PinnedConnection:
    """One connection, used by one thread at a time, and made again after it broke."""

    def __init__(self, database: Database, *, writes: bool) -> None:
        self._database = database
        self._writes = writes
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._closed = False

    def run(self, job: Callable[[Connection], T]) -> T:
        """Do a job; one that writes, in one transaction. Raises `StoreError`, or as it is what the job's data caused.

        Where a connection that had worked is broken, or another transaction was in the way, the job is begun again.
        It must be fit for that, also after a commit of which nobody knows how it ended.
        """
        with self._lock:
            if self._closed:
                raise _closed()
            for attempts_left in reversed(range(ATTEMPTS)):
                fresh = self._connection is None
                try:
                    return self._attempt(job)
                except Exception as error:
                    meaning = self._database.explained(error)
                    if meaning is None:
                        raise
                    self._drop()
                    worth_it = self._database.contended(error) or (self._database.broken(error) and not fresh)
                    if not (worth_it and attempts_left):
                        raise meaning from error
            raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Close the connection, and make no other."""
        with self._lock:
            self._closed = True
            self._drop()

    def _attempt(self, job: Callable[[Connection], T]) -> T:
        connection = self._connection
        if connection is None:
            connection = self._connection = self._database.connect(writes=self._writes)
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

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


class ConnectionThreads:
    """Threads that do work, each with a line of its own."""

    def __init__(self, name: str, *lines: PinnedConnection) -> None:
        self._lines = lines
        self._idle = deque(lines)
        self._threads = ThreadPoolExecutor(len(lines), thread_name_prefix=name)

    async def do(
        self, work: Callable[[PinnedConnection], T], patience: Patience | None = None, *, writes: bool = False
    ) -> T:
        """Have some work done. A caller that is cancelled stops waiting; work that has begun goes on.

        Where the caller's patience ends first, work that has not begun is withdrawn, and `StoreUnavailable` is raised;
        of work that writes and has begun it is not known whether it will be done: `StoreUnconfirmed`.
        """
        try:
            job = self._threads.submit(self._serve, work)
        except RuntimeError as error:  # its threads take no work any more
            raise _closed() from error
        done = asyncio.wrap_future(job)
        if patience is not None and not await _within(patience, done):
            if job.cancel() or not writes:
                done.cancel()
                raise StoreUnavailable("The store did not answer in time.")
            done.add_done_callback(_taken_note_of)
            raise StoreUnconfirmed("The store did not say in time whether it was written.")
        return await done

    def close(self) -> None:
        """Finish what was asked for, and close the connections. It waits; not to be called on the event loop."""
        self._threads.shutdown()
        for line in self._lines:
            line.close()

    def _serve(self, work: Callable[[PinnedConnection], T]) -> T:
        line = self._idle.pop()
        try:
            return work(line)
        finally:
            self._idle.append(line)


async def _within(patience: Patience, done: "asyncio.Future[Any]") -> bool:
    try:
        return await within(patience, done)
    except asyncio.CancelledError:
        done.cancel()
        raise


def _taken_note_of(done: "asyncio.Future[Any]") -> None:
    """Retrieve the error of work that no caller waits for, so that asyncio does not log it."""
    if not done.cancelled():
        done.exception()


def _closed() -> StoreError:
    return StoreError("The store is not open.")
