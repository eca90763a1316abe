"""The heartbeat of this process among those that share a store, and its search for processes that died.

A live process holds a lock and increments its beat, from a thread of its own. Others decide with `liveness` whether it
is dead; no process compares times of day. A process that finds a dead one takes over its executions, in steps of one
transaction each; an execution never goes to two processes. `Recovery` continues the claimed executions.
"""

import asyncio
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import NamedTuple

from ..background_tasks import BackgroundTasks
from ..storage.errors import StoreError, StoreOutdated
from ..storage.owners import RECOVERING, Claim, Owners, QueuedCall
from ..storage.rows import OwnerRow
from . import liveness
from .liveness import ProcessState, lives_here, process_state

log = logging.getLogger("callboard.heartbeat")

BEAT = 0.5
"""Seconds between two beats."""
CLAIM_BATCH = 250
"""Number of executions that are claimed in one transaction."""
PATIENCE = 30.0
"""Seconds for which executions of a dead process are left to one that has their tools."""


class Left(NamedTuple):
    """A dead process that keeps turns and inputs, without a model here, or sessions with calls of other tools."""

    tools: tuple[str, ...]
    """The tools that this process had then."""
    until: float
    """When the calls are taken over in any case, to be ended."""


class Heartbeat:
    """Keeps this process alive in the store, from `join` until `close`, and polls for the work of dead ones."""

    def __init__(
        self,
        store: Owners,
        me: OwnerRow,
        take_over: Callable[[list[Claim]], object],
        lease_lost: Callable[[], Awaitable[None]],
        results_left: Callable[[], object] = lambda: None,
        requeued: Callable[[Collection[QueuedCall]], object] = lambda calls: None,
        *,
        tools: Callable[[], tuple[str, ...]],
    ) -> None:
        self._store = store
        self._me = me
        self._take_over = take_over
        """Called with the claims of this process. It must not wait."""
        self._lease_lost = lease_lost
        """Called when this process lost its lease, and another process claimed its executions."""
        self._results_left = results_left
        """Called after the first poll, when another process has ended, and when the executions of one that died are
        claimed."""
        self._requeued = requeued
        """Called with the executions of a dead worker that wait in their queues again. It must not wait."""
        self._tools = tools
        """Returns the names of the tools of this process."""
        self._silence: dict[str, tuple[int, float]] = {}
        """The last beat of each other process, and for how many seconds it has not changed while this one polled."""
        self._conversations = True
        """Whether turns and inputs of dead processes are claimed too: this process has a model."""
        self._left: dict[str, Left] = {}
        """Dead processes that still own work which this process cannot recover."""
        self._polled_at = 0.0
        self._has_polled = False
        self._ended = threading.Event()
        self._poll_now = asyncio.Event()
        self._joining = asyncio.Lock()
        self._tasks = BackgroundTasks()
        self._thread: threading.Thread | None = None

    async def open(self, *, conversations: bool) -> None:
        """Join, and start to poll for orphaned work. Returns before the first poll.

        Without `conversations`, turns and inputs are left to processes that have a model.
        """
        self._conversations = conversations
        await self.join()
        self._poll_now.set()
        self._tasks.run(self._watch(), "callboard: heartbeat")

    async def join(self) -> None:
        """Register this process and start to beat. A process must do so before it runs any execution."""
        if self._thread is not None:
            return
        async with self._joining:
            if self._thread is None:
                await self._store.join(self._me)
                loop = asyncio.get_running_loop()
                self._thread = threading.Thread(target=self._beat, args=(loop,), name="callboard-beat", daemon=True)
                self._thread.start()

    async def stop_polling(self) -> None:
        """Stop claiming work. This process still beats."""
        await self._tasks.close()

    async def close(self) -> None:
        """Stop polling and beating, and leave."""
        self._ended.set()
        await self.stop_polling()
        if self._thread is None:
            return
        await asyncio.to_thread(self._thread.join, 5.0)
        try:
            await self._store.leave(self._me.id)
        except StoreError as error:
            log.warning("the end of this process was not stored: %s", error)

    def poll_soon(self) -> None:
        """Poll now instead of at the next beat: there may be an execution that no process holds."""
        self._poll_now.set()

    # In the thread of the heartbeat

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._ended.wait(BEAT):
            try:
                if not self._store.beat(self._me.id) and not self._ended.is_set():
                    asyncio.run_coroutine_threadsafe(self._rejoin(), loop).result()
            except StoreOutdated as error:
                log.error("this process can no longer store anything: %s", error)
                return
            except StoreError as error:
                log.debug("a beat was not stored: %s", error)
            except Exception:
                if loop.is_closed() or self._ended.is_set():
                    return
                log.exception("the runtime failed during a beat")

    async def _rejoin(self) -> None:
        """Register again after this process lost its lease, so that it can own new executions."""
        await self._lease_lost()
        await self._store.join(self._me)

    # On the event loop

    async def _watch(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT):  # before 3.12, `wait_for` may overlook that it is cancelled
                    await self._poll_now.wait()
            self._poll_now.clear()
            try:
                await self.poll()
            except Exception:
                log.exception("the runtime failed while it polled for orphaned work")

    async def poll(self) -> None:
        """Claim executions of dead processes, and those that no process holds and that can continue."""
        try:
            await self._poll()
        except StoreError as error:
            self._silence.clear()  # no process could beat while the store was away
            log.debug("the store was not reached: %s", error)

    async def _poll(self) -> None:
        owners = await self._store.owners()
        ended = self._silence.keys() - {owner.id for owner in owners}
        self._measure_silence(owners)
        others = [owner for owner in owners if owner.id != self._me.id]
        silent = [owner.id for owner in others if self._silence_of(owner) >= liveness.LEASE]
        locked = await self._store.living(silent) if silent else {}
        for owner in others:
            state = process_state(owner.beat, lives_here(owner), locked.get(owner.id), self._silence_of(owner))
            if state is not ProcessState.LIVES:
                await self._recover(owner, state)
        self._left = {owner.id: self._left[owner.id] for owner in others if owner.id in self._left}
        tools = self._tools()
        while (recovered := await self._store.recover(None, 0, self._me.id, limit=CLAIM_BATCH, tools=tools)).claims:
            self._take_over(recovered.claims)
            if not recovered.more:
                break
        if ended or not self._has_polled:
            self._has_polled = True
            self._results_left()

    def _measure_silence(self, owners: list[OwnerRow]) -> None:
        """Note for how long each beat has not changed while this process polled."""
        now = time.monotonic()
        # Not more than two beats count: this process may have been stopped itself.
        watched, self._polled_at = min(now - self._polled_at, 2 * BEAT), now
        known, self._silence = self._silence, {}
        for owner in owners:
            beat, silence = known.get(owner.id, (owner.beat, -watched))
            self._silence[owner.id] = (owner.beat, silence + watched if beat == owner.beat else 0.0)

    def _silence_of(self, owner: OwnerRow) -> float:
        return self._silence[owner.id][1]

    async def _recover(self, owner: OwnerRow, state: ProcessState) -> None:
        """Claim the executions of a dead process, in steps, so that no transaction is long.

        Turns and inputs are left to a process with a model, and executions to one that has their tools, for a while.
        """
        mine, now = self._tools(), time.monotonic()
        left = self._left.get(owner.id)
        if left is not None and left.tools == mine and now < left.until:
            return
        until = now + PATIENCE if left is None else left.until
        missing = (await self._store.tools_under_way(owner.id)).difference(mine) if now < until else set[str]()
        if missing and left is None:
            names = ", ".join(sorted(missing)[:10])
            log.info("the process %s left calls of tools that are missing here, such as %s", owner.id, names)
        tools = mine if missing else None
        beat, taken, waiting, queued, found = owner.beat, 0, 0, 0, False
        while True:
            recovered = await self._store.recover(
                owner.id, beat, self._me.id, limit=CLAIM_BATCH, conversations=self._conversations, tools=tools
            )
            self._take_over(recovered.claims)
            self._requeued(recovered.requeued)
            taken, waiting = taken + len(recovered.claims), waiting + recovered.waiting
            queued += len(recovered.requeued)
            found = found or recovered.found
            if not recovered.more:
                break
            beat = RECOVERING
        if found:
            self._left[owner.id] = Left(mine, until if missing else math.inf)
            self._report(owner, state, taken, waiting, queued)
            self._results_left()

    def _report(self, owner: OwnerRow, state: ProcessState, taken: int, waiting: int, queued: int) -> None:
        left = f"{taken} executions are recovered, {waiting} wait for people"
        if queued:
            left += f", {queued} wait for workers"
        if state is ProcessState.LEFT:
            log.info("the process %s ended and left work behind; %s", owner.id, left)
        elif state is ProcessState.DIED:
            log.warning("the process %s died; %s", owner.id, left)
        elif state is ProcessState.LAPSED:
            silent = self._silence_of(owner)
            log.warning("the process %s lost its lease: no beat for %.0f seconds; %s", owner.id, silent, left)
        else:
            log.info("the rest of the work of %s is recovered; %s", owner.id, left)
