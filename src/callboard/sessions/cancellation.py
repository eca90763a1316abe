"""Cancellation of the calls of one session, in whichever process they run.

The execution manager stops those of this process; the store tells their owners to stop the others.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from pydantic_core import to_json

from ..execution.execution import Execution
from ..execution.index import ExecutionIndex
from ..execution.manager import ExecutionManager
from ..storage.change import Change
from ..storage.errors import Conflict, StoreUnavailable, StoreUnconfirmed
from ..storage.rows import ExecutionRow, IdempotencyRow
from ..storage.store import Store
from .calls import Calls, StoreSync
from .ledger import Ledger

SLICE = 100
"""Executions that are stopped before other tasks run, which takes a few milliseconds."""


class Cancellation:
    """Stops calls of a session, and stores that."""

    __slots__ = ("_calls", "_index", "_ledger", "_manager", "_session_id", "_store", "_sync")

    def __init__(
        self,
        session_id: str,
        manager: ExecutionManager,
        store: Store,
        sync: StoreSync,
        index: ExecutionIndex,
        ledger: Ledger,
        calls: Calls,
    ) -> None:
        self._session_id = session_id
        self._manager = manager
        self._store = store
        self._sync = sync
        self._index = index
        self._ledger = ledger
        self._calls = calls

    async def cancel(self, execution_id: str, idempotency: IdempotencyRow | None = None) -> bool:
        """Stop an execution. See `Session.cancel`; `idempotency` is stored with the answer."""
        cancelled = await self._cancel(execution_id)
        if idempotency is not None:
            answer = to_json({"cancelled": cancelled})
            await self._ledger.write(Change(self._session_id, idempotency=replace(idempotency, answer=answer)))
        return cancelled

    async def _cancel(self, execution_id: str) -> bool:
        if self._index.holds(execution_id):
            return bool(await self._cancel_local(self._index.by_id[execution_id]))
        if (await self._calls.stored(execution_id)).completed_at is not None:
            return False
        await self._cancel_remote(execution_id)
        return True

    async def cancel_call(self, call_id: str) -> bool:
        """Stop the execution of a call. See `Session.cancel_call`."""
        execution = self._index.by_call(call_id)
        if execution is not None and not execution.lost:
            return bool(await self._cancel_local(execution))
        row = await self._calls.stored_call(call_id) if self._ledger.durable else None
        return row is not None and await self.cancel(row.id)

    async def cancel_all(self) -> int:
        """Stop all executions of the session. See `Session.cancel_all`."""
        return await self._cancel_local(*self._calls.unfinished) + await self.cancel_others(lambda _: True)

    async def cancel_others(self, chosen: Callable[[ExecutionRow], bool]) -> int:
        """Stop the chosen ones of the executions that other processes own, or none. Returns their number."""
        rows = await self._store.executions(self._session_id, unfinished=True) if self._ledger.durable else ()
        others = [row.id for row in rows if not (row.cancelling or self._index.holds(row.id)) and chosen(row)]
        if others:
            await self._cancel_remote(*others)
        return len(others)

    async def _cancel_local(self, *executions: Execution) -> int:
        """Stop executions of this process, and store that, so that they do not continue after a crash either."""
        stopped = await stop_each(executions, self._manager.cancel)
        if not self._ledger.durable:
            return len(stopped)
        stopping = [each.id for each in stopped if not each.terminal]
        try:
            if stopping:
                with suppress(Conflict):  # another process owns them
                    await self._ledger.write(Change(self._session_id, cancel=stopping))
            await self._ledger.settle()
        except StoreUnavailable as error:
            if not stopped:
                raise
            raise StoreUnconfirmed("They are stopped; the store does not answer at the moment.") from error
        lost = {each.id for each in stopped if each.lost}.difference(stopping)  # another process continues with them
        return len(stopped) - len(lost) + (await self.cancel_others(lambda row: row.id in lost) if lost else 0)

    async def _cancel_remote(self, *execution_ids: str) -> None:
        await self._ledger.write(Change(self._session_id, cancel=execution_ids))
        for execution_id in filter(self._index.holds, execution_ids):  # this process may have recovered one meanwhile
            self._manager.cancel(self._index.by_id[execution_id])
        self._sync.poll_orphans()


async def stop_each(executions: Iterable[Execution], stop: Callable[[Execution], object]) -> list[Execution]:
    """Stop executions, and let other tasks run after every `SLICE`. Returns those for which `stop` is true.

    Queued ones are stopped first, since they would begin in the slots of others.
    """
    ordered = sorted(executions, key=lambda execution: execution.task is not None)
    stopped: list[Execution] = []
    for start in range(0, len(ordered), SLICE):
        if start:
            await asyncio.sleep(0)
        stopped += filter(stop, ordered[start : start + SLICE])
    return stopped
