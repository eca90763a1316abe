"""Serves queues: claims the executions that wait there and carries them out in this process, so many at once."""

import asyncio
import logging
import os
import socket
from collections.abc import Iterable, Sequence

from ..clock import Clock
from ..errors import ToolError
from ..execution.engine import Engine, QueueMessage, WorkerStatus
from ..execution.execution import Execution
from ..execution.manager import ExecutionManager
from ..storage.errors import StoreError
from ..storage.store import Store
from ..tools.registry import Registry
from .recovery import Recovery

log = logging.getLogger("callboard.engine")

UNKNOWN_TOOL_DELAY = 1.0
"""Seconds before a message of a tool that this worker does not have is delivered again."""
BUSY_TOOL_DELAY = 0.25
"""Seconds before a message of a tool is delivered again of which as many calls run as may."""
STORE_DELAY = 1.0
"""Seconds before a message is delivered again that could not be claimed, since the store did not answer."""


class QueueWorker:
    """Carries out the executions of some queues, from `open` until `close`. It observes the execution manager."""

    def __init__(
        self,
        engine: Engine,
        manager: ExecutionManager,
        registry: Registry,
        store: Store,
        clock: Clock,
        recovery: Recovery,
        *,
        owner: str,
        queues: Iterable[str],
        concurrency: int,
    ) -> None:
        self._engine = engine
        self._manager = manager
        self._registry = registry
        self._store = store
        self._clock = clock
        self._recovery = recovery
        self._owner = owner
        self.queues = tuple(queues)
        self.concurrency = concurrency
        self.running: dict[str, Execution] = {}
        """The claimed executions that have not ended, by id."""
        self.done = 0
        """The number of claimed executions that have ended."""
        self.unknown: dict[str, int] = {}
        """The number of messages that were put back, by the name of the tool that this worker does not have."""
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._detach = manager.observe(self)

    async def open(self) -> None:
        """Start to serve."""
        await self._engine.announce(self.describe)
        loop = asyncio.get_running_loop()
        for queue in self.queues:
            serving = self._engine.serve(queue, self._room, self._deliver)
            self._tasks.append(loop.create_task(serving, name=f"callboard: queue {queue}"))

    async def stop(self) -> None:
        """Stop taking executions. Those that run go on."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
            self._tasks.clear()

    async def drain(self) -> None:
        """Stop taking executions, and return when those that run have ended."""
        await self.stop()
        while self.running:
            self._changed.clear()
            await self._changed.wait()

    async def close(self) -> None:
        await self.stop()
        self._detach()

    def describe(self) -> WorkerStatus:
        """Describe this worker and what it runs."""
        now = self._clock.monotonic()
        return WorkerStatus(
            id=self._owner,
            host=socket.gethostname(),
            pid=os.getpid(),
            queues=self.queues,
            concurrency=self.concurrency,
            running=[
                {
                    "execution_id": each.id,
                    "tool": each.name,
                    "session_id": each.scope.id,
                    "seconds": round(now - (each.started or now), 1),
                }
                for each in self.running.values()
            ],
            done=self.done,
        )

    async def _room(self) -> int:
        while (free := self.concurrency - len(self.running)) <= 0:
            self._changed.clear()
            await self._changed.wait()
        return free

    async def _deliver(self, messages: Sequence[QueueMessage]) -> None:
        try:
            await self._carry_out(messages)
        except Exception:  # the worker goes on with other messages; the engine delivers these again
            log.exception("the runtime failed to carry out %d executions of a queue", len(messages))

    async def _carry_out(self, messages: Sequence[QueueMessage]) -> None:
        """Claim the executions that messages name, and carry them out."""
        known: dict[tuple[str, str], QueueMessage] = {}
        limits: dict[str, int] = {}
        for message in messages:
            tool = self._registry.get(message.call.tool)
            if tool is None:
                await self._put_back_unknown(message)
                continue
            if tool.concurrency is not None:
                limits[tool.name] = tool.concurrency
            known[message.call.session_id, message.call.id] = message
        room = self.concurrency - len(self.running)
        for key in list(known)[max(0, room) :]:  # another queue used the room meanwhile
            await known.pop(key).put_back()
        if not known:
            return
        try:
            sessions = await self._recovery.sessions_of(known)
            claimed = await self._store.claim(list(known), self._owner, limits)
        except StoreError as error:
            log.debug("the store was not reached: %s", error)
            for message in known.values():
                await message.put_back(STORE_DELAY)
            return
        for key in claimed.refused:
            await known.pop(key).put_back(BUSY_TOOL_DELAY)
        traces = {message.call.id: message.trace for message in known.values() if message.trace is not None}
        await self._recovery.carry_on(claimed, sessions, self._add, traces)
        for message in known.values():
            await message.done()

    async def _put_back_unknown(self, message: QueueMessage) -> None:
        tool = message.call.tool
        if tool not in self.unknown:
            log.warning("this worker does not have the tool %s; its calls are left to other workers", tool)
        self.unknown[tool] = self.unknown.get(tool, 0) + 1
        await message.put_back(UNKNOWN_TOOL_DELAY)

    def _add(self, execution: Execution) -> None:
        if execution.queue:
            self.running[execution.id] = execution

    # The observer of the execution manager

    def called(self, execution: Execution) -> None: ...

    def attempting(self, execution: Execution) -> None: ...

    def attempted(self, execution: Execution, failure: ToolError) -> None: ...

    def ended(self, execution: Execution) -> None:
        if self.running.pop(execution.id, None) is not None:
            self.done += 1
            self._changed.set()
