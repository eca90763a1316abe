"""Ctrl-C while something runs: the first asks it to stop, the second leaves at once."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from .exits import Exit
from .leaving import can_interrupt, leave_on_interrupt


class Interrupts:
    """Takes SIGINT over, between `with` and its end. Entered on the event loop that it calls back on.

    It is a signal handler of Python and not one of the event loop, so that the second Ctrl-C also leaves a loop that
    is blocked. Where SIGINT is ignored, as for a job in the background, it stays ignored.
    """

    def __init__(self, first: Callable[[], Any], leaving: Callable[[], Any]) -> None:
        self.first = first
        """Called on the event loop at the first Ctrl-C."""
        self._leaving = leaving
        self._loop = asyncio.get_running_loop()
        self._before: Any = None
        self.seen = False
        """Whether there was one."""
        self.code: int | None = None
        """What the process ends with, once that is settled: no Ctrl-C changes it then, nor one after the end."""

    def __enter__(self) -> Self:
        if can_interrupt():
            self._before = signal.signal(signal.SIGINT, self._received)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._before is not None and self.code is not None:
            leave_on_interrupt(self.code)
        elif self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self.seen:
            self._leaving()
            os._exit(Exit.INTERRUPTED if self.code is None else self.code)
        self.seen = True
        self._loop.call_soon_threadsafe(lambda: self.first())


def leave_after(seconds: float, code: int) -> None:
    """End the process by then, if it has not ended by itself: a thread that does not stop would hold it for ever."""
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()
