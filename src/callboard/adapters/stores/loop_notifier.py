"""Passes notifications from a thread to the event loop."""

import asyncio
import threading
from contextlib import suppress

from ...storage.change import Notice
from ...storage.store import Woken


class LoopNotifier:
    """Calls back on the event loop. Notifications of a session that arrive before the loop runs are delivered once."""

    def __init__(self, woken: Woken) -> None:
        self._loop = asyncio.get_running_loop()
        self._woken = woken
        self._lock = threading.Lock()
        self._waiting: dict[str | None, Notice] = {}
        self._closed = False

    def __call__(self, session_id: str | None, notice: Notice = Notice.CHANGED, /) -> None:
        """Report, from any thread, that a session was written; None: any session."""
        with self._lock:
            first = not self._waiting
            self._waiting[session_id] = max(notice, self._waiting.get(session_id, Notice.QUIET))
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
        of_any = waiting.pop(None, None)
        if of_any is not None:
            self._woken(None, of_any)
        for session_id, notice in waiting.items():
            if of_any is None or notice > of_any:
                self._woken(session_id, notice)
