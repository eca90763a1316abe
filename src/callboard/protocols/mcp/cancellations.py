"""Cancelled requests: tells a client that cancels a request from a connection that ends.

The SDK cancels the handler in both cases. A call that waits for a person ends with the first, and outlives the second.
"""

import asyncio
from collections.abc import Callable

from mcp import types

from .connections import Context, connection_id_of, is_modern

TURNS = 3
"""Turns of the event loop within which the notification follows the cancellation of its handler."""

_Key = tuple[str | None, str]
"""A connection, and the id of a request. Clients may repeat a number as text."""


class WatchedRequest:
    """A running request that its client may cancel."""

    __slots__ = ("is_cancelled", "is_closed_to_cancel", "key", "notify")

    def __init__(self, key: _Key | None, is_closed_to_cancel: bool) -> None:
        self.key = key
        """None if no notification can cancel it."""
        self.is_closed_to_cancel = is_closed_to_cancel
        """Whether its client cancels it by closing the response."""
        self.is_cancelled = False
        self.notify: Callable[[], None] | None = None
        """Called when the client cancels it."""

    async def is_by_client(self) -> bool:
        """Return whether the request, whose handler is cancelled, was cancelled by its client."""
        if self.is_closed_to_cancel:
            return True
        if self.key is not None:
            for _ in range(TURNS):
                if self.is_cancelled:
                    break
                await asyncio.sleep(0)
        return self.is_cancelled


class Cancellations:
    """Handles `notifications/cancelled`."""

    def __init__(self) -> None:
        self._watched: dict[_Key, WatchedRequest] = {}

    async def __call__(self, ctx: Context, params: types.CancelledNotificationParams) -> None:
        watched = self._watched.get((connection_id_of(ctx), str(params.request_id)))
        if watched is not None and params.request_id is not None:
            watched.is_cancelled = True
            if watched.notify is not None:
                watched.notify()

    def watch(self, ctx: Context, notify: Callable[[], None]) -> WatchedRequest:
        """Watch a request until `forget`. If it is watched already, a cancellation is still known."""
        if ctx.request is not None and is_modern(ctx):
            return WatchedRequest(None, is_closed_to_cancel=True)
        if ctx.request_id is None:
            return WatchedRequest(None, is_closed_to_cancel=False)
        key = (connection_id_of(ctx), str(ctx.request_id))
        if (watched := self._watched.get(key)) is None:
            watched = self._watched[key] = WatchedRequest(key, is_closed_to_cancel=False)
        watched.notify = notify
        return watched

    def forget(self, watched: WatchedRequest) -> None:
        """End the watch of a request."""
        if watched.key is not None and self._watched.get(watched.key) is watched:
            del self._watched[watched.key]
