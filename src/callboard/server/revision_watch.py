"""Shuts the server down when another version of Callboard has migrated its store, to which it can no longer write."""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from ..background_tasks import BackgroundTasks
from ..clock import Clock
from ..storage.committer import Committer
from ..storage.errors import StoreError, StoreOutdated

log = logging.getLogger("callboard.server")

INTERVAL = 2.0
"""Seconds between two checks of the store's revision."""


@asynccontextmanager
async def stop_when_migrated(store: Committer, clock: Clock, stop: Callable[[], None]) -> AsyncGenerator[None]:
    """Call `stop` when the store is migrated, and raise `StoreOutdated` after the block in that case."""
    async with BackgroundTasks() as tasks:
        watch = tasks.start(_watch(store, clock, stop), "callboard: revision")
        yield
    if not watch.cancelled():
        raise watch.result()


async def _watch(store: Committer, clock: Clock, stop: Callable[[], None]) -> StoreOutdated:
    while True:
        await clock.sleep(INTERVAL)
        try:
            await store.verify()
        except StoreOutdated as outdated:
            log.error("the server shuts down: %s", outdated)
            stop()
            return outdated
        except StoreError as error:
            log.debug("cannot check the revision of the store: %s", error)
