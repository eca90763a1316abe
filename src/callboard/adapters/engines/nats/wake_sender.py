"""Sends the wakes of sessions over JetStream, and keeps each until the server has stored it.

Calls need no such care: the sweep of `Dispatcher` sends those again whose messages are lost. Nothing repeats a wake.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from nats.errors import Error as NatsError
from pydantic_core import to_json

from ....background_tasks import BackgroundTasks

log = logging.getLogger("callboard.engine")

BATCH = 100
"""Sessions that are woken by one message at most."""
MOST_WAITING = 10_000
"""Sessions whose wakes are kept. If there are more, one wake for all sessions takes their place."""
RETRY_DELAY = 1.0
"""Seconds before the next attempt after the server did not store a message."""


class WakeSender:
    """Sends wakes while there is a connection, until `close`."""

    def __init__(self, publish: Callable[[bytes], Awaitable[object]], connected: asyncio.Event) -> None:
        self._publish = publish
        """Sends a message, and returns when the server has stored it."""
        self._connected = connected
        self._waiting: dict[str | None, None] = {}
        """Sessions whose wakes are not stored by the server; None stands for all sessions."""
        self._tasks = BackgroundTasks()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def add(self, session_id: str | None) -> None:
        """Send the wake of a session, or of all with None, as soon as possible. After `close` it does nothing."""
        if self._closed:
            return
        self._keep([session_id])
        if self._task is None or self._task.done():
            self._task = self._tasks.run(self._send(), "callboard: nats wakes")

    async def close(self, timeout: float) -> None:
        """Stop sending. While connected, wait a few seconds for the pending wake-ups."""
        self._closed = True
        if not await self._tasks.finish(timeout if self._connected.is_set() else 0):
            await self._tasks.close()
            log.warning("sessions with late results were not woken, because NATS does not answer")

    def _keep(self, session_ids: Iterable[str | None]) -> None:
        self._waiting.update(dict.fromkeys(session_ids))
        if None in self._waiting or len(self._waiting) > MOST_WAITING:
            self._waiting = {None: None}

    async def _send(self) -> None:
        while self._waiting:
            await self._connected.wait()
            batch = list(self._waiting)[:BATCH]
            for session_id in batch:
                del self._waiting[session_id]
            try:
                await self._publish(to_json(batch))
            except (NatsError, TimeoutError) as error:
                log.debug("a wake was not stored by NATS: %s", error)
                self._keep(batch)
                await asyncio.sleep(RETRY_DELAY)
