"""Errands: short tasks that nobody waits for. What goes wrong with one is logged, and harms nothing else."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from ..storage.errors import StoreError

log = logging.getLogger("callboard.sessions")


class BackgroundTasks:
    """Owns its tasks until it is closed."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, object]) -> None:
        """Begin one."""
        task = asyncio.get_running_loop().create_task(_careful(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # it never began, if the task was cancelled before

    async def close(self) -> None:
        """Stop those that are under way."""
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


async def _careful(work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except StoreError as error:
        log.warning("the store was not reached: %s", error)
    except Exception:
        log.exception("the runtime failed in a task of its own")
