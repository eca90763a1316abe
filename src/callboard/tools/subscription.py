"""Subscriptions to the changes of a registry."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, NamedTuple, Self

from ..background_tasks import BackgroundTasks
from ..errors import CallboardError

log = logging.getLogger("callboard.registry")


class ChangeKind(StrEnum):
    """The kind of a change."""

    REGISTERED = "registered"
    UNREGISTERED = "unregistered"
    REPLACED = "replaced"
    CLEARED = "cleared"


class Change(NamedTuple):
    """One change: its kind, the name of the tool, and the names of all tools after it."""

    kind: ChangeKind
    name: str | None
    names: tuple[str, ...]


class Subscription:
    """A subscriber, active until its `with` block ends or `close` is called.

    Changes are delivered in order on the event loop that was running when the subscription was made, so a slow
    subscriber never blocks a change of the registry. Without a running loop the callback is called synchronously.
    """

    __slots__ = ("_callback", "_loop", "_subscribers", "_tasks")

    def __init__(self, callback: Callable[[Change], Any], subscribers: "list[Subscription]") -> None:
        self._callback = callback
        self._subscribers = subscribers
        self._tasks = BackgroundTasks()
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            if inspect.iscoroutinefunction(callback):
                raise CallboardError("An async subscriber needs a running event loop: subscribe inside one.") from None
            self._loop = None
        subscribers.append(self)

    def deliver(self, change: Change) -> None:
        """Deliver a change. Never raises."""
        if self._loop is None:
            self._call(change)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._call, change)

    def close(self) -> None:
        """Stop delivery and cancel async callbacks that are still running."""
        if self in self._subscribers:
            self._subscribers.remove(self)
        self._tasks.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _call(self, change: Change) -> None:
        if self not in self._subscribers:
            return
        try:
            pending = self._callback(change)
            if inspect.isawaitable(pending):
                self._tasks.start(_wait(pending))
        except Exception:
            log.exception("a registry subscriber failed on %s %s", change.kind, change.name)


async def _wait(pending: Awaitable[object]) -> None:
    try:
        await pending
    except Exception:
        log.exception("a registry subscriber failed")
