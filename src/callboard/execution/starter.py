"""Begins coroutines at once, and gives a task only to those that come to wait.

Most handlers end without ever waiting, and a task for each of them would cost more than everything else together. So a
few tasks are kept ready. A coroutine takes its first step as one of them (`asyncio.current_task()` is that task, by the
functions that asyncio documents for other kinds of tasks), in a copy of its caller's context, as any task. If it ends
within that step and leaves nothing on the task, that one is still unused and stays ready; if it waits, the task carries
it on from there.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from sys import getrefcount
from types import coroutine as generator_based
from typing import TYPE_CHECKING, Any, Self
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

NAME = "callboard: for a call"
"""The name of every one of them, until a handler gives it another."""


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
            spare.dismiss()
        if unused:
            await asyncio.wait(unused)

    def start(self, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None] | None":
        """Begin. None where it has ended already, else the task that carries it on. Raises what its first step does."""
        ready, loop = self._ready, self._loop
        if not ready or (task := (spare := ready.pop()).task).touched:
            return loop.create_task(coroutine)
        context = copy_context()
        held, watched = getrefcount(spare.task), getweakrefcount(task)
        caller = become(loop, task)
        try:  # gives the spare, where it waits for nothing
            waits_for = context.run(next, coroutine.__await__(), spare)
        except BaseException:
            self._replace(spare)
            raise
        finally:
            become(loop, caller)
        if waits_for is not spare:
            spare.take(coroutine, context, waits_for)
        elif (
            not task.touched
            and getrefcount(spare.task) == held  # not of a local name: how those are counted differs by the place
            and getweakrefcount(task) == watched
        ):
            ready.append(spare)  # nobody has left anything on it, so the next one may have it
            return None
        self._replace(spare)
        return task if waits_for is not spare else None

    def _replace(self, spare: "Spare") -> None:
        self._spares.discard(spare)
        spare.dismiss()
        self._add()

    def _add(self) -> None:
        self._spares.add(Spare(self._ready, self._loop))


class CallTask(asyncio.Task[None]):
    """A task that notices what is left on it: a callback, a name, a request to end, an attribute of any kind."""

    __slots__ = ("touched",)

    def __init__(self, coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(coroutine, loop=loop, name=NAME)
        object.__setattr__(self, "touched", False)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, "touched", True)
        super().__setattr__(name, value)

    def add_done_callback(self, fn: Callable[[Self], object], *, context: Context | None = None) -> None:
        object.__setattr__(self, "touched", True)
        super().add_done_callback(fn, context=context)

    def set_name(self, value: object, /) -> None:
        object.__setattr__(self, "touched", True)
        super().set_name(value)

    def cancel(self, msg: Any = None) -> bool:
        object.__setattr__(self, "touched", True)
        return super().cancel(msg)


class Spare:
    """A task that waits for a coroutine which has begun without it."""

    __slots__ = ("blocks", "called", "context", "coroutine", "task", "waits_for")

    def __init__(self, ready: "list[Spare]", loop: asyncio.AbstractEventLoop) -> None:
        self.coroutine: Coroutine[Any, Any, None] | None = None
        self.context: Context
        self.waits_for: Any
        self.blocks: bool | None
        """Whether that is a future which is awaited; None for what is no future."""
        self.called: asyncio.Future[None] = loop.create_future()
        # In a context of its own, which is empty: it may wait for long, and must not keep what some caller had in its.
        self.task = Context().run(CallTask, self._run(ready), loop)

    def take(self, coroutine: Coroutine[Any, Any, None], context: Context, waits_for: Any) -> None:
        """Carry a coroutine on which has come to wait."""
        self.coroutine, self.context, self.waits_for = coroutine, context, waits_for
        self.blocks = getattr(waits_for, "_asyncio_future_blocking", None)
        if self.blocks:  # the mark of a future that is being handed to a task: meanwhile nobody else could await it
            waits_for._asyncio_future_blocking = False

    def dismiss(self) -> None:
        """Let the task go on: with what it has taken, else to its end."""
        if not self.called.done():
            self.called.set_result(None)

    async def _run(self, ready: "list[Spare]") -> None:
        ready.append(self)
        try:
            await self.called
        except asyncio.CancelledError as stop:
            if self.coroutine is None:
                raise
            # Asked for once more, and counted once: so the event loop cancels what the coroutine waits for, as always.
            self.task.cancel(*stop.args)
            self.task.uncancel()
        if self.coroutine is not None:
            del self.task  # which keeps the error that the coroutine may end with, and that one keeps this frame
            await self._go_on(self.coroutine, self.context)

    @generator_based
    def _go_on(self, coroutine: Coroutine[Any, Any, None], context: Context) -> Generator[Any, Any, None]:
        """Pass on what a coroutine waits for and what it is given, as `await` does, but in the coroutine's own context.

        Nothing is kept longer than it is needed: neither what it waited for, nor an error, which has this frame in it.
        """
        waits_for, self.waits_for = self.waits_for, None
        if self.blocks:
            waits_for._asyncio_future_blocking = True
        while True:
            given = error = None
            try:
                given = yield waits_for
            except BaseException as raised:
                error = raised
            waits_for = None
            try:
                waits_for = context.run(coroutine.send, given) if error is None else context.run(coroutine.throw, error)
            except StopIteration:
                return
            finally:
                given = error = None
