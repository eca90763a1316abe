"""The place of this process among those that share a store: its signs of life, and what it takes from dead ones.

A process that lives holds a lock and counts its beat up, from a thread of its own. Others decide by `liveness` whether
it is dead; no process compares times of day. The process that finds one dead takes over its executions, in steps, each
of them one transaction; no two processes ever both get one. What it took is handed to `Recovery`.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from ..storage.errors import StoreError, StoreOutdated
from ..storage.owners import TAKEN, Claim, Owners
from ..storage.rows import OwnerRow
from . import liveness
from .liveness import Fate, fate_of, lives_here

log = logging.getLogger("callboard.ownership")

BEAT = 0.5
"""Seconds between two beats."""
STEP = 1_000
"""How many executions are taken over in one transaction."""


class Heartbeat:
    """This process's place among those that share a store: from `join` on, and until `close`."""

    def __init__(
        self,
        store: Owners,
        me: OwnerRow,
        take_over: Callable[[list[Claim]], object],
        robbed: Callable[[], Awaitable[None]],
        died: Callable[[], object] = lambda: None,
    ) -> None:
        self._store = store
        self._me = me
        self._take_over = take_over
        """Called with what this process holds from now on. It must not wait."""
        self._robbed = robbed
        """Called when this process lost its lease, and its executions were given to another."""
        self._died = died
        """Called after all that a dead process held was handed to `take_over`."""
        self._still: dict[str, tuple[int, float]] = {}
        """The last beat of each other process, and for how many seconds it was seen to stand still."""
        self._looked = 0.0
        self._ended = threading.Event()
        self._now = asyncio.Event()
        self._joining = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None

    async def open(self) -> None:
        """Join, and begin to look for work that was left behind. Returns before the first look."""
        await self.join()
        self._now.set()
        self._task = asyncio.get_running_loop().create_task(self._watch(), name="callboard: ownership")

    async def join(self) -> None:
        """Enter this process and begin to beat. A process must do so before it carries anything out."""
        if self._thread is not None:
            return
        async with self._joining:
            if self._thread is None:
                await self._store.join(self._me)
                loop = asyncio.get_running_loop()
                self._thread = threading.Thread(target=self._beat, args=(loop,), name="callboard-beat", daemon=True)
                self._thread.start()

    async def stop_looking(self) -> None:
        """Take nothing over any more. This process still beats."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """Stop looking and beating, and leave."""
        self._ended.set()
        await self.stop_looking()
        if self._thread is None:
            return
        await asyncio.to_thread(self._thread.join, 5.0)
        try:
            await self._store.leave(self._me.id)
        except StoreError as error:
            log.warning("the store was not told that this process ends: %s", error)

    def poll_soon(self) -> None:
        """Look now instead of at the next beat: there may be an execution that no process holds."""
        self._now.set()

    # In the thread

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._ended.wait(BEAT):
            try:
                if not self._store.beat(self._me.id) and not self._ended.is_set():
                    asyncio.run_coroutine_threadsafe(self._rejoin(), loop).result()
            except StoreOutdated as error:
                log.error("this process can store nothing any more: %s", error)
                return
            except StoreError as error:
                log.debug("a beat was not stored: %s", error)
            except Exception:
                if loop.is_closed() or self._ended.is_set():
                    return
                log.exception("the runtime failed during a beat")

    async def _rejoin(self) -> None:
        """Enter again after this process lost its lease. What it begins from now on is its own again."""
        await self._robbed()
        await self._store.join(self._me)

    # On the loop

    async def _watch(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT):  # before 3.12, `wait_for` may overlook that it is cancelled
                    await self._now.wait()
            self._now.clear()
            try:
                await self.look()
            except Exception:
                log.exception("the runtime failed while it looked for work that was left behind")

    async def look(self) -> None:
        """Take over what dead processes left, and what no process holds and can go on, if the store answers."""
        try:
            await self._look()
        except StoreError as error:
            self._still.clear()  # no process could beat while the store was away
            log.debug("the store was not reached: %s", error)

    async def _look(self) -> None:
        owners = await self._store.owners()
        self._count(owners)
        others = [owner for owner in owners if owner.id != self._me.id]
        silent = [owner.id for owner in others if self._stood_still(owner) >= liveness.LEASE]
        locked = await self._store.living(silent) if silent else {}
        for owner in others:
            fate = fate_of(owner.beat, lives_here(owner), locked.get(owner.id), self._stood_still(owner))
            if fate is not Fate.LIVES:
                await self._recover(owner, fate)
        while (recovered := await self._store.recover(None, 0, self._me.id, limit=STEP)).claims:
            self._take_over(recovered.claims)
            if not recovered.more:
                break

    def _count(self, owners: list[OwnerRow]) -> None:
        """Note for how long each beat has stood still while this process looked."""
        now = time.monotonic()
        watched, self._looked = min(now - self._looked, 2 * BEAT), now  # no longer: we may have been stopped ourselves
        known, self._still = self._still, {}
        for owner in owners:
            beat, still = known.get(owner.id, (owner.beat, -watched))
            self._still[owner.id] = (owner.beat, still + watched if beat == owner.beat else 0.0)

    def _stood_still(self, owner: OwnerRow) -> float:
        return self._still[owner.id][1]

    async def _recover(self, owner: OwnerRow, fate: Fate) -> None:
        """Take over what a dead process held, in steps, so that no transaction is long."""
        beat, taken, waiting, found = owner.beat, 0, 0, False
        while True:
            recovered = await self._store.recover(owner.id, beat, self._me.id, limit=STEP)
            self._take_over(recovered.claims)
            taken, waiting = taken + len(recovered.claims), waiting + recovered.waiting
            found = found or recovered.found
            if not recovered.more:
                break
            beat = TAKEN
        if found:
            self._report(owner, fate, taken, waiting)
            self._died()

    def _report(self, owner: OwnerRow, fate: Fate, taken: int, waiting: int) -> None:
        left = f"{taken} executions are taken over, {waiting} wait for people"
        if fate is Fate.LEFT:
            log.info("the process %s ended and left work behind; %s", owner.id, left)
        elif fate is Fate.DIED:
            log.warning("the process %s died; %s", owner.id, left)
        elif fate is Fate.LAPSED:
            silent = self._stood_still(owner)
            log.warning("the process %s lost its lease: no beat for %.0f seconds; %s", owner.id, silent, left)
        else:
            log.info("the rest of the work of %s is recovered; %s", owner.id, left)
