"""Passes notifications from a thread to the event loop."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress


class LoopNotifier:
    """Calls back on the event loop. Equal notifications that arrive before the loop runs are delivered once."""

    def __init__(self, woken: Callable[[str | None], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._woken = woken
        self._lock = threading.Lock()
        self._waiting: set[str | None] = set()
        self._closed = False

    def __call__(self, session_id: str | None) -> None:
        """Report, from any thread, that a session was written; None: any session."""
        with self._lock:
            first = not self._waiting
            self._waiting.add(session_id)
        if first:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._deliver)

    def close(self) -> None:
        """Deliver nothing more. Call it on the event loop."""
        self._closed = True

    def _deliver(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, set()
        if self._closed:
            return
        for session_id in {None} if None in waiting else waiting:
            self._woken(session_id)
