"""What happened to a registry, told to whoever wants to know."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple, Self

from ..errors import CallboardError

log = logging.getLogger("callboard.registry")


class ChangeKind(StrEnum):
    """What was done."""

    REGISTERED = "registered"
    UNREGISTERED = "unregistered"
    REPLACED = "replaced"
    CLEARED = "cleared"


class Change(NamedTuple):
    """One change: what, to which tool, and the names of all tools after it."""

    kind: ChangeKind
    name: str | None
    names: tuple[str, ...]


class Subscription:
    """One subscriber, until its `with` block (or `close`) ends.

    Changes are delivered in order on the event loop that was running when it was made, so a slow subscriber never holds
    up whoever changes the registry. Made outside of any loop, it is called at once: there is nobody to hand it to.
    """

    __slots__ = ("_callback", "_loop", "_subscribers", "_tasks")

    def __init__(self, callback: Callable[[Change], Any], subscribers: "list[Subscription]") -> None:
        self._callback = callback
        self._subscribers = subscribers
        self._tasks: set[asyncio.Future[Any]] = set()
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            if inspect.iscoroutinefunction(callback):
                raise CallboardError("An async subscriber is made inside the event loop that is to run it.") from None
            self._loop = None
        subscribers.append(self)

    def deliver(self, change: Change) -> None:
        """Hand a change over. Never raises."""
        if self._loop is None:
            self._call(change)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._call, change)

    def close(self) -> None:
        """Stop the delivery; what an async subscriber still does is cancelled."""
        if self in self._subscribers:
            self._subscribers.remove(self)
        for task in self._tasks:
            task.cancel()

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
                task = asyncio.ensure_future(pending)
                self._tasks.add(task)
                task.add_done_callback(self._finished)
        except Exception:
            log.exception("a subscriber of the registry failed on %s %s", change.kind, change.name)

    def _finished(self, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a subscriber of the registry failed", exc_info=error)
