"""The context managers of tools that hold resources: entered before the first call, left when the registry closes.

Each one is entered and left by its own task, because a task group or cancel scope must be left by the task that entered
it, and calls come from any task.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from ..errors import ToolError
from .definition import Tool


class LifetimeManager:
    """Owns the entered context managers of tools. You can enter it again after leaving it."""

    def __init__(self) -> None:
        self._group: TaskGroup | None = None
        self._stop: anyio.Event | None = None
        self._ready: dict[int, asyncio.Future[None]] = {}

    async def __aenter__(self) -> Self:
        if self._group is not None:
            raise RuntimeError("the registry is already entered")
        self._stop = anyio.Event()
        self._group = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._group is not None
        assert self._stop is not None
        self._stop.set()
        group, self._group = self._group, None
        self._ready.clear()
        await group.__aexit__(None, None, None)  # without the error, which would be wrapped in an exception group

    async def ensure(self, tool: Tool) -> None:
        """Return once the tool's lifetime is entered. Raises `ToolError` (configuration) if entering fails."""
        if tool.lifetime is None:
            return
        if self._group is None:
            raise ToolError(
                f"The tool {tool.name} is not started.",
                category="configuration",
                report=f"{tool.name} holds a resource: call it inside `async with registry` or in a Runtime",
            )
        ready = self._ready.get(id(tool.lifetime))
        if ready is None:
            ready = self._ready[id(tool.lifetime)] = asyncio.get_running_loop().create_future()
            self._group.start_soon(self._live, tool.lifetime, ready)
        try:
            await asyncio.shield(ready)
        except Exception as error:
            self._ready.pop(id(tool.lifetime), None)  # the next call may try again
            raise ToolError(
                f"The tool {tool.name} could not be started.",
                category="configuration",
                report=f"{tool.name}: {error!r}",
            ) from error

    async def _live(self, lifetime: AbstractAsyncContextManager[Any], ready: asyncio.Future[None]) -> None:
        assert self._stop is not None
        with anyio.CancelScope() as scope:  # outermost, because the lifetime may keep scopes open until it is left
            try:
                await lifetime.__aenter__()
            except Exception as error:
                ready.set_exception(error)
                return
            except BaseException:
                ready.cancel()
                raise
            scope.shield = True  # cancellation and failures of other tools do not interrupt the clean-up
            ready.set_result(None)
            await self._stop.wait()
            await lifetime.__aexit__(None, None, None)
