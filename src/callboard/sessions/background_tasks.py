"""Tasks of the runtime that outlive the call which started them."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from ..storage.errors import StoreError

log = logging.getLogger("callboard.sessions")

T = TypeVar("T")


class BackgroundTasks:
    """Owns its tasks until they end, or until it is closed."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def run(self, work: Coroutine[Any, Any, object]) -> None:
        """Start work whose result is not needed. Its errors are logged."""
        self.start(_logged(work)).add_done_callback(lambda _: work.close())  # for a task that was cancelled unstarted

    def start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Start work that goes on even if its caller stops waiting for the task."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def finish(self) -> None:
        """Wait until all tasks have ended."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Cancel all tasks, and wait until they have ended."""
        for task in tuple(self._tasks):
            task.cancel()
        await self.finish()

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # its caller may no longer wait for it


async def _logged(work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except StoreError as error:
        log.warning("the store was not reached: %s", error)
    except Exception:
        log.exception("the runtime failed in a background task")
