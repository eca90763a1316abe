"""Ctrl-C while a command runs: the first one stops the work, the second one exits at once."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any, Self

from .process import Exit, can_handle_interrupts, exit_on_interrupt


class Interrupts:
    """Handles SIGINT inside a `with` block, which is entered on the event loop.

    The handler is installed with `signal`, not on the loop, so that the second Ctrl-C also ends a blocked loop. If
    SIGINT is ignored, as in a background job, it stays ignored.
    """

    def __init__(self, on_first: Callable[[], Any], on_second: Callable[[], Any] = lambda: None) -> None:
        self.on_first = on_first
        """Called on the event loop at the first Ctrl-C."""
        self._on_second = on_second
        self._loop = asyncio.get_running_loop()
        self._previous: Any = None
        self.interrupted = False
        """Whether Ctrl-C was pressed."""
        self.exit_code: int | None = None
        """The exit code of the process, once it is known; Ctrl-C does not change it then."""

    def __enter__(self) -> Self:
        if can_handle_interrupts():
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._previous is not None and self.exit_code is not None:
            exit_on_interrupt(self.exit_code)
        elif self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            self._on_second()
            os._exit(Exit.INTERRUPTED if self.exit_code is None else self.exit_code)
        self.interrupted = True
        self._loop.call_soon_threadsafe(lambda: self.on_first())


@asynccontextmanager
async def alongside(work: Awaitable[object]) -> AsyncGenerator["asyncio.Task[object]", None]:
    """Run a coroutine concurrently with the block and cancel it when the block ends. An error in either ends both."""

    async def run() -> object:
        return await work

    try:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(run())
            yield task
            task.cancel()
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


def exit_after(seconds: float, code: int) -> None:
    """Exit after this many seconds, even if a running thread would keep the process alive."""
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()
