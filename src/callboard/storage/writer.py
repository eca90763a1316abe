"""The writer: one task per process that groups what many sessions have to write into few transactions.

Sessions hand in their ledgers; while one group is being committed, the next one gathers. So a commit costs the same
however many wait for it. A store that does not answer is asked again until it does; nobody is told that something is
stored before it is. A source may withdraw a change from the group that is being written, as long as the store has not
begun to commit it: the group is then formed anew without it.

While there is nothing to write, the store is probed, so that it is known soon when it is away or has no room.
"""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Protocol, TypeVar

from .change import Change
from .change_group import ChangeGroup, GroupWithdrawn
from .committer import Committer
from .errors import Conflict, StoreError, StoreUnavailable

log = logging.getLogger("callboard.store")

T = TypeVar("T")

FIRST_DELAY, LONGEST_DELAY = 0.05, 1.0
"""Seconds between two attempts to write to a store that does not answer."""
GROUP = 2_000
"""How many ledgers are written at once, at most."""
PROBE = 1.5
"""Seconds without anything to write after which the store is probed."""
LATE = 2.5
"""Seconds after which a store that has not answered counts as unavailable."""


class Source(Protocol):
    """Something that has changes to be written."""

    def take(self) -> Sequence[Change]:
        """What is to be written now, in order. It is not handed out again."""
        ...

    def take_again(self) -> Sequence[Change]:
        """What was taken last and was not written, without what was withdrawn since."""
        ...

    def written(self, results: Sequence[int | Conflict]) -> None:
        """What became of the changes that were taken last."""
        ...

    def lost(self, error: StoreError) -> None:
        """They were not written, and will not be."""
        ...


class Writer:
    """Writes, between `open` and `close`."""

    def __init__(self, store: Committer) -> None:
        self._store = store
        self._waiting: dict[Source, None] = {}
        self._taken: list[tuple[Source, Sequence[Change]]] = []
        """What is being written."""
        self._group = ChangeGroup(())
        """The same, as the store was given it."""
        self._asked: float | None = None
        """When the store was asked for what it has not answered yet."""
        self._more = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self.unavailable = False
        """Whether the store refused what it was last asked."""
        self.written = self.refused = self.lost = 0
        """Changes that were written, that did not fit what is stored, and that were given up."""
        self.failures = 0
        """Attempts to write a group that failed."""
        self.commits = 0
        self.commit_time = 0.0
        """Groups that were written, and the seconds that it took."""

    @property
    def available(self) -> bool:
        """Whether the store took what it was last asked to write, and does not keep the next write waiting."""
        return not self.unavailable and (self._asked is None or perf_counter() - self._asked < LATE)

    def withdraw(self) -> bool:
        """Form the group that is being written anew, since something of it was withdrawn.

        False where it is too late: the group may be committed. If it turns out that it was not, it is formed anew.
        """
        return self._group.withdraw()

    def open(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="callboard: writer")

    async def close(self, patience: float = 10.0) -> None:
        """Write what is left, for at most so many seconds. Whoever still waits then is told that it was not written."""
        self._closing = True
        self._more.set()
        if self._task is None:
            return
        done, _ = await asyncio.wait([self._task], timeout=patience)
        if not done:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._group.withdraw()
            log.error("the store did not answer; what was not written yet is lost")
        self._give_up()

    def add(self, source: Source) -> None:
        """Have a source written with the next group."""
        self._waiting[source] = None
        self._more.set()
        if self._closing and self._task is not None and self._task.done():
            asyncio.get_running_loop().call_soon(self._give_up)

    async def _run(self) -> None:
        while self._waiting or not self._closing:
            if not await self._has_more():
                await self._probe()
                continue
            sources = list(self._waiting)[:GROUP]
            for source in sources:
                del self._waiting[source]
            if not self._waiting and not self._closing:
                self._more.clear()
            if sources:
                await self._write(sources)

    async def _has_more(self) -> bool:
        """Whether there is something to write, or it is time to close. False when the store is to be probed."""
        if not self._more.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(PROBE):
                    await self._more.wait()
        return self._more.is_set()

    async def _probe(self) -> None:
        try:
            await self._ask(self._store.probe())
        except StoreError as error:
            self._failed(error)
        except Exception:
            log.exception("the runtime failed while it probed the store")

    async def _write(self, sources: list[Source]) -> None:
        self._taken = [(source, changes) for source in sources if (changes := _taken(source))]
        while self._taken:
            self._group = ChangeGroup(change for _, changes in self._taken for change in changes)
            try:
                results = await self._commit(self._group)
            except GroupWithdrawn:
                self._form_anew()
            except Exception as error:
                self.failures += 1
                log.error("a group of %d changes could not be written: %s", len(self._group), error)
                self._lose(error if isinstance(error, StoreError) else _fault(error))
            else:
                self._tell(results)

    def _form_anew(self) -> None:
        """Leave out what was withdrawn."""
        taken, self._taken = self._taken, []
        for source, _ in taken:
            if changes := source.take_again():
                self._taken.append((source, changes))
            else:
                _told(source, ())

    def _tell(self, results: Sequence[int | Conflict]) -> None:
        refused = sum(isinstance(result, Conflict) for result in results)
        self.refused += refused
        self.written += len(results) - refused
        taken, self._taken = self._taken, []
        start = 0
        for source, changes in taken:
            _told(source, results[start : start + len(changes)])
            start += len(changes)

    async def _commit(self, group: ChangeGroup) -> list[int | Conflict]:
        delay = FIRST_DELAY
        while True:
            group.check()
            began = perf_counter()
            try:
                results = await self._ask(self._store.commit(group))
            except StoreUnavailable as error:
                self.failures += 1
                self._failed(error)
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_DELAY)
            else:
                self.commits += 1
                self.commit_time += perf_counter() - began
                return results

    async def _ask(self, question: Awaitable[T]) -> T:
        """Wait for the store's answer, and know how long it takes."""
        self._asked = perf_counter()
        try:
            answer = await question
        finally:
            self._asked = None
        if self.unavailable:
            log.warning("the store answers again")
        self.unavailable = False
        return answer

    def _failed(self, error: StoreError) -> None:
        if not self.unavailable:
            log.warning("the store does not answer (%s); it is asked again until it does", error)
        self.unavailable = True

    def _give_up(self) -> None:
        """Nothing is written any more: let nobody wait for it."""
        error = StoreUnavailable("The runtime has ended; this was not written.")
        self._lose(error)
        while self._waiting:
            source, _ = self._waiting.popitem()
            if changes := _taken(source):
                self._taken = [(source, changes)]
                self._lose(error)

    def _lose(self, error: StoreError) -> None:
        taken, self._taken = self._taken, []
        for source, changes in taken:
            self.lost += len(changes)
            source.lost(error)


def _taken(source: Source) -> Sequence[Change]:
    try:
        return source.take()
    except Exception as error:
        log.exception("the runtime failed before a commit")
        source.lost(_fault(error))
        return ()


def _told(source: Source, results: Sequence[int | Conflict]) -> None:
    try:
        source.written(results)
    except Exception:
        log.exception("the runtime failed after a commit")


def _fault(error: Exception) -> StoreError:
    return StoreError(f"The runtime failed while it wrote ({type(error).__name__}); this was not written.")
