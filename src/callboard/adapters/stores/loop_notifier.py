"""Passes notifications from a thread to the event loop."""

import asyncio
import threading
from contextlib import suppress

from ...storage.store import Woken


class LoopNotifier:
    """Calls back on the event loop. Notifications of a session that arrive before the loop runs are delivered once."""

    def __init__(self, woken: Woken) -> None:
        self._loop = asyncio.get_running_loop()
        self._woken = woken
        self._lock = threading.Lock()
        self._waiting: dict[str | None, bool] = {}
        """Sessions, and whether all their changes are quiet."""
        self._closed = False

    def __call__(self, session_id: str | None, quiet: bool = False, /) -> None:
        """Report, from any thread, that a session was written; None: any session."""
        with self._lock:
            first = not self._waiting
            self._waiting[session_id] = quiet and self._waiting.get(session_id, True)
        if first:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._deliver)

    def close(self) -> None:
        """Deliver nothing more. Call it on the event loop."""
        self._closed = True

    def _deliver(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        if self._closed:
            return
        for session_id, quiet in {None: False}.items() if None in waiting else waiting.items():
            if quiet:
                self._woken(session_id, True)
            else:
                self._woken(session_id)
