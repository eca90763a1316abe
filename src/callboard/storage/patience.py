"""How long a caller waits for the store.

Work of the runtime itself waits until the store answers: results must not be lost, and turns go on where they were. A
caller that has to be answered, such as an HTTP request, enters `patience` instead. What it asks the store for then
fails with `StoreUnavailable` when its time is used up, and what it wanted written is withdrawn.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from .errors import StoreUnconfirmed

T = TypeVar("T")

PATIENCE = 4.0
"""Seconds that a client waits for the store before it is told that the store does not answer."""


MOMENT = 0.1
"""Seconds in which something that was withdrawn when a patience ended is told."""


class Patience:
    """The time that one caller has left to wait for the store. Other waiting does not count."""

    __slots__ = ("_over", "_task", "left")

    def __init__(self, seconds: float) -> None:
        self.left = seconds
        """Seconds that the caller goes on waiting."""
        self._task = asyncio.current_task()
        self._over = False

    def end(self) -> None:
        """The caller has its answer. What it started goes on without this limit."""
        self._over = True

    def spend(self, seconds: float) -> None:
        """The caller waited."""
        self.left = max(0.0, self.left - seconds)

    @property
    def is_over(self) -> bool:
        return self._over

    @property
    def is_mine(self) -> bool:
        """Whether this code runs in the caller's own task, and not in one that it started."""
        return asyncio.current_task() is self._task


_current: ContextVar[Patience | None] = ContextVar("callboard_patience", default=None)


@contextmanager
def patience(seconds: float | None) -> Generator[Patience | None]:
    """Limit the time that the code within waits for the store; with None it waits as long as it takes."""
    scope = None if seconds is None else Patience(seconds)
    token = _current.set(scope)
    try:
        yield scope
    finally:
        if scope is not None:
            scope.end()
        _current.reset(token)


def reader() -> Patience | None:
    """The limit for a question to the store. It also holds for tasks that the caller started, while it waits."""
    scope = _current.get()
    return None if scope is None or scope.is_over else scope


def writer() -> Patience | None:
    """The limit for something that is to be written. Tasks that the caller started, such as turns, have none."""
    scope = _current.get()
    return None if scope is None or scope.is_over or not scope.is_mine else scope


async def within(scope: Patience, waiting: "asyncio.Future[Any]") -> bool:
    """Wait for a future as long as a caller does. False where it is not done by then; it is left as it is."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    done, _ = await asyncio.wait([waiting], timeout=scope.left)
    scope.spend(loop.time() - began)
    return bool(done)


async def confirmed(writing: "asyncio.Future[T]") -> T:
    """Wait for work that goes on after a write, whatever becomes of its caller.

    Raises what it raises, and `StoreUnconfirmed` for a caller whose patience ends before it is known whether the store
    has taken it.
    """
    caller = writer()
    if caller is not None:
        done, _ = await asyncio.wait([writing], timeout=caller.left + MOMENT)
        if not done:
            raise StoreUnconfirmed("The store did not say in time whether this is stored.")
    return await asyncio.shield(writing)
