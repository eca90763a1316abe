"""Finds handlers that block the event loop, and names them.

A thread schedules a callback on the loop. If that does not run in time, the thread inspects the stack of the loop's
thread: a frame of a running tool's handler identifies the tool, and so does a task that such a handler awaits. Nothing
is measured per call.
"""

import asyncio
import gc
import logging
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from types import CodeType, FrameType
from typing import Any, Self, cast

from ..tools.definition import Tool
from ..tools.histogram import Histogram
from .execution import Execution
from .manager import ExecutionManager
from .runner import Runner

AnyTask = asyncio.Task[Any]

MAX_DEPTH = 100
"""The most decorators that are unwrapped to find a handler: a decorator may wrap itself."""

MAX_AWAITED = 10_000
"""The most awaitables that are followed from a handler: two tasks may await each other."""

log = logging.getLogger("callboard.watchdog")


class Watchdog:
    """Watches one event loop, between `async with` and its end."""

    def __init__(
        self,
        manager: ExecutionManager,
        report: Callable[[str, float, frozenset[str]], Any],
        *,
        threshold: float = 1.0,
    ) -> None:
        self._manager = manager
        self._report = report
        """Called on the loop when it runs again: the tool, the seconds, and the ids of the sessions that ran it."""
        self._threshold = threshold
        self._ended = threading.Event()
        self._seen = 0.0
        self.lag = Histogram()
        """The delay of callbacks that are ready, in seconds."""

    async def __aenter__(self) -> Self:
        self._ended.clear()
        self._seen = time.monotonic()
        loop, thread = asyncio.get_running_loop(), threading.get_ident()
        threading.Thread(target=self._watch, args=(loop, thread), name="callboard-watchdog", daemon=True).start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._ended.set()

    def _watch(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        blocked: str | None = None
        sessions: frozenset[str] = frozenset()
        since = 0.0
        while not self._ended.wait(self._threshold / 2):
            silence = time.monotonic() - self._seen
            if silence >= self._threshold and blocked is None:
                since = self._seen
                blocked, sessions = self._culprit(loop, thread)
                if blocked is not None:
                    log.warning("the handler of %s has blocked the event loop for %.1f s", blocked, silence)
            elif silence < self._threshold and blocked is not None:
                self._call(loop, self._report, blocked, self._seen - since, sessions)
                blocked = None
            self._call(loop, self._beat, time.monotonic())

    def _beat(self, scheduled: float) -> None:
        self._seen = time.monotonic()
        self.lag.add(self._seen - scheduled)

    def _call(self, loop: asyncio.AbstractEventLoop, callback: Callable[..., Any], *args: Any) -> None:
        try:
            loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:  # the loop is closed
            self._ended.set()

    def _culprit(self, loop: asyncio.AbstractEventLoop, thread: int) -> tuple[str | None, frozenset[str]]:
        """Return the tool whose handler runs in the thread, and the sessions that run it."""
        live, task = self._manager.live, asyncio.current_task(loop)
        frame: FrameType | None = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
        if (entered := _entered(frame)) is not None:
            live = (*live, entered)
        name = _by_frame(live, frame, task) or _by_task(live, task)
        return name, frozenset(each.scope.id for each in live if each.tool.name == name)


def _entered(frame: FrameType | None) -> Execution | None:
    """Return the execution whose task runs in a thread. In its first step it is not among the live ones yet."""
    while frame is not None:
        if frame.f_code is Runner.carry_out.__code__:
            return frame.f_locals["execution"]
        frame = frame.f_back
    return None


def _by_frame(live: Sequence[Execution], frame: FrameType | None, task: AnyTask | None) -> str | None:
    tools: dict[CodeType, set[Tool]] = {}
    for tool in {each.tool for each in live}:
        for code in _codes(tool):
            tools.setdefault(code, set()).add(tool)
    while frame is not None:
        found = tools.get(frame.f_code, set[Tool]())
        if len(found) > 1:  # a decorator that several tools share
            found = {each.tool for each in live if each.tool in found and (each.task is None or each.task is task)}
        if len(found) == 1:
            return found.pop().name
        frame = frame.f_back
    return None


def _by_task(live: Sequence[Execution], task: AnyTask | None) -> str | None:
    """Find the tool whose handler awaits a task, directly or through other tasks."""
    for execution in live:
        awaited: list[Any] = [execution.task]
        for each in awaited:  # it grows during the loop
            if each is task is not None:
                return execution.tool.name
            if len(awaited) < MAX_AWAITED:
                awaited += _awaited_by(each)
    return None


def _awaited_by(awaitable: Any) -> list[Any]:
    """Return what a suspended awaitable waits for: a task for its coroutine, and a coroutine for another or a future.

    No function of asyncio returns the future that a task awaits, so the garbage collector is asked what the innermost
    awaitable refers to: the future, or a list of the futures that were gathered.
    """
    if isinstance(awaitable, asyncio.Task):
        return [cast("AnyTask", awaitable).get_coro()]
    for attribute in ("cr_await", "ag_await", "gi_yieldfrom"):
        if hasattr(awaitable, attribute):
            return [getattr(awaitable, attribute)]
    found = gc.get_referents(awaitable)
    found += gc.get_referents(*(each for each in found if isinstance(each, dict)))
    found += gc.get_referents(*(each for each in found if isinstance(each, list)))
    return [each for each in found if isinstance(each, Awaitable | Iterator | AsyncIterator)]


def _codes(tool: Tool) -> list[CodeType]:
    """Return the code of a handler: of its decorators, the decorated function, and the functions nested in them."""
    functions: list[Any] = [] if tool.handler is None else [tool.handler.function]
    found: list[Any] = []
    for each in functions:  # it grows during the loop
        if callable(each) and len(functions) < MAX_DEPTH:
            found += [getattr(each, "__code__", None), getattr(each.__call__, "__code__", None)]
            functions += [getattr(each, "__wrapped__", None), each.func if isinstance(each, partial) else None]
    codes = [code for code in found if isinstance(code, CodeType)]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return codes
