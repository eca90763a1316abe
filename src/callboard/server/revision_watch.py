"""Ends the server when another version of Callboard has migrated its store: it could not write anything any more."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from ..clock import Clock
from ..storage.port import Store, StoreError, StoreOutdated

log = logging.getLogger("callboard.server")

INTERVAL = 2.0
"""Seconds between two checks of the store's revision."""


@asynccontextmanager
async def stop_when_migrated(store: Store, clock: Clock, end: Callable[[], None]) -> AsyncGenerator[None]:
    """ApiCall `end` when the store was migrated. Raises `StoreOutdated` after the block in that case."""
    watch = asyncio.create_task(_outdated(store, clock, end), name="callboard: revision")
    try:
        yield
    finally:
        watch.cancel()
        await asyncio.wait([watch])
    if not watch.cancelled():
        raise watch.result()


async def _outdated(store: Store, clock: Clock, end: Callable[[], None]) -> StoreOutdated:
    while True:
        await clock.sleep(INTERVAL)
        try:
            await store.verify()
        except StoreOutdated as outdated:
            log.error("the server ends: %s", outdated)
            end()
            return outdated
        except StoreError as error:
            log.debug("the revision of the store could not be checked: %s", error)
