"""Limits the time that a caller waits for the store.

Work of the runtime itself waits until the store answers: results must not be lost, and turns must resume. A
caller that needs a response, such as an HTTP request, enters `patience` instead. When its time is used up, its queries
fail with `StoreUnavailable`, and its writes are withdrawn.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from .errors import StoreUnavailable, StoreUnconfirmed

T = TypeVar("T")

PATIENCE = 4.0
"""Seconds that a client waits for the store before its request fails."""

MOMENT = 0.1
"""Seconds for a withdrawn write to be reported after the caller's time is used up."""


class Patience:
    """The time that a caller has left to wait for the store. Other waiting does not count."""

    __slots__ = ("_task", "has_ended", "left")

    def __init__(self, seconds: float) -> None:
        self.left = seconds
        """Seconds that the caller still waits."""
        self.has_ended = False
        self._task = asyncio.current_task()

    def end(self) -> None:
        """End the limit: tasks that the caller started continue without it."""
        self.has_ended = True

    @property
    def is_mine(self) -> bool:
        """Whether the current task is the caller's own, not a task that it started."""
        return asyncio.current_task() is self._task


_current: ContextVar[Patience | None] = ContextVar("callboard_patience", default=None)


@contextmanager
def patience(seconds: float | None) -> Generator[Patience | None]:
    """Limit the time that the code within waits for the store; with None there is no limit."""
    scope = None if seconds is None else Patience(seconds)
    token = _current.set(scope)
    try:
        yield scope
    finally:
        if scope is not None:
            scope.end()
        _current.reset(token)


def reader() -> Patience | None:
    """Return the limit for a query. It also applies to tasks that the caller started, as long as the caller waits."""
    scope = _current.get()
    return None if scope is None or scope.has_ended else scope


def writer() -> Patience | None:
    """Return the limit for a write. Tasks that the caller started, such as turns, have none."""
    scope = reader()
    return scope if scope is not None and scope.is_mine else None


async def within(scope: Patience, waiting: "asyncio.Future[Any]") -> bool:
    """Wait for a future as long as a caller does. Return False, and leave the future alone, if it is not done then."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    done, _ = await asyncio.wait([waiting], timeout=scope.left)
    scope.left = max(0.0, scope.left - (loop.time() - began))
    return bool(done)


async def limited(scope: Patience, waiting: "asyncio.Future[T]") -> T:
    """Wait for a future that is only this caller's. Raises `StoreUnavailable` when the caller's patience ends."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    timer = loop.call_later(scope.left, _end_wait, waiting)
    try:
        return await waiting
    finally:
        timer.cancel()
        scope.left = max(0.0, scope.left - (loop.time() - began))


def _end_wait(waiting: "asyncio.Future[Any]") -> None:
    if not waiting.done():
        waiting.set_exception(StoreUnavailable("The store did not answer in time."))


async def confirmed(writing: "asyncio.Future[T]") -> T:
    """Wait for work that continues after a write, even if its caller is cancelled.

    Raises the error of the work, or `StoreUnconfirmed` if the caller's patience ends before the write is confirmed.
    """
    caller = writer()
    if caller is not None:
        done, _ = await asyncio.wait([writing], timeout=caller.left + MOMENT)
        if not done:
            raise StoreUnconfirmed("The store did not say in time whether this is stored.")
    return await asyncio.shield(writing)
