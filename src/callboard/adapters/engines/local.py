"""An engine between the runtimes of one event loop: for tests, and to try placements without a server."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ...execution.engine import Deliver, WorkerStatus
from ...storage.owners import QueuedCall

RETRY_DELAY = 1.0
"""Seconds before a wake is delivered again."""


class LocalEngine:
    """Carries messages in memory. Runtimes that share one object are connected; nothing survives the process."""

    connected = True

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}
        self._wakes: asyncio.Queue[str | None] = asyncio.Queue()
        self._workers: list[Callable[[], WorkerStatus]] = []

    async def open(self, connected: Callable[[], None]) -> None:
        connected()

    async def close(self) -> None:
        """Do nothing: other runtimes may use the engine."""

    def submit(self, call: QueuedCall) -> None:
        self._queue(call.queue).add(_Message(call, self._queue(call.queue)))

    def wake(self, session_id: str | None) -> None:
        self._wakes.put_nowait(session_id)

    async def serve_wakes(self, woken: Callable[[str | None], Awaitable[None]]) -> None:
        while True:
            session_id = await self._wakes.get()
            try:
                await woken(session_id)
            except Exception:
                asyncio.get_running_loop().call_later(RETRY_DELAY, self._wakes.put_nowait, session_id)

    async def serve(self, queue: str, room: Callable[[], Awaitable[int]], deliver: Deliver) -> None:
        messages = self._queue(queue)
        while True:
            await deliver(await messages.take(await room()))

    async def waiting(self, queue: str) -> int:
        return self._queue(queue).open

    async def problems(self) -> list[str]:
        return []

    async def announce(self, describe: Callable[[], WorkerStatus]) -> None:
        self._workers.append(describe)

    async def workers(self, timeout: float = 0.5) -> list[WorkerStatus]:
        return sorted((describe() for describe in self._workers), key=lambda worker: worker.id)

    def _queue(self, name: str) -> "_Queue":
        return self._queues.setdefault(name, _Queue())


class _Queue:
    """The messages of a queue. Workers that wait get them in turn."""

    def __init__(self) -> None:
        self._messages: asyncio.Queue[_Message] = asyncio.Queue()
        self.open = 0
        """The number of messages that are not done."""

    def add(self, message: "_Message") -> None:
        self.open += 1
        self.put(message)

    def put(self, message: "_Message") -> None:
        self._messages.put_nowait(message)

    async def take(self, most: int) -> "list[_Message]":
        taken = [await self._messages.get()]
        while len(taken) < most and not self._messages.empty():
            taken.append(self._messages.get_nowait())
        return taken


@dataclass(frozen=True, slots=True)
class _Message:
    call: QueuedCall
    queue: _Queue

    async def done(self) -> None:
        self.queue.open -= 1

    async def put_back(self, delay: float = 0.0) -> None:
        asyncio.get_running_loop().call_later(delay, self.queue.put, self)
