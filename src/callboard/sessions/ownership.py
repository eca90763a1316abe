"""Who carries executions out: this process's sign of life, and what becomes of the work of processes that died.

A process that lives lets its beat go on, from a thread of its own, so that a handler which holds the event loop up does
not make it look dead. Others watch whether the beat goes on, by their own clocks: nobody compares times of day. Of
processes on the same machine it is known at once whether they are gone. Whoever finds one dead gives its work to
itself, in one transaction, and no two ever both do.
"""

import asyncio
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from ..storage.port import Store, StoreError
from ..storage.rows import ExecutionRow, OwnerRow

log = logging.getLogger("callboard.ownership")

BEAT = 0.5
"""Seconds between two signs of life."""
LEASE = 3.0
"""Seconds without one after which a process counts as dead."""


def this_process() -> OwnerRow:
    """This process, as others may know it."""
    pid = os.getpid()
    name = f"{socket.gethostname()[:60]}-{pid}-{secrets.token_hex(6)}"
    return OwnerRow(id=name, host=_machine(), pid=pid, started=_started(pid) or "", beat=0)


def is_dead(owner: OwnerRow) -> bool:
    """Whether a process is known to be gone, because it ran on this machine. A doubt is no knowledge."""
    if owner.host != _machine():
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it is somebody else's
        pass
    started = _started(owner.pid)
    return bool(owner.started and started is not None and started != owner.started)


class Ownership:
    """This process's place among those that share a store: from `join` on, and until `close`."""

    def __init__(
        self,
        store: Store,
        me: OwnerRow,
        take_over: Callable[[ExecutionRow], Awaitable[None]],
        robbed: Callable[[], Awaitable[None]],
        died: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._me = me
        self._take_over = take_over
        self._robbed = robbed
        """Called when this process's work was given to another, which took it for dead."""
        self._died = died
        """Called when another process was found dead, after what it ran was taken over."""
        self._still: dict[str, tuple[int, float]] = {}
        """The last beat of each other process, and for how many seconds it was seen to stand still."""
        self._looked = 0.0
        self._unfinished: list[ExecutionRow] = []
        """What was given to this process, and could not be taken over because the store did not answer."""
        self._ended = threading.Event()
        self._now = asyncio.Event()
        self._joining = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None

    async def open(self) -> None:
        """Join, and take over what was left behind: now, and from now on."""
        await self.join()
        await self._look()
        self._task = asyncio.get_running_loop().create_task(self._watch(), name="callboard: recovery")

    async def join(self) -> None:
        """Enter this process, and begin to give signs of life. Whoever carries anything out must have done so."""
        if self._thread is not None:
            return
        async with self._joining:
            if self._thread is None:
                await self._store.join(self._me)
                loop = asyncio.get_running_loop()
                self._thread = threading.Thread(target=self._beat, args=(loop,), name="callboard-beat", daemon=True)
                self._thread.start()

    async def close(self) -> None:
        self._ended.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._thread is None:
            return
        await asyncio.to_thread(self._thread.join, 5.0)
        try:
            await self._store.leave(self._me.id)
        except StoreError as error:
            log.warning("the store was not told that this process ends: %s", error)

    def look_soon(self) -> None:
        """There may be work that nobody holds."""
        self._now.set()

    # In the thread

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._ended.wait(BEAT):
            try:
                if not self._store.beat(self._me.id) and not self._ended.is_set():
                    asyncio.run_coroutine_threadsafe(self._rejoin(), loop).result()
            except StoreError as error:
                log.debug("a sign of life was not taken: %s", error)
            except Exception:
                if loop.is_closed() or self._ended.is_set():
                    return
                log.exception("the runtime failed while it gave a sign of life")

    async def _rejoin(self) -> None:
        """This process was taken for dead. What it had is another's; what it begins from now on is its own again."""
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
        """See whether anybody is dead, unless the store does not answer."""
        try:
            await self._look()
        except StoreError as error:
            self._still.clear()  # while nobody could give a sign of life, none was missed
            log.debug("the store was not reached: %s", error)

    async def _look(self) -> None:
        """Take over what dead processes left, and what nobody holds and can go on."""
        if self._unfinished:
            await self._go_on([])
        owners = await self._store.owners()
        now = time.monotonic()
        watched, self._looked = min(now - self._looked, 2 * BEAT), now  # no longer: we may have been stopped ourselves
        known, self._still = self._still, {}
        for owner in owners:
            beat, still = known.get(owner.id, (owner.beat, -watched))
            self._still[owner.id] = (owner.beat, still + watched if beat == owner.beat else 0.0)
        for owner in owners:
            lapsed = self._still[owner.id][1] >= LEASE
            if owner.id != self._me.id and (lapsed or owner.beat < 0 or is_dead(owner)):
                left = await self._store.recover(owner.id, owner.beat, self._me.id)
                log.warning("the process %s is gone; %d executions of it are taken over", owner.id, len(left))
                await self._go_on(left)
                self._died()
        await self._go_on(await self._store.recover(None, 0, self._me.id))

    async def _go_on(self, rows: list[ExecutionRow]) -> None:
        rows, self._unfinished = [*self._unfinished, *rows], []
        rows.sort(key=lambda row: not row.is_call)  # a turn goes on when all that it called does
        for number, row in enumerate(rows):
            try:
                await self._take_over(row)
            except StoreError:
                self._unfinished = rows[number:]
                raise
            except Exception:
                log.exception("the runtime failed to take %s of %s over", row.id, row.tool)


def _machine() -> str:
    """This machine, in this boot: process ids mean the same as long as both are the same."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return f"{socket.gethostname()}-{secrets.token_hex(8)}"  # nothing is comparable then
    return f"{boot} {namespace}"


def _started(pid: int) -> str | None:
    """When a process was started. Empty where it has ended and nobody took notice yet; None where it is not known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "" if fields[0] in "ZXx" else fields[19]
