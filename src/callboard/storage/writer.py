"""The writer: one task per process that groups the changes of many sessions into few transactions.

Sources add themselves; while one group is committed, the next one gathers, so that a commit costs the same however many
sources wait for it. The writer retries a store that does not answer, and confirms a change only after its commit. A
source may withdraw a change until the store begins to commit its group: the group is then formed again without it.

A group that fails again and again, but is certainly not written, is set aside, so that others are written. It is tried
again in halves, and in halves of these, until the source that is the cause fails alone.

Large changes are committed alone, after the group that gathered before them: a database may take a second for the
result of one user, and the changes of others wait for one such commit at most.

While there is nothing to write, the writer probes the store, to notice early that it is unavailable or full.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Collection, Sequence
from time import perf_counter
from typing import Protocol, TypeVar

from ..background_tasks import BackgroundTasks
from .change import Change
from .committer import ChangeGroup, Committer, GroupWithdrawn
from .errors import Conflict, StoreError, StoreUnavailable

log = logging.getLogger("callboard.store")

T = TypeVar("T")

FIRST_DELAY, LONGEST_DELAY = 0.05, 1.0
"""Seconds between two attempts to write to a store that does not answer: the first pause and the longest."""
GROUP = 2_000
"""The largest number of sources in one group."""
GROUP_BYTES = 4 * 1024 * 1024
"""The size in bytes from which a group takes no further source."""
LARGE = 256 * 1024
"""The size in bytes from which the changes of a source are written alone."""
PROBE = 1.5
"""Seconds without a write after which the store is probed."""
LINGER = 0.05
"""Seconds that changes wait for later ones of their source, if no caller waits for them."""
TRIES = 3
"""The number of failed attempts after which a group is set aside."""
RETRY = 5.0
"""Seconds after which groups that were set aside are tried again. They are also tried when the store answers again."""
LATE = 2.5
"""Seconds after which a store that has not answered counts as unavailable."""


class GroupFailed(Exception):
    """A group could not be written, and certainly is not."""


class Source(Protocol):
    """A source of changes."""

    def take(self) -> Sequence[Change]:
        """Return the changes to write now, in order. They are not returned again."""
        ...

    def take_again(self) -> Sequence[Change]:
        """Return the changes that were taken last and not written, without those that were withdrawn since."""
        ...

    def written(self, results: Sequence[int | Conflict]) -> None:
        """Receive the results of the changes that were taken last."""
        ...

    def lost(self, error: StoreError) -> None:
        """Learn that the changes that were taken last are not written, and will not be."""
        ...


class Writer:
    """Writes the changes of its sources between `open` and `close`."""

    def __init__(self, store: Committer) -> None:
        self._store = store
        self._waiting: dict[Source, None] = {}
        self._lingering: dict[Source, float] = {}
        """Sources that wait for later changes, and until when at most, on the clock of the event loop."""
        self._linger_timer: asyncio.TimerHandle | None = None
        self._writing: list[tuple[Source, Sequence[Change]]] = []
        """The changes that are being written, by source."""
        self._large: deque[Source] = deque()
        """The sources whose changes are written alone, oldest first. Their changes are taken."""
        self._aside: list[list[Source]] = []
        """The groups that failed. Their changes are taken."""
        self._retry_timer: asyncio.TimerHandle | None = None
        self._must_retry = False
        """Whether the groups that failed are to be tried again."""
        self._group = ChangeGroup(())
        """The group that the store is committing."""
        self._pending_since: float | None = None
        """The time of the pending call of the store; None if there is none."""
        self._more = asyncio.Event()
        self._must_probe = False
        self._idle_since = 0.0
        """When the last call of the store ended, on the clock of the event loop."""
        self._probe_timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._tasks = BackgroundTasks()
        self._task: asyncio.Task[None] | None = None
        self.unavailable = False
        """Whether the last call of the store failed."""
        self.written = self.refused = self.lost = 0
        """The numbers of changes that were written, that were in conflict, and that were lost."""
        self.failures = 0
        """The number of failed attempts to write a group."""
        self.commits = 0
        self.commit_time = 0.0
        """The number of groups that were written, and the seconds that their commits took."""

    @property
    def available(self) -> bool:
        """Whether the last call of the store succeeded, and no call is pending for long."""
        return not self.unavailable and (self._pending_since is None or perf_counter() - self._pending_since < LATE)

    def withdraw(self, source: Source) -> bool:
        """Form the group of a source again before it is written, because a change of it was withdrawn.

        Return False if it is too late, since the group may be committed. If it was not, it is formed again.
        """
        return source in self._held() or self._group.withdraw()

    def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._task = self._tasks.run(self._run(), "callboard: writer")
        self._idle_since = loop.time()
        self._probe_timer = loop.call_later(PROBE, self._probe_if_idle)

    async def close(self, patience: float = 10.0) -> None:
        """Write what is left, for at most `patience` seconds. Sources that still wait then lose their changes."""
        self._closing = True
        for source in list(self._lingering):
            self.add(source)
        self._more.set()
        for timer in (self._probe_timer, self._linger_timer, self._retry_timer):
            if timer is not None:
                timer.cancel()
        if self._task is None:
            return
        if not await self._tasks.finish(patience):
            await self._tasks.close()
            self._group.withdraw()
            log.error("the store did not answer; changes that are not written yet are lost")
        self._give_up()

    def add(self, source: Source) -> None:
        """Write the changes of a source with the next group."""
        self._lingering.pop(source, None)
        self._waiting[source] = None
        self._more.set()
        if self._closing and self._task is not None and self._task.done():
            asyncio.get_running_loop().call_soon(self._give_up)

    def add_soon(self, source: Source) -> None:
        """Write the changes of a source together with its next ones, or in a moment: no caller waits for them."""
        if self._closing:
            self.add(source)
        elif source not in self._waiting and source not in self._lingering:
            loop = asyncio.get_running_loop()
            self._lingering[source] = loop.time() + LINGER
            if self._linger_timer is None:
                self._linger_timer = loop.call_later(LINGER, self._end_lingering)

    def _end_lingering(self) -> None:
        """Add the sources that have waited long enough. There is one timer for all."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for source in [source for source, until in self._lingering.items() if until <= now]:
            self.add(source)
        first = next(iter(self._lingering.values()), None)
        self._linger_timer = None if first is None else loop.call_at(first, self._end_lingering)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting or self._large or self._aside or not self._closing:
            await self._more.wait()
            await asyncio.sleep(0)  # tasks that wake with this one may have changes for the same group
            held = self._held()
            self._take_group(held)
            if self._waiting.keys() <= held and not self._large and not self._closing:
                self._more.clear()
            must_probe, self._must_probe = self._must_probe, False
            if self._writing:
                await self._write()
            elif must_probe and not self._large:
                await self._probe()
            if self._large:
                self._form_again([self._large.popleft()])
                await self._write()
            if self._aside and (self._must_retry or self._closing):
                await self._write_aside()
            self._idle_since = loop.time()

    def _held(self) -> set[Source]:
        """Return the sources whose changes are taken and wait to be written: they cannot give later ones yet."""
        return {source for sources in (self._large, *self._aside) for source in sources}

    def _take_group(self, held: Collection[Source]) -> None:
        """Take the changes of a group of sources. Large ones are set aside, to be written alone."""
        size = 0
        for source in [source for source in self._waiting if source not in held][:GROUP]:
            del self._waiting[source]
            changes = _take(source)
            added = sum(change.size for change in changes)
            if added >= LARGE:
                self._large.append(source)
            elif changes:
                self._writing.append((source, changes))
                size += added
                if size >= GROUP_BYTES:
                    break

    def _probe_if_idle(self) -> None:
        """Have the store probed, if nothing was written for long enough.

        One timer is kept, and set again when it is due: a timeout for each wait would cost more than the wait itself.
        """
        loop = asyncio.get_running_loop()
        left = self._idle_since + PROBE - loop.time()
        if left <= 0 and self._pending_since is None:
            self._must_probe = True
            self._more.set()
        self._probe_timer = loop.call_later(left if left > 0 else PROBE, self._probe_if_idle)

    async def _probe(self) -> None:
        try:
            await self._call(self._store.probe())
        except StoreError as error:
            self._failed(error)
        except Exception:
            log.exception("the runtime failed while it probed the store")

    async def _write(self) -> None:
        self._must_retry |= not await self._write_group(TRIES)

    async def _write_group(self, tries: int) -> bool:
        """Write the group. False if it was set aside after so many failures."""
        while self._writing:
            self._group = ChangeGroup(change for _, changes in self._writing for change in changes)
            try:
                results = await self._commit(self._group, tries)
            except GroupWithdrawn:
                self._form_again([source for source, _ in self._writing])
            except GroupFailed:
                self._set_aside()
                return False
            except Exception as error:
                self.failures += 1
                log.error("a group of %d changes could not be written: %s", len(self._group), error)
                self._lose(error if isinstance(error, StoreError) else _fault(error))
            else:
                self._confirm(results)
        return True

    def _set_aside(self) -> None:
        """Set the group aside, in halves, so that a source that is the cause of its failure is soon alone."""
        sources, self._writing = [source for source, _ in self._writing], []
        middle = len(sources) // 2
        self._aside += [half for half in (sources[:middle], sources[middle:]) if half]

    async def _write_aside(self) -> None:
        """Try the groups again that were set aside. If the first two fail, the store is away: the others wait."""
        self._must_retry = False
        written, failed, alone = 0, 0, set[Source]()
        while self._aside and self._aside[0][0] not in alone and (written or failed < 2):
            self._form_again(sources := self._aside.pop(0))
            if await self._write_group(1):
                written += 1
                self._more.set()  # its sources may have later changes
                continue
            failed += 1
            if len(sources) == 1:
                alone.update(sources)
        if self._aside and self._closing:
            await asyncio.sleep(FIRST_DELAY)
        elif self._aside and self._retry_timer is None:
            self._retry_timer = asyncio.get_running_loop().call_later(RETRY, self._retry)

    def _retry(self) -> None:
        self._retry_timer = None
        self._must_retry = True
        self._more.set()

    def _form_again(self, sources: Sequence[Source]) -> None:
        """Form a group of the changes that these sources gave before, without those that were withdrawn."""
        self._writing = []
        for source in sources:
            if changes := source.take_again():
                self._writing.append((source, changes))
            else:
                _confirm(source, ())

    def _confirm(self, results: Sequence[int | Conflict]) -> None:
        refused = sum(isinstance(result, Conflict) for result in results)
        self.refused += refused
        self.written += len(results) - refused
        writing, self._writing = self._writing, []
        start = 0
        for source, changes in writing:
            _confirm(source, results[start : start + len(changes)])
            start += len(changes)

    async def _commit(self, group: ChangeGroup, tries: int) -> list[int | Conflict]:
        delay = FIRST_DELAY
        while True:
            tries -= 1
            group.check()
            began = perf_counter()
            try:
                results = await self._call(self._store.commit(group))
            except StoreUnavailable as error:
                self.failures += 1
                if tries <= 0 and not group.is_sealed:
                    raise GroupFailed from error
                self._failed(error)
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_DELAY)
            else:
                self.commits += 1
                self.commit_time += perf_counter() - began
                return results

    async def _call(self, call: Awaitable[T]) -> T:
        """Wait for a call of the store, and record that it is pending."""
        self._pending_since = perf_counter()
        try:
            result = await call
        finally:
            self._pending_since = None
        if self.unavailable:
            log.warning("the store answers again")
            self._must_retry = True
        self.unavailable = False
        return result

    def _failed(self, error: StoreError) -> None:
        if not self.unavailable:
            log.warning("the store does not answer (%s); the writer retries until it does", error)
        self.unavailable = True

    def _give_up(self) -> None:
        """Fail everything that still waits to be written."""
        error = StoreUnavailable("The runtime has ended; this was not written.")
        taken = dict(self._writing) | {source: source.take_again() for source in self._held()}
        self._writing, self._aside = [*taken.items()], []
        self._large.clear()
        self._lose(error)
        while self._waiting:
            source, _ = self._waiting.popitem()
            if changes := _take(source):
                self._writing = [(source, changes)]
                self._lose(error)

    def _lose(self, error: StoreError) -> None:
        writing, self._writing = self._writing, []
        for source, changes in writing:
            self.lost += len(changes)
            source.lost(error)


def _take(source: Source) -> Sequence[Change]:
    try:
        return source.take()
    except Exception as error:
        log.exception("the runtime failed before a commit")
        source.lost(_fault(error))
        return ()


def _confirm(source: Source, results: Sequence[int | Conflict]) -> None:
    try:
        source.written(results)
    except Exception:
        log.exception("the runtime failed after a commit")


def _fault(error: Exception) -> StoreError:
    return StoreError(f"The runtime failed while it wrote ({type(error).__name__}); this was not written.")
