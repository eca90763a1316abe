"""Sends executions to workers through an engine, and sends again what was lost on the way.

An execution is submitted after the commit that stored it. A sweep compares the number of stored executions that wait in
each queue with the number of messages, and submits the stored ones again if messages are missing: the engine was away,
lost its data, or this process died between the commit and the message.
"""

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection
from typing import Protocol

from ..background_tasks import BackgroundTasks
from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from ..execution.engine import DEFAULT_QUEUE, GATEWAY_QUEUE, Engine, EngineError, WorkerStatus
from ..execution.execution import Execution
from ..storage.errors import StoreError
from ..storage.owners import QueuedCall
from ..storage.queues import QueueDepth
from ..storage.store import Store
from ..types import Mode, Placement

log = logging.getLogger("callboard.engine")

SWEEP = 5.0
"""Seconds between two sweeps, and the age at which an execution without a message counts as lost."""
UNSERVED = 30.0
"""Seconds after which the sessions of executions get a notice that no worker serves their queue."""
RECOUNT = 8
"""Queues are counted again after this process has sent an eighth of what may wait: workers may have claimed it."""
COUNT_PAUSE = 0.05
"""Seconds between two counts at least."""
PAGE = 1_000
"""Executions of a queue that are read at once, unless all are to be sent again."""


class WaitingCalls(Protocol):
    """Acts on executions that have waited in a queue for too long."""

    async def report_unserved(self, queue: str, call: QueuedCall) -> None:
        """Tell a session that no worker serves a queue, in which this is its oldest execution."""
        ...

    async def end_overdue(self, queue: str, oldest_at: float) -> None:
        """End the executions whose total time is over. `oldest_at` is when the oldest of the queue was called."""
        ...


class Dispatcher:
    """Decides where executions run, from `open` until `close`."""

    def __init__(
        self,
        engine: Engine,
        store: Store,
        clock: Clock,
        *,
        serves: Collection[str],
        most_waiting: int = 10_000,
        waiting: WaitingCalls,
        woken: Callable[[str | None], Awaitable[None]] | None = None,
    ) -> None:
        self.engine = engine
        self._store = store
        self._clock = clock
        self._serves = frozenset(serves)
        """The queues that this process serves: their executions run here if they are called here."""
        self._most_waiting = most_waiting
        """The executions that may wait in a queue before new calls are refused."""
        self._waiting = waiting
        self._woken = woken
        """Delivers late results of a session to its model; None if this process has no model."""
        self._sweep_now = asyncio.Event()
        self._tasks = BackgroundTasks()
        self.depths: tuple[QueueDepth, ...] = ()
        """The queues at the last count."""
        self._sent: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """The number of executions that were sent since, by queue and user."""
        self._count_now = asyncio.Event()
        self._counting = asyncio.Lock()
        self.unserved_queues: frozenset[str] = frozenset()
        """The queues in which executions wait although no worker serves them, at the last sweep."""
        self._suspected: set[str] = set()
        """The queues that seemed to lack messages at the last sweep."""
        self._told: set[tuple[str, str]] = set()
        """Queues that no worker serves, and sessions that this process told so: a session may have many calls there."""
        self.gateways = 1
        """The number of gateways that answered at the last sweep."""
        self.submitted_again = 0
        """The number of messages that sweeps have submitted."""

    async def open(self) -> None:
        await self.engine.open(self._sweep_now.set)
        self._tasks.run(self._run(), "callboard: dispatcher")
        self._tasks.run(self._count_again(), "callboard: queue counts")
        if self._woken is not None:
            self._tasks.run(self.engine.serve_wakes(self._wake_here), "callboard: wakes")

    async def close(self) -> None:
        await self._tasks.close()
        await self.engine.close()

    def queue_of(self, execution: Execution) -> str | None:
        """Return the queue of the workers that carry an execution out; None: this process does."""
        tool, scope = execution.tool, execution.scope
        if not scope.durable or execution.is_worker or scope.own_tool(tool.name) is tool:
            return None
        if tool.placement is Placement.GATEWAY:
            queue = GATEWAY_QUEUE
        elif tool.placement is Placement.WORKER or (
            tool.placement is None and (tool.queue is not None or tool.mode is Mode.BACKGROUND)
        ):
            queue = tool.queue or DEFAULT_QUEUE
        else:
            return None
        return None if queue in self._serves else queue

    def check_room(self, queue: str, user_id: str) -> None:
        """Raise `ToolError` (resource) if a queue has no room for another execution of a user.

        A user may have as many executions there as there is room left, so that no user can fill a queue. It counts
        the executions that were stored at the last count, and those that this process has sent since.
        """
        depth = next((depth for depth in self.depths if depth.queue == queue), None)
        sent = self._sent[queue]
        waiting = sent.total() + (0 if depth is None else depth.waiting)
        of_user = sent[user_id] + (0 if depth is None else depth.users.get(user_id, 0))
        left = self._most_waiting - waiting
        if left <= 0:
            message = f"The queue {queue} is full: {waiting:,} calls wait there."
        elif of_user >= left:
            message = (
                f"The queue {queue} is busy: {of_user:,} calls of this user wait there, which is the user's share."
            )
        else:
            return
        self._count_now.set()
        message = f"{message} Nothing was done; try again later."
        raise ToolError(message, category=ErrorCategory.RESOURCE, retryable=True)

    def submit(self, execution: Execution) -> None:
        """Send an execution that was handed over, and is stored now, to its queue."""
        scope, queue = execution.scope, execution.queue or DEFAULT_QUEUE
        self._sent[queue][scope.user_id] += 1
        if self._sent[queue].total() >= self._most_waiting / RECOUNT:
            self._count_now.set()
        self.engine.submit(QueuedCall(scope.id, execution.id, execution.name, queue, scope.user_id))

    def wake(self, session_id: str | None) -> None:
        """Have a gateway deliver late results of a session to its model, if this process has none."""
        if self._woken is None:
            self.engine.wake(session_id)

    async def _wake_here(self, session_id: str | None) -> None:
        """Deliver late results of a session that another process sent here. Raises to have it sent again."""
        if self._woken is None:
            return
        try:
            await self._woken(session_id)
        except StoreError:
            raise
        except Exception:
            log.exception("the runtime failed to wake the session %s", session_id)

    def submit_again(self, calls: Collection[QueuedCall]) -> None:
        """Send executions of a dead worker to their queues."""
        for call in calls:
            self.engine.submit(call)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            timer = loop.call_later(SWEEP, self._sweep_now.set)
            try:
                await self._sweep_now.wait()
            finally:
                timer.cancel()
            self._sweep_now.clear()
            try:
                await self.sweep()
            except (StoreError, EngineError) as error:
                log.debug("a sweep was not completed: %s", error)
            except Exception:
                log.exception("the runtime failed while it swept the queues")

    async def sweep(self, *, age: float = SWEEP, patience: float = UNSERVED) -> None:
        """Submit executions again whose messages are missing, end overdue ones, and report queues that are not served.

        A message is missing that was not sent within `age` seconds. A queue is reported if an execution has waited
        there for `patience` seconds.
        """
        now = self._clock.time()
        await self._count()
        for depth in self.depths:
            await self._waiting.end_overdue(depth.queue, depth.oldest_at)
        if not self.engine.connected:
            return
        suspected, self._suspected = self._suspected, set()
        for depth in self.depths:
            if depth.oldest_at >= now - age:
                continue
            calls = await self._store.queued_calls(depth.queue, before=now - age, limit=PAGE)
            if await self._lacks_messages(depth, len(calls), suspected):
                if len(calls) == PAGE:  # there may be more
                    calls = await self._store.queued_calls(depth.queue, before=now - age, limit=depth.waiting)
                log.info("messages of the queue %s are missing; %d are sent again", depth.queue, len(calls))
                self.submit_again(calls)
                self.submitted_again += len(calls)
        late = [depth.queue for depth in self.depths if depth.oldest_at < now - patience]
        if late or GATEWAY_QUEUE in self._serves:
            workers = await self.engine.workers()
            self.gateways = max(1, sum(GATEWAY_QUEUE in worker.queues for worker in workers))
            await self._report_unserved(late, workers, now - patience)

    async def _lacks_messages(self, depth: QueueDepth, old: int, suspected: Collection[str]) -> bool:
        """Return whether messages of a queue are missing, in which so many executions have waited for long.

        That is certain if there are fewer messages than these. If there are more, messages of newer executions may hide
        it, so all executions are compared with all messages. That difference counts if two sweeps in a row find it,
        because messages are sent and removed all the time.
        """
        messages = await self.engine.waiting(depth.queue)
        if old > messages:
            return True
        if depth.waiting <= messages:
            return False
        await self._count()
        waiting = next((each.waiting for each in self.depths if each.queue == depth.queue), 0)
        if waiting <= max(messages, await self.engine.waiting(depth.queue)):
            return False
        if depth.queue in suspected:
            return True
        self._suspected.add(depth.queue)
        return False

    async def _count(self) -> None:
        """Count the executions that wait in queues."""
        async with self._counting:
            counted = {queue: Counter(sent) for queue, sent in self._sent.items()}
            self.depths = tuple(await self._store.queue_depths())
            for queue, sent in counted.items():
                self._sent[queue] -= sent

    async def _count_again(self) -> None:
        """Count when it is needed before the next sweep."""
        while True:
            await self._count_now.wait()
            self._count_now.clear()
            try:
                await self._count()
            except StoreError as error:
                log.debug("the queues were not counted: %s", error)
            await asyncio.sleep(COUNT_PAUSE)

    async def _report_unserved(self, late: list[str], workers: list[WorkerStatus], before: float) -> None:
        """Tell the sessions of executions that have waited long in queues that no worker serves."""
        unserved = frozenset(late).difference(*(worker.queues for worker in workers))
        for queue in unserved - self.unserved_queues:
            log.warning("no worker serves the queue %s; its executions wait", queue)
        self.unserved_queues = unserved
        self._told = {told for told in self._told if told[0] in unserved}
        for depth in self.depths:
            if depth.queue in unserved:
                calls = await self._store.queued_calls(depth.queue, before=before, limit=depth.waiting)
                oldest = {call.session_id: call for call in reversed(calls)}
                untold = [call for call in oldest.values() if (depth.queue, call.session_id) not in self._told]
                for call in untold[:PAGE]:
                    self._told.add((depth.queue, call.session_id))
                    await self._waiting.report_unserved(depth.queue, call)
