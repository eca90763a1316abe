"""Waiting for one another across event loops and threads: the test's, the client's and the double's."""

import asyncio
import threading


class Signal:
    """Something that happens once. Whoever waits for it may do so in any event loop, and it is set from any thread."""

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
    """A place in a turn at which the double waits until the test opens it."""

    def __init__(self) -> None:
        self.reached = Signal()
        """Set when the double stands at it: everything before it has been sent."""
        self._opened = Signal()

    def open(self) -> None:
        """Let the double go on."""
        self._opened.set()

    async def passed(self) -> None:
        """Stand at it until it is open."""
        self.reached.set()
        await self._opened.wait()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
