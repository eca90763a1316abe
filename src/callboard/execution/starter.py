"""Begins coroutines at once, and gives a task only to those that come to wait.

Most handlers end without ever waiting, and a task for each of them would cost more than everything else together. So a
few tasks are kept ready. A coroutine takes its first step as one of them (`asyncio.current_task()` is that task, by the
functions that asyncio documents for other kinds of tasks), in a copy of its caller's context, as any task. If it ends
within that step, the task is still unused and stays ready; if it waits, the task carries it on from there.
"""

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import Context, copy_context
from sys import getrefcount
from types import coroutine as generator_based
from typing import TYPE_CHECKING, Any
from weakref import getweakrefcount

AnyTask = asyncio.Task[Any]

if TYPE_CHECKING or not hasattr(asyncio.tasks, "_swap_current_task"):

    def become(loop: asyncio.AbstractEventLoop, task: AnyTask | None) -> AnyTask | None:
        """Make a task the current one, and say which was."""
        previous = asyncio.current_task(loop)
        if previous is not None:
            asyncio._leave_task(loop, previous)
        if task is not None:
            asyncio._enter_task(loop, task)
        return previous

else:  # from 3.12 on asyncio has the same in one step
    become = asyncio.tasks._swap_current_task

READY = 4
"""How many tasks are kept ready: one for each call of a chain in which handlers call tools."""


class Starter:
    """Starts coroutines on the event loop that opened it. Whoever starts one owns what comes of it."""

    def __init__(self) -> None:
        self._ready: list[Spare] = []
        self._spares: set[Spare] = set()
        self._loop: asyncio.AbstractEventLoop

    async def open(self) -> None:
        """Make the first tasks."""
        self._loop = asyncio.get_running_loop()
        for _ in range(READY):
            self._add()
        await asyncio.sleep(0)

    async def close(self) -> None:
        """End the tasks that are not in use."""
        self._ready.clear()
        unused = [spare.task for spare in self._spares]
        for spare in self._spares:
            spare.called.cancel()
        if unused:
            await asyncio.wait(unused)

    def start(self, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None] | None":
        """Begin. None where it has ended already, else the task that carries it on."""
        if not self._ready or (spare := self._ready.pop()).called.done():
            return self._loop.create_task(coroutine)
        loop, task, context = self._loop, spare.task, copy_context()
        held, watched = getrefcount(task), getweakrefcount(task)
        caller = become(loop, task)
        try:
            waits_for = context.run(next, coroutine.__await__(), spare)  # the spare, where it waits for nothing
        except BaseException:
            self._ready.append(spare)
            raise
        finally:
            become(loop, caller)
        if waits_for is not spare:
            spare.take(coroutine, context, waits_for)
        elif getrefcount(task) == held and getweakrefcount(task) == watched and not spare.called.done():
            self._ready.append(spare)  # nobody keeps anything by it, so the next one may have it
            return None
        else:
            spare.called.cancel()
        self._spares.discard(spare)
        self._add()
        return None if waits_for is spare else task

    def _add(self) -> None:
        self._spares.add(Spare(self._ready, self._loop))


class Spare:
    """A task that waits for a coroutine which has begun without it."""

    __slots__ = ("called", "context", "coroutine", "task", "waits_for")

    def __init__(self, ready: "list[Spare]", loop: asyncio.AbstractEventLoop) -> None:
        self.coroutine: Coroutine[Any, Any, None] | None = None
        self.context: Context
        self.waits_for: Any
        self.called: asyncio.Future[None] = loop.create_future()
        self.task = loop.create_task(self._run(ready), name="callboard: ready for a call")

    def take(self, coroutine: Coroutine[Any, Any, None], context: Context, waits_for: Any) -> None:
        """Carry a coroutine on which has come to wait."""
        self.coroutine, self.context, self.waits_for = coroutine, context, waits_for
        if not self.called.done():
            self.called.set_result(None)

    async def _run(self, ready: "list[Spare]") -> None:
        ready.append(self)
        error: BaseException | None = None
        try:
            await self.called
        except asyncio.CancelledError as stop:
            waits_for = self.waits_for if self.coroutine is not None else None
            if not (isinstance(waits_for, asyncio.Future) and waits_for.cancel(*stop.args)):
                error = stop
        if self.coroutine is not None:
            await _go_on(self.coroutine, self.context, self.waits_for, error)


@generator_based
def _go_on(
    coroutine: Coroutine[Any, Any, None], context: Context, waits_for: Any, error: BaseException | None
) -> Generator[Any, Any, None]:
    """Pass on what a coroutine waits for and what it is given, as `await` does, but in the coroutine's own context."""
    while True:
        given = None
        if error is None:
            try:
                given = yield waits_for
            except BaseException as raised:
                error = raised
        try:
            waits_for = context.run(coroutine.send, given) if error is None else context.run(coroutine.throw, error)
        except StopIteration:
            return
        error = None
