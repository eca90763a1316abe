"""Tasks that outlive the call which started them, with one owner that ends them.

Everything that runs beside its caller, and does not end with a `with` block, is a task of such an owner.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

log = logging.getLogger("callboard.tasks")

T = TypeVar("T")


class BackgroundTasks:
    """Owns its tasks until they end, or until it is closed, as at the end of its `async with`."""

    def __init__(self, expected: type[Exception] | tuple[type[Exception], ...] = ()) -> None:
        self._expected = expected
        """Errors of `run` that are logged as warnings, such as those of a store that does not answer."""
        self._tasks: set[asyncio.Task[Any]] = set()

    def run(self, work: Coroutine[Any, Any, object], name: str | None = None) -> "asyncio.Task[None]":
        """Start work whose result is not needed. Its errors are logged."""
        task = self.start(self._logged(work), name)
        task.add_done_callback(lambda _: work.close())  # if it was cancelled before its first step
        return task

    def start(self, work: Coroutine[Any, Any, T], name: str | None = None) -> "asyncio.Task[T]":
        """Start work that continues even if its caller stops waiting for the task."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def finish(self, timeout: float | None = None) -> bool:
        """Wait until all tasks have ended. False if they have not after a timeout."""
        return not self._tasks or not (await asyncio.wait(self._tasks, timeout=timeout))[1]

    def cancel(self) -> None:
        """Cancel all tasks, without waiting for their ends."""
        for task in tuple(self._tasks):
            task.cancel()

    async def close(self) -> None:
        """Cancel all tasks, and wait until they have ended."""
        self.cancel()
        await self.finish()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # its caller may no longer wait for it

    async def _logged(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except self._expected as error:
            log.warning("a background task failed: %s", error)
        except Exception:
            log.exception("the runtime failed in a background task")
