"""Serves queues: claims the executions that wait there and carries them out in this process, so many at once."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ..background_tasks import BackgroundTasks
from ..clock import Clock
from ..errors import ToolError
from ..execution.engine import Engine, QueueMessage, WorkerStatus
from ..execution.execution import Execution
from ..execution.manager import ExecutionManager
from ..storage.errors import StoreError
from ..storage.owners import Claim, QueuedCall
from ..storage.queues import QueueDepth
from ..storage.store import Store
from ..tools.registry import Registry
from .queue_turns import QueueTurns
from .recovery import Recovery
from .redelivery import Redelivery

log = logging.getLogger("callboard.engine")

UNKNOWN_TOOL_DELAY, UNKNOWN_TOOL_SPACING = 1.0, 0.001
"""Seconds before a message of a tool that this worker does not have is delivered again, and between two of them."""
UNKNOWN_TOOL_CHECK = 30.0
"""Seconds after which such a message is removed if its execution does not wait: no other worker may remove it."""
MOST_UNKNOWN = 20_000
"""Such messages of which this worker remembers when they were checked."""
BUSY_TOOL_DELAY, BUSY_TOOL_SPACING = 0.25, 0.002
"""Seconds before a message of a tool is delivered again of which as many calls run as may, and between two of them."""
CLAIM_CHECK = 5.0
"""Seconds between two checks of the claims of this worker."""
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
        depths: Callable[[], Sequence[QueueDepth]],
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
        self._claiming = 0
        """The number of messages whose executions are being claimed; each has room here."""
        self.done = 0
        """The number of claimed executions that have ended."""
        self.unknown: dict[str, int] = {}
        """The number of messages that were put back, by the name of the tool that this worker does not have."""
        self._unknown_again = Redelivery(clock, UNKNOWN_TOOL_DELAY, UNKNOWN_TOOL_SPACING)
        self._checked: dict[tuple[str, str], float] = {}
        """When the executions of such messages were last known to wait."""
        self._busy_again = Redelivery(clock, BUSY_TOOL_DELAY, BUSY_TOOL_SPACING)
        self._turns = QueueTurns(store, clock, depths, self._can_run)
        self._busy: dict[str, float] = {}
        """Times until which tools at their concurrency limit are skipped."""
        self._changed = asyncio.Event()
        self._unattended: set[Claim] = set()
        """Claims that had no running execution at the last check."""
        self._retaken: set[Claim] = set()
        """The claims that checks have handed to the recovery, until they have begun."""
        self._stopping = False
        self._receiving = BackgroundTasks()
        self._deliveries = BackgroundTasks()
        """Claim executions and start them."""
        self._checking = BackgroundTasks()
        self._detach = manager.observe(self)

    async def open(self) -> None:
        """Start to serve."""
        await self._engine.announce(self.describe)
        for queue in self.queues:
            self._receiving.run(self._engine.serve(queue, self._room, self._deliver), f"callboard: queue {queue}")
        self._checking.run(self._check_regularly(), "callboard: claims")

    async def stop(self) -> None:
        """Stop taking executions. Those that are claimed, or being claimed, continue."""
        self._stopping = True
        await self._receiving.close()
        await self._deliveries.finish()

    async def drain(self) -> None:
        """Stop taking executions, and return when those that run have ended."""
        await self.stop()
        while self.running:
            self._changed.clear()
            await self._changed.wait()

    async def close(self) -> None:
        await self.stop()
        await self._checking.close()
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
        while (free := self._free()) <= 0:
            self._changed.clear()
            await self._changed.wait()
        return free

    def _free(self) -> int:
        """Return for how many more executions there is room: what all queues claim at the moment counts too."""
        return self.concurrency - len(self.running) - self._claiming

    async def check_claims(self) -> None:
        """Carry out executions that this worker owns and knows nothing of: the answer to their claim was lost.

        They must be found by two checks in a row, because an answer may be on its way. Each is tried once: one whose
        recovery fails, or whose end the store refuses, is left to the process after this one.
        """
        claimed = await self._store.claimed_calls(self._owner)
        self._retaken.intersection_update(claimed)
        found = [claim for claim in self._recovery.unattended(claimed) if claim not in self._retaken]
        confirmed = [claim for claim in found if claim in self._unattended]
        self._unattended = set(found).difference(confirmed)
        self._retaken.update(confirmed)
        if confirmed:
            log.warning("%d claimed executions were not carried out; they are taken over", len(confirmed))
            self._recovery.add(confirmed)

    async def _check_regularly(self) -> None:
        while True:
            await self._clock.sleep(CLAIM_CHECK)
            try:
                await self.check_claims()
            except StoreError as error:
                log.debug("the claims were not checked: %s", error)
            except Exception:
                log.exception("the runtime failed to check the claims of this worker")

    async def _deliver(self, messages: Sequence[QueueMessage]) -> None:
        """Handle messages in a task that is not cancelled: an execution that is claimed must be carried out."""
        await asyncio.shield(self._deliveries.start(self._handle(messages), "callboard: claim"))

    async def _handle(self, messages: Sequence[QueueMessage]) -> None:
        accepted: dict[tuple[str, str], QueueMessage] = {}
        try:
            await self._accept(messages, accepted)
            if accepted:
                await self._carry_out(accepted)
        except Exception:  # the worker continues with other messages; the engine delivers these again
            log.exception("the runtime failed to carry out %d executions of a queue", len(messages))
        finally:
            self._claiming -= len(accepted)
            self._changed.set()

    async def _carry_out(self, waiting: Mapping[tuple[str, str], QueueMessage]) -> None:
        """Claim as many executions as there are messages, and carry them out.

        They are those that the messages name, unless it is the turn of other users. Then the messages are put back: an
        execution that waits keeps its own message, and one that is gone needs none.
        """
        try:
            running = [each.scope.user_id for each in self.running.values()]
            chosen = await self._turns.choose([message.call for message in waiting.values()], running)
            refused = await self._claim(chosen)
        except StoreError as error:
            log.debug("the store was not reached: %s", error)
            for message in waiting.values():
                await message.put_back(STORE_DELAY)
            return
        for key, message in waiting.items():
            if key in refused:
                await message.put_back(self._busy_again.next())
            elif key in chosen:
                await message.done()
            else:
                await message.put_back()

    async def _accept(self, messages: Sequence[QueueMessage], accepted: dict[tuple[str, str], QueueMessage]) -> None:
        """Add the messages that this worker has the tools and the room for, by key, and put the others back."""
        unknown: list[QueueMessage] = []
        for message in messages:
            call = message.call
            if self._registry.get(call.tool) is None:
                unknown.append(message)
            elif (call.session_id, call.id) in accepted:
                await message.done()
            elif not self._can_run(call.tool):
                await message.put_back(self._busy_again.next())
            elif self._free() <= 0:  # another queue used the room meanwhile
                await message.put_back()
            else:
                accepted[call.session_id, call.id] = message
                self._claiming += 1
        if unknown:
            await self._put_back_unknown(unknown)

    async def _claim(self, calls: Mapping[tuple[str, str], QueuedCall]) -> Collection[tuple[str, str]]:
        """Claim executions and carry them out. Return those over the limits of their tools, which still wait."""
        tools = {call.tool: self._registry.get(call.tool) for call in calls.values()}
        limits = {name: tool.concurrency for name, tool in tools.items() if tool and tool.concurrency is not None}
        sessions = await self._recovery.sessions_of(calls)
        if self._stopping:
            return calls.keys()
        claimed = await self._store.claim(list(calls), self._owner, limits)
        until = self._clock.monotonic() + BUSY_TOOL_DELAY
        self._busy.update((calls[key].tool, until) for key in claimed.refused)
        self._turns.took(row.user_id for row in claimed.rows)
        await self._recovery.carry_on(claimed, sessions, self._add)
        return set(claimed.refused)

    def _can_run(self, tool: str) -> bool:
        """Return whether this worker has a tool, and the limit of the tool was not reached a moment ago."""
        return self._registry.get(tool) is not None and self._busy.get(tool, 0.0) <= self._clock.monotonic()

    async def _put_back_unknown(self, messages: Sequence[QueueMessage]) -> None:
        """Leave executions to workers that have their tools. Messages of those that no longer wait are removed.

        If no worker has the tool, messages of ended executions would stay, and hide that others are missing.
        """
        removed = await self._ended([(message.call.session_id, message.call.id) for message in messages])
        for message in messages:
            tool = message.call.tool
            if tool not in self.unknown:
                log.warning("this worker does not have the tool %s; its calls are left to other workers", tool)
            if (message.call.session_id, message.call.id) in removed:
                await message.done()
            else:
                self.unknown[tool] = self.unknown.get(tool, 0) + 1
                await message.put_back(self._unknown_again.next())

    async def _ended(self, keys: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return those executions that do not wait, of those that are due for a check."""
        now = self._clock.monotonic()
        if len(self._checked) > MOST_UNKNOWN:  # other workers have taken some of these
            self._checked.clear()
        due = {key for key in keys if self._checked.setdefault(key, now) <= now - UNKNOWN_TOOL_CHECK}
        if not due:
            return due
        try:
            rows = await self._store.executions_by_key(list(due))
        except StoreError as error:
            log.debug("the store was not reached: %s", error)
            return set()
        waiting = {(row.session_id, row.id) for row in rows if row.completed_at is None and row.owner is None}
        self._checked.update(dict.fromkeys(waiting, now))
        for key in due - waiting:
            del self._checked[key]
        return due - waiting

    def _add(self, execution: Execution) -> None:
        if execution.queue:
            self.running[execution.id] = execution

    # The observer of the execution manager

    def called(self, execution: Execution) -> None: ...

    def attempting(self, execution: Execution) -> None:
        self._add(execution)  # it may come from the recovery

    def attempted(self, execution: Execution, failure: ToolError) -> None: ...

    def ended(self, execution: Execution) -> None:
        if self.running.pop(execution.id, None) is not None:
            self._busy.pop(execution.name, None)  # there is room for another call of its tool
            self.done += 1
            self._changed.set()
