"""Synchronization across event loops and threads: those of the test, the client and the double."""

import asyncio
import threading


class Signal:
    """An event that is set once, from any thread, and can be awaited in any event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = False
        self._waiting: list[asyncio.Future[None]] = []

    def set(self) -> None:
        with self._lock:
            self._set = True
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            future.get_loop().call_soon_threadsafe(_resolve, future)

    def is_set(self) -> bool:
        return self._set

    async def wait(self) -> None:
        with self._lock:
            if self._set:
                return
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
        try:
            await future
        finally:
            with self._lock:
                if future in self._waiting:
                    self._waiting.remove(future)


class Gate:
    """A point in a turn at which the double waits until the test opens it."""

    def __init__(self) -> None:
        self.reached = Signal()
        """Set when the double waits at the gate: everything before it has been sent."""
        self._opened = Signal()

    def open(self) -> None:
        """Let the double continue."""
        self._opened.set()

    async def wait(self) -> None:
        """Wait until the gate is open."""
        self.reached.set()
        await self._opened.wait()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
