"""Finds handlers that block the event loop, and names them.

A thread asks the loop for a sign of life. When none comes in time it looks at what the loop's thread is doing: a frame
that belongs to the handler of a running tool tells which tool it is. Nothing is measured per call.
"""

import asyncio
import inspect
import logging
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Self

from ..tools.definition import Tool
from ..tools.histogram import Histogram
from .manager import ExecutionManager

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
                blocked, sessions = self._culprit(thread)
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

    def _culprit(self, thread: int) -> tuple[str | None, frozenset[str]]:
        """The tool whose handler the thread is in, if it is in one, and the sessions that run it."""
        live = self._manager.live
        codes = {code: each.tool.name for each in live if (code := _code(each.tool)) is not None}
        frame: FrameType | None = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
        while frame is not None:
            if (name := codes.get(frame.f_code)) is not None:
                return name, frozenset(each.scope.id for each in live if each.tool.name == name)
            frame = frame.f_back
        return None, frozenset()


def _code(tool: Tool) -> CodeType | None:
    function: Any = inspect.unwrap(tool.handler.function) if tool.handler is not None else None
    code: Any = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None
