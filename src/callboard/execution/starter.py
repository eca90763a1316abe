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
        self.ready: list[Spare] = []
        self._spares: set[Spare] = set()
        self.loop: asyncio.AbstractEventLoop

    async def open(self) -> None:
        """Make the first tasks."""
        self.loop = asyncio.get_running_loop()
        for _ in range(READY):
            self._add()
        await asyncio.sleep(0)

    async def close(self) -> None:
        """End the tasks that are not in use."""
        self.ready.clear()
        unused = [spare.task for spare in self._spares]
        for spare in self._spares:
            spare.dismiss()
        if unused:
            await asyncio.wait(unused)

    def start(self, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None] | None":
        """Begin. None where it has ended already, else the task that carries it on. Raises what its first step does."""
        return self.ready.pop().start(coroutine) if self.ready else self.loop.create_task(coroutine)

    def replace(self, spare: "Spare") -> None:
        """A task is used up: let it go on, and make another."""
        self._spares.discard(spare)
        spare.dismiss()
        self._add()

    def _add(self) -> None:
        self._spares.add(Spare(self))


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

    __slots__ = ("blocks", "called", "context", "coroutine", "start", "task", "waits_for")

    def __init__(self, starter: Starter) -> None:
        self.coroutine: Coroutine[Any, Any, None] | None = None
        self.context: Context
        self.waits_for: Any
        self.blocks: bool | None
        """Whether that is a future which is awaited; None for what is no future."""
        self.called: asyncio.Future[None] = starter.loop.create_future()
        # In a context of its own, which is empty: it may wait for long, and must not keep what some caller had in its.
        self.task = Context().run(CallTask, self._run(starter.ready), starter.loop)
        starts = self._starts(starter)
        next(starts)
        self.start = starts.send
        """Begins a coroutine as this task. See `Starter.start`."""

    def _starts(self, starter: Starter) -> Generator[asyncio.Task[None] | None, Coroutine[Any, Any, None], None]:
        """Begins one coroutine after the other, and nothing is kept of any of them.

        It is a generator, since an error keeps the frames from which it came: there they end, as it always waits. Else
        an error that somebody keeps would keep everything that the caller had at hand.
        """
        ready, loop, task = starter.ready, starter.loop, self.task
        carries_on = coroutine = context = caller = waits_for = None
        while True:
            coroutine = yield carries_on
            if task.touched:  # somebody has cancelled it meanwhile
                carries_on, coroutine = loop.create_task(coroutine), None
                continue
            context, carries_on = copy_context(), None
            held, watched = getrefcount(self.task), getweakrefcount(task)  # how local names count, differs by the place
            caller = become(loop, task)
            try:  # gives this, where it waits for nothing
                waits_for = context.run(next, coroutine.__await__(), self)
            except BaseException:
                self._use_up(starter)
                raise
            finally:
                become(loop, caller)
            if waits_for is not self:
                self.take(coroutine, context, waits_for)
                self._use_up(starter)
                carries_on = task
            elif task.touched or getrefcount(self.task) != held or getweakrefcount(task) != watched:
                self._use_up(starter)
            else:
                ready.append(self)  # nobody has left anything on it, so the next one may have it
            coroutine = context = caller = waits_for = None

    def _use_up(self, starter: Starter) -> None:
        del self.start  # which has this in its frame
        starter.replace(self)

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
