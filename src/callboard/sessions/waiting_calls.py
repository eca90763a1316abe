"""Calls that wait in queues for too long: their sessions are told, and those whose time is over end."""

from contextlib import suppress

from ..events.kinds import EventKind
from ..execution.engine import DEFAULT_QUEUE
from ..execution.execution import Execution
from ..storage.errors import AlreadyWritten, IdempotencyConflict
from ..storage.owners import QueuedCall
from ..storage.rows import IdempotencyRow
from .recovery import Recovery
from .services import Services
from .session_loader import SessionLoader

PAGE = 1_000
"""Calls of a queue with the same time limit that are ended at once."""


class WaitingCalls:
    """Acts on calls that no worker has claimed yet, in a process that makes calls."""

    def __init__(self, services: Services, loader: SessionLoader, recovery: Recovery) -> None:
        self._registry = services.registry
        self._store = services.store
        self._clock = services.clock
        self._owner = services.owner
        self._loader = loader
        self._recovery = recovery

    async def report_unserved(self, queue: str, call: QueuedCall) -> None:
        """Tell a session once that no worker serves a queue, in which this is the oldest of its calls."""
        if (session := await self._loader.find_or_load(call.session_id)) is None:
            return
        message = f"The tool {call.tool} waits: no worker serves the queue {queue}. It starts when one does."
        key = IdempotencyRow(key=f"callboard-unserved-{call.id}", fingerprint=queue, at=self._clock.time())
        data = {"message": message, "execution_id": call.id, "tool": call.tool, "queue": queue}
        with suppress(AlreadyWritten, IdempotencyConflict):
            await session.write_event(EventKind.SYSTEM_NOTICE, data, key)

    async def end_overdue(self, queue: str, oldest_at: float) -> None:
        """End the calls in a queue whose total time is over. `oldest_at` is when the oldest of them was made."""
        now = self._clock.time()
        limits = {
            tool.name: tool.total_timeout
            for tool in self._registry
            if tool.total_timeout is not None and (tool.queue or DEFAULT_QUEUE) == queue
        }
        for limit in {seconds for seconds in limits.values() if oldest_at < now - seconds}:
            tools = [name for name, seconds in limits.items() if seconds == limit]
            calls = await self._store.queued_calls(queue, before=now - limit, limit=PAGE, tools=tools)
            if overdue := [(call.session_id, call.id) for call in calls]:
                sessions = await self._recovery.sessions_of(overdue)
                claimed = await self._store.claim(overdue, self._owner)  # a worker may have been faster
                await self._recovery.carry_on(claimed, sessions, _ignore)


def _ignore(execution: Execution) -> None:
    """It ends at once, since its deadline has passed."""
