"""The context managers of toolsets and of tools that hold resources, left when the registry closes.

Those of toolsets are entered at once when the registry is entered, those of tools before the first call.

Each one is entered and left by its own task, because a task group or cancel scope must be left by the task that entered
it, and calls come from any task.
"""

import asyncio
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from ..errors import ToolError
from .definition import Tool


class LifetimeManager:
    """Owns the entered context managers. You can enter it again after leaving it."""

    def __init__(self) -> None:
        self._group: TaskGroup | None = None
        self._stop: anyio.Event | None = None
        self._ready: dict[int, asyncio.Future[None]] = {}
        self._entering: set[anyio.CancelScope] = set()

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
        for scope in self._entering:
            scope.cancel()
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
            ready = self._ready[id(tool.lifetime)] = self._start(self._group, tool.lifetime)
        try:
            await asyncio.shield(ready)
        except Exception as error:
            self._ready.pop(id(tool.lifetime), None)  # the next call may try again
            raise ToolError(
                f"The tool {tool.name} could not be started.",
                category="configuration",
                report=f"{tool.name}: {error!r}",
            ) from error

    async def enter_all(self, lifetimes: Iterable[AbstractAsyncContextManager[Any]]) -> None:
        """Enter all at the same time. Raises the first error, without waiting for the others.

        Cancelling the task that leaves the manager interrupts their clean-up.
        """
        assert self._group is not None
        ready = [self._start(self._group, each, interruptible=True) for each in lifetimes]
        if ready:
            done, _ = await asyncio.wait(ready, return_when=asyncio.FIRST_EXCEPTION)
            for each in done:
                each.result()

    def _start(
        self, group: TaskGroup, lifetime: AbstractAsyncContextManager[Any], *, interruptible: bool = False
    ) -> asyncio.Future[None]:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        group.start_soon(self._live, lifetime, ready, interruptible)
        return ready

    async def _live(
        self, lifetime: AbstractAsyncContextManager[Any], ready: asyncio.Future[None], interruptible: bool
    ) -> None:
        assert self._stop is not None
        with anyio.CancelScope() as scope:  # outermost, because the lifetime may keep scopes open until it is left
            self._entering.add(scope)
            try:
                await lifetime.__aenter__()
            except Exception as error:
                ready.set_exception(error)
                return
            except BaseException:
                ready.cancel()
                raise
            finally:
                self._entering.discard(scope)
            scope.shield = True  # cancellation and failures of other tools do not interrupt the clean-up
            ready.set_result(None)
            await self._stop.wait()
            scope.shield = not interruptible
            await lifetime.__aexit__(None, None, None)
