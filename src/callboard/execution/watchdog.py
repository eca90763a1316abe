"""Finds handlers that block the event loop, and names them.

A thread asks the loop for a sign of life. When none comes in time it looks at what the loop's thread is doing: a frame
that belongs to the handler of a running tool tells which tool it is, and so does a task that such a handler awaits.
Nothing is measured per call.
"""

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType, FrameType
from typing import Any, Self

from ..tools.definition import Tool
from ..tools.histogram import Histogram
from .execution import Execution
from .manager import ExecutionManager
from .runner import Runner

AnyTask = asyncio.Task[Any]

MAX_DEPTH = 100
"""How many decorators a handler is looked for under: one may wrap itself."""

MOST_AWAITED = 10_000
"""How many futures are followed from a handler: two may await each other."""

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
        """Called on the loop when it is free again: the tool, for how long, and the ids of the sessions that ran it."""
        self._threshold = threshold
        self._ended = threading.Event()
        self._seen = 0.0
        self.lag = Histogram()
        """How long the loop let signs of life wait, in seconds: as long as anything else that became ready."""

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
                    log.warning("the handler of %s blocks the event loop since %.1f s", blocked, silence)
            elif silence < self._threshold and blocked is not None:
                self._call(loop, self._report, blocked, self._seen - since, sessions)
                blocked = None
            self._call(loop, self._sign, time.monotonic())

    def _sign(self, asked: float) -> None:
        self._seen = time.monotonic()
        self.lag.add(self._seen - asked)

    def _call(self, loop: asyncio.AbstractEventLoop, callback: Callable[..., Any], *args: Any) -> None:
        try:
            loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:  # the loop is closed
            self._ended.set()

    def _culprit(self, loop: asyncio.AbstractEventLoop, thread: int) -> tuple[str | None, frozenset[str]]:
        """The tool whose handler the thread is in, if it is in one, and the sessions that run it."""
        live, task = self._manager.live, asyncio.current_task(loop)
        frame: FrameType | None = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
        if (entered := _entered(frame)) is not None:
            live = (*live, entered)
        name = _by_frame(live, frame, task) or _by_task(live, task)
        return name, frozenset(each.scope.id for each in live if each.tool.name == name)


def _entered(frame: FrameType | None) -> Execution | None:
    """The execution whose attempt a thread is in. It may be in its first step, and not be among the live ones yet."""
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
        if len(found) > 1:  # a decorator that several have
            found = {each.tool for each in live if each.tool in found and (each.task is None or each.task is task)}
        if len(found) == 1:
            return found.pop().name
        frame = frame.f_back
    return None


def _by_task(live: Sequence[Execution], task: AnyTask | None) -> str | None:
    """By what handlers await. Not yet known is what one awaits that has only just begun."""
    for each in live:
        awaited: list[Any] = [each.task]
        for future in awaited:  # it grows while it is walked
            if future is task is not None:
                return each.tool.name
            below = getattr(future, "_fut_waiter", None)
            if below is not None and len(awaited) < MOST_AWAITED:
                awaited += [below, *getattr(below, "_children", ())]
    return None


def _codes(tool: Tool) -> list[CodeType]:
    """The code of a handler: of what decorates it, of what is decorated, and of the functions written inside them."""
    functions: list[Any] = [] if tool.handler is None else [tool.handler.function]
    found: list[Any] = []
    for each in functions:  # it grows while it is walked
        if callable(each) and len(functions) < MAX_DEPTH:
            found += [getattr(each, "__code__", None), getattr(each.__call__, "__code__", None)]
            functions += [getattr(each, "__wrapped__", None), each.func if isinstance(each, partial) else None]
    codes = [code for code in found if isinstance(code, CodeType)]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return codes
