"""Late results: they wait until they are taken, once and in order, by any process."""

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial

from ..execution.index import ExecutionIndex
from ..execution.outcome import Outcome
from ..execution.storing import outcome_of
from ..storage import patience
from ..storage.change import Change
from ..storage.errors import Conflict, StoreUnconfirmed
from ..storage.rows import SessionRow
from ..storage.store import Store
from .ledger import Ledger

log = logging.getLogger("callboard.sessions")

PAGE = 100
"""Number of results that are read from the store at once, with the arguments of their calls."""


class LateResults:
    """Late results of one session. The store has all of them, this process those that it has seen."""

    __slots__ = (
        *("_awaited", "_index", "_known", "_ledger", "_remote", "_returning", "_session_id", "_store", "_warned"),
    )

    def __init__(self, session_id: str, index: ExecutionIndex, ledger: Ledger, store: Store) -> None:
        self._session_id = session_id
        self._index = index
        self._ledger = ledger
        self._store = store
        self._known: dict[str, None] = {}
        self._remote: tuple[str, ...] = ()
        """Executions of other processes, and those that waited for a person, at the last poll."""
        self._awaited: set[str] = set()
        """Executions on workers whose callers wait here: their results are not late."""
        self._returning = 0
        """Number of changes that took results for callers that left, until the results wait again."""
        self._warned = False
        if not ledger.durable:
            index.waiting, index.dropped = self, self.drop

    def __contains__(self, execution_id: str) -> bool:
        """Return whether a result waits, as far as this process knows."""
        return execution_id in self._known

    def __len__(self) -> int:
        """Return how many results wait, as far as this process knows."""
        return len(self._known)

    @property
    def expected(self) -> bool:
        """Whether other processes may add results, as of the last poll."""
        return any(not self._index.holds(each) for each in self._remote)

    def add(self, execution_id: str) -> None:
        """Add a late result."""
        self._known[execution_id] = None
        if len(self._known) > self._index.retain and not self._ledger.durable:  # memory holds a limited number
            self.drop(next(iter(self._known)))

    def drop(self, execution_id: str) -> None:
        """Drop a late result that was not taken: memory has no room for it."""
        self._known.pop(execution_id, None)
        if not self._warned:
            self._warned = True
            log.warning(
                "late results of session %s that were not taken are dropped; keep_executions and max_session_bytes say "
                "how many are kept",
                self._session_id,
            )

    def forget(self, ids: tuple[str, ...]) -> None:
        """Forget results that were taken."""
        for execution_id in ids:
            self._known.pop(execution_id, None)
        if self._remote:
            taken = set(ids)
            self._remote = tuple(each for each in self._remote if each not in taken)

    async def waiting(self) -> tuple[str, ...]:
        """Return the executions whose results wait, oldest first. Results that another process took are forgotten."""
        known = tuple(self._known)
        if not self._ledger.durable:
            return known
        await self._ledger.settle()
        while self._returning:
            await asyncio.sleep(0)
            await self._ledger.settle()
        row = await self._store.session(self._session_id)
        unconsumed = dict.fromkeys(() if row is None else row.unconsumed)
        if taken := tuple(each for each in known if each not in unconsumed):
            self.forget(taken)
        return tuple(each for each in unconsumed if each not in self._awaited)

    @contextmanager
    def awaiting(self, execution_id: str) -> Generator[None]:
        """Leave the result of an execution to a caller that waits for it here."""
        self._awaited.add(execution_id)
        try:
            yield
        finally:
            self._awaited.discard(execution_id)

    async def outcomes(self, ids: tuple[str, ...]) -> list[Outcome]:
        """Return the outcomes of executions: from memory if their ends are stored, otherwise from the store."""
        durable = self._ledger.durable
        known = {each: self._index.by_id[each] for each in ids if self._index.holds(each)}
        found = {
            each: execution.outcome()
            for each, execution in known.items()
            if not durable or (execution.settled and not execution.unloaded)
        }
        missing = [each for each in ids if each not in found] if durable else []
        for start in range(0, len(missing), PAGE):
            rows = await self._store.executions(self._session_id, ids=missing[start : start + PAGE], limit=PAGE)
            found.update((row.id, outcome_of(row)) for row in rows)
        return [found[each] for each in ids if each in found]

    async def take(self) -> list[Outcome]:
        """Take all results that wait, oldest first. See `Session.take_results`."""
        if not self._ledger.durable:
            taken, self._known = tuple(self._known), {}
            return await self.outcomes(taken)
        while True:
            known = tuple(self._known)
            if self._remote:
                await self._poll_remote()
            unconsumed = await self.waiting()
            outcomes = await self.outcomes(unconsumed)
            if unconsumed and not await self._take(unconsumed):
                continue
            self.forget((*known, *unconsumed))  # known ones that no longer wait were taken elsewhere
            return outcomes

    async def _take(self, ids: tuple[str, ...]) -> bool:
        """Take results. False if one was taken in the same moment."""
        try:
            await self.deliver(Change(self._session_id, consumed=ids))
        except Conflict:
            return False
        return True

    async def deliver(self, change: Change) -> None:
        """Write a change that takes results for a caller. If the caller leaves meanwhile, they wait again.

        Raises `Conflict` if one was taken in the same moment.
        """
        taking = self._ledger.write(change, lasting=True)
        try:
            await patience.confirmed(taking)
        except (asyncio.CancelledError, StoreUnconfirmed):
            # Without a further wait: a cancel scope of AnyIO cancels every wait of a caller that leaves.
            self._returning += 1
            taking.add_done_callback(partial(self._give_back, tuple(change.consumed)))
            raise

    def _give_back(self, ids: tuple[str, ...], taken: "asyncio.Future[int]") -> None:
        """Let results wait again, if they were taken."""
        if taken.exception() is not None:
            self._returning -= 1
            return
        self._known.update(dict.fromkeys(ids))
        self._ledger.write(Change(self._session_id, late=ids)).add_done_callback(self._given_back)

    def _given_back(self, written: "asyncio.Future[int]") -> None:
        self._returning -= 1
        written.exception()  # if there is one, the session or the runtime has ended

    async def consume(self, ids: tuple[str, ...]) -> None:
        """Take these results, as far as they wait still."""
        while found := tuple(each for each in await self.waiting() if each in ids):
            if not self._ledger.durable or await self._take(found):
                break
        self.forget(ids)

    async def restore(self, row: SessionRow | None) -> None:
        """Read the state of a session that comes into memory; without a row, the row too."""
        if not self._ledger.durable:
            return
        row = row or await self._store.session(self._session_id)
        self._known.update(dict.fromkeys(() if row is None else row.unconsumed))
        await self._poll_remote()

    async def _poll_remote(self) -> None:
        rows = await self._store.executions(self._session_id, unfinished=True)
        self._remote = tuple(row.id for row in rows if not self._index.holds(row.id))
