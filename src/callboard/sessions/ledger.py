"""What a session has to write, on its way to the board.

A session in memory writes straight to its board. One with a store hands its events, together with the state that they
tell of, to the writer; they reach the board with their numbers after the commit, and not before.
"""

import asyncio
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from ..events.board import Board
from ..execution.execution import Execution
from ..execution.storing import row_of
from ..storage import patience
from ..storage.port import (
    Change,
    Conflict,
    ExecutionWrite,
    RequestWrite,
    Store,
    StoreError,
    StoreUnavailable,
    StoreUnconfirmed,
)
from ..storage.rows import ExecutionRow, RequestRow
from ..storage.writer import Writer


class Ledger(Protocol):
    """Writes for one session."""

    @property
    def durable(self) -> bool:
        """Whether writing takes a while, and can be waited for."""
        ...

    def tell(self, events: tuple[bytes, ...], execution: Execution, /) -> object:
        """Put events of an execution on the board, with the state that it is in now."""
        ...

    def late(self, execution: Execution) -> None:
        """An execution has ended whose result nobody waits for. Its end is told in the same breath, or was before."""
        ...

    def use(self, request: RequestRow) -> None:
        """An answer is used by what is told next."""
        ...

    def write(self, change: Change, *, lasting: bool = False) -> "asyncio.Future[int]":
        """Write something else, after all that was told so far. Gives the board's last number, once it is written.

        Raises `Conflict`, and then nothing was written; and `StoreUnavailable` where the caller's patience ends: then
        it is withdrawn, unless it is `StoreUnconfirmed`. With `lasting` it ends only when the outcome is known, and the
        caller waits for it with `patience.confirmed`.
        """
        ...

    async def settle(self) -> None:
        """Return when everything that was told so far is written. Raises `StoreError` where it will not be.

        A caller whose patience ends gets `StoreUnavailable`; what was told is written all the same.
        """
        ...

    def withdraw(self, execution: Execution) -> StoreUnavailable:
        """Take back a call that its caller does not wait for any more, if nothing of it is stored.

        Returns the error for the caller: `StoreUnavailable` where it is certainly taken back, else `StoreUnconfirmed`.
        """
        ...


class DirectLedger:
    """For a session in memory: events go to the board at once, requests and the rest to a store in memory."""

    __slots__ = ("_board", "_session_id", "_store", "tell")

    durable = False

    def __init__(self, session_id: str, board: Board, store: Store) -> None:
        self._session_id = session_id
        self._board = board
        self._store = store
        self.tell = board.extend
        """Bound once: it is on the path of every call."""

    def late(self, execution: Execution) -> None:
        """The session knows, and nobody else has to."""

    def use(self, request: RequestRow) -> None:
        self._now(Change(self._session_id, requests=(RequestWrite(request, "answered"),)))

    def write(self, change: Change, *, lasting: bool = False) -> "asyncio.Future[int]":
        events, change.events = change.events, ()
        change.executions = change.taken = ()  # which live in memory anyway
        if change.idempotency is not None and change.idempotency.seq is None:  # the board counts, and not the store
            change.idempotency = replace(change.idempotency, seq=self._board.last_seq + bool(events))
        written: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        try:
            self._now(change)
        except Conflict as conflict:
            written.set_exception(conflict)
        else:
            written.set_result(self._board.append(*events))
        return written

    async def settle(self) -> None:
        return

    def withdraw(self, execution: Execution) -> StoreUnavailable:
        raise TypeError("a store in memory is always there")

    def _now(self, change: Change) -> None:
        """A store in memory never waits, so its commit is carried out in one step."""
        commit = self._store.commit([change])
        try:
            commit.send(None)
        except StopIteration as done:
            result = done.value[0]
            if isinstance(result, Conflict):
                raise result from None
        else:
            commit.close()
            raise TypeError("a store in memory must not wait")


class _Told:
    """What was told of executions, and is written as one change."""

    __slots__ = ("_rows", "apart", "events", "executions", "late", "new", "requests", "waiters", "withdrawn")

    def __init__(self) -> None:
        self.new: set[Execution] = set()
        """Those that the store does not know yet."""
        self.events: list[tuple[Execution, bytes]] = []
        self.executions: dict[Execution, None] = {}
        self.late: list[Execution] = []
        self.requests: list[RequestRow] = []
        """Those whose answers are used."""
        self.withdrawn: list[RequestRow] = []
        """Those that nobody has to answer any more, if nobody has."""
        self.waiters: list[asyncio.Future[None]] = []
        self.apart = False
        """Whether it speaks of one family only, because more could not be written together."""
        self._rows: dict[Execution, ExecutionRow] | None = None

    @property
    def frozen(self) -> bool:
        """Whether nothing can be added any more."""
        return self._rows is not None

    def freeze(self, owner: str) -> dict[Execution, ExecutionRow]:
        """The state that the last of the events speak of, whatever is told later."""
        if self._rows is None:
            self._rows = {each: row_of(each, owner) for each in self.executions}
        return self._rows

    def settle(self, owner: str) -> None:
        """It is written: so is the end of those that it says have ended."""
        rows = self.freeze(owner)
        for execution in self.executions:
            if not execution.settled and rows[execution].completed_at is not None:
                execution.mark_settled()
                execution.scope.index.weigh(execution)

    def change(self, session_id: str, owner: str) -> Change:
        rows = self.freeze(owner)
        return Change(
            session_id,
            executions=[ExecutionWrite(rows[each], owner, new=each in self.new) for each in self.executions],
            requests=[
                *(RequestWrite(each, "answered") for each in self.requests),
                *(RequestWrite(each, "open") for each in self.withdrawn),
            ],
            late=[each.id for each in self.late],
            events=[line for _, line in self.events],
        )

    def families(self) -> "list[_Told]":
        """The same, one execution with all that it called at a time: they are one process's, or not, together."""
        members: dict[Execution, dict[str, None]] = {}
        for execution in (*self.executions, *self.late):
            members.setdefault(_eldest(execution, self.executions), {})[execution.id] = None
        families = [self._only(ids) for ids in members.values()]
        if families:
            families[-1].waiters = self.waiters
        return families

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing left to write."""
        return not (self.executions or self.late or self.events or self.requests or self.withdrawn)

    def _only(self, ids: Container[str]) -> "_Told":
        part = _Told()
        part.apart = True
        part.executions = {each: None for each in self.executions if each.id in ids}
        part.new = {each for each in self.new if each.id in ids}
        part.events = [(each, line) for each, line in self.events if each.id in ids]
        part.late = [each for each in self.late if each.id in ids]
        part.requests = [each for each in self.requests if each.execution_id in ids]
        part.withdrawn = [each for each in self.withdrawn if each.execution_id in ids]
        part._rows = self._rows
        return part

    def leave_out(self, gone: Container[Execution]) -> None:
        """Tell nothing of these, nor of what they called."""
        spoken_of = (*self.executions, *self.late)
        if any(_is_of(each, gone) for each in spoken_of):
            kept = self._only({each.id for each in spoken_of if not _is_of(each, gone)})
            self.executions, self.new, self.events, self.late = kept.executions, kept.new, kept.events, kept.late
            self.requests, self.withdrawn = kept.requests, kept.withdrawn


class _Asked:
    """Another change, and who waits for it."""

    __slots__ = ("caller", "change", "expiry", "future", "is_lasting", "is_withdrawn", "waiters")

    def __init__(self, change: Change, future: "asyncio.Future[int]") -> None:
        self.change = change
        self.future = future
        self.waiters: list[asyncio.Future[None]] = []
        self.caller: patience.Patience | None = None
        self.expiry: asyncio.TimerHandle | None = None
        """Ends the wait of a caller that does not wait as long as it takes."""
        self.is_lasting = False
        """Whether the future ends only when the outcome is known."""
        self.is_withdrawn = False
        """Whether its caller was told that it is not written, or may not be."""

    def begins(self, execution: Execution) -> bool:
        """Whether this stores an execution for the first time."""
        return any(write.new and write.row.id == execution.id for write in self.change.executions)

    def end(self, result: int | Conflict | StoreError) -> None:
        """Tell the caller what became of it, unless it was told before."""
        if self.expiry is not None and self.caller is not None:
            self.caller.left = min(self.caller.left, max(0.0, self.expiry.when() - self.future.get_loop().time()))
            self.expiry.cancel()
        if self.future.done():
            return
        if isinstance(result, int):
            self.future.set_result(result)
        else:
            self.future.set_exception(result)


class StoreLedger:
    """For a session with a store."""

    __slots__ = ("_board", "_disown", "_owner", "_queue", "_session_id", "_taken", "_unwanted", "_writer", "made_at")

    durable = True

    def __init__(
        self,
        session_id: str,
        made_at: float,
        board: Board,
        writer: Writer,
        owner: str,
        disown: Callable[[Execution], None],
    ) -> None:
        self._session_id = session_id
        self.made_at = made_at
        """Nothing is written to another session that has its id by then."""
        self._board = board
        self._writer = writer
        self._owner = owner
        self._disown = disown
        """Called for an execution that the store did not take: it is another process's by now."""
        self._queue: list[_Told | _Asked] = []
        self._taken: list[_Told | _Asked] = []
        self._unwanted: dict[Execution, None] = {}
        """Calls among those taken that are not to be written, if they are not yet."""

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way."""
        return not self._queue and not self._taken

    def tell(self, events: tuple[bytes, ...], execution: Execution) -> None:
        ended = execution.ended is not None
        if ended and (execution.lost or execution.unloaded):  # what its handler still reports is discarded
            return
        told = self._told()
        told.executions[execution] = None
        if not execution.stored:
            execution.mark_stored()
            told.new.add(execution)
        told.events += [(execution, line) for line in events]
        if ended and execution.request is not None and execution.request.status == "open":
            withdrawn = replace(execution.request, status="withdrawn")
            execution.set_request(withdrawn)
            told.withdrawn.append(withdrawn)
        self._writer.add(self)

    def late(self, execution: Execution) -> None:
        self._told().late.append(execution)
        self._writer.add(self)

    def use(self, request: RequestRow) -> None:
        self._told().requests.append(request)

    def write(self, change: Change, *, lasting: bool = False) -> "asyncio.Future[int]":
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if self._queue and isinstance(told := self._queue[-1], _Told):
            told.freeze(self._owner)
        asked = _Asked(change, future)
        asked.is_lasting = lasting
        self._queue.append(asked)
        self._writer.add(self)
        if (caller := patience.writer()) is not None:
            asked.caller = caller
            asked.expiry = asyncio.get_running_loop().call_later(caller.left, self._expire, asked)
        return future

    async def settle(self) -> None:
        if self.idle:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._queue or self._taken)[-1].waiters.append(future)
        caller = patience.writer()
        if caller is not None and not await patience.within(caller, future):
            future.cancel()
            raise StoreUnavailable("The store did not answer in time.")
        await future

    # Callers that do not wait any longer

    def withdraw(self, execution: Execution) -> StoreUnavailable:
        if any(_begins(each, execution) for each in self._queue):
            self._take_back(execution, self._queue)
            return _refused()
        if any(_begins(each, execution) for each in self._taken):
            self._unwanted[execution] = None
            if self._writer.withdraw():
                self._disown(execution)
                return _refused()
        return StoreUnconfirmed("The store did not say in time whether the call is stored.")

    def _take_back(self, execution: Execution, *places: "list[_Told | _Asked]") -> None:
        """Write nothing of a call, nor of what it called, and stop it."""
        self._disown(execution)
        gone = dict.fromkeys(_descendants(execution))
        for items in places:
            for each in tuple(items):
                if isinstance(each, _Told):
                    each.leave_out(gone)
                    if each.is_empty:
                        self._drop(items, each)
                elif any(each.begins(execution) for execution in gone):
                    each.end(_refused())
                    self._drop(items, each)

    def _expire(self, asked: _Asked) -> None:
        """A caller's patience has ended: withdraw what it wanted written."""
        if asked in self._queue:
            self._drop(self._queue, asked)
            asked.end(_refused())
        elif asked in self._taken:
            asked.is_withdrawn = True
            if self._writer.withdraw():
                asked.end(_refused())
            elif not asked.is_lasting:
                asked.end(StoreUnconfirmed("The store did not say in time whether this is stored."))

    def _drop(self, items: "list[_Told | _Asked]", dropped: "_Told | _Asked") -> None:
        """Remove something that is not to be written. Those who wait for it wait for what comes before it."""
        place = items.index(dropped)
        before = [*(self._taken if items is self._queue else ()), *items[:place]]
        del items[place]
        if before:
            before[-1].waiters += dropped.waiters
        else:
            _resolve(dropped.waiters)

    def _told(self) -> _Told:
        if self._queue and isinstance(told := self._queue[-1], _Told) and not told.frozen:
            return told
        told = _Told()
        self._queue.append(told)
        return told

    # For the writer

    def take(self) -> Sequence[Change]:
        """Up to what was told first: if that is refused, nothing that comes after it may have been written."""
        first = next((n for n, each in enumerate(self._queue) if isinstance(each, _Told)), len(self._queue))
        end = first + 1
        while end < len(self._queue) and _apart(self._queue[end - 1]) and _apart(self._queue[end]):
            end += 1
        self._taken, self._queue = self._queue[:end], self._queue[end:]
        return self._changes()

    def take_again(self) -> Sequence[Change]:
        """None of what was taken is written: leave out what callers were told is not."""
        for asked in [each for each in self._taken if isinstance(each, _Asked) and each.is_withdrawn]:
            self._drop(self._taken, asked)
            asked.end(_refused())
        unwanted, self._unwanted = self._unwanted, {}
        for execution in unwanted:
            self._take_back(execution, self._taken, self._queue)
        return self._changes()

    def _changes(self) -> Sequence[Change]:
        changes = [
            each.change if isinstance(each, _Asked) else each.change(self._session_id, self._owner)
            for each in self._taken
        ]
        for change in changes:
            if change.session is None:  # else it may be what makes it
                change.made_at = self.made_at
        return changes

    def written(self, results: Sequence[int | Conflict]) -> None:
        taken, self._taken = self._taken, []
        self._unwanted.clear()
        again: list[_Told | _Asked] = []
        for each, result in zip(taken, results, strict=True):
            if isinstance(each, _Asked):
                self._answer(each, result)
            elif not isinstance(result, Conflict):
                each.settle(self._owner)
                self._board.receive(result, [line for _, line in each.events])
            elif len(families := each.families()) > 1:
                again += families  # one of them is not ours any more: which one?
                continue
            elif each.withdrawn:  # or somebody answered in the same moment
                each.withdrawn = []
                again.append(each)
                continue
            else:
                self._let_go(each.executions)
            _resolve(each.waiters)
        self._queue[:0] = again
        if self._queue:
            self._writer.add(self)

    def _let_go(self, executions: Iterable[Execution]) -> None:
        """The store did not take them: they are another process's by now, and what they called is nobody's."""
        gone = {each: None for execution in executions for each in _descendants(execution)}
        for execution in gone:
            self._disown(execution)
        for told in self._queue:
            if isinstance(told, _Told):
                told.leave_out(gone)

    def lost(self, error: StoreError) -> None:
        taken, self._taken = self._taken, []
        self._unwanted.clear()
        for each in taken:
            if isinstance(each, _Asked):
                each.end(error)
            _resolve(each.waiters, error)
        if self._queue:
            self._writer.add(self)

    def _answer(self, asked: _Asked, result: int | Conflict) -> None:
        if not isinstance(result, Conflict):
            self._board.receive(result, asked.change.events)
        asked.end(result)


def _resolve(waiters: "list[asyncio.Future[None]]", error: StoreError | None = None) -> None:
    for future in waiters:
        if not future.done():
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)


def _begins(each: _Told | _Asked, execution: Execution) -> bool:
    """Whether an execution is stored for the first time by this."""
    return execution in each.new if isinstance(each, _Told) else each.begins(execution)


def _refused() -> StoreUnavailable:
    return StoreUnavailable("The store did not answer in time. This was withdrawn, and is not written.")


def _apart(each: _Told | _Asked) -> bool:
    return isinstance(each, _Told) and each.apart


def _eldest(execution: Execution, known: Container[Execution]) -> Execution:
    """Who, of those known, has called it in the end."""
    while execution.parent is not None and execution.parent in known:
        execution = execution.parent
    return execution


def _descendants(execution: Execution) -> Iterator[Execution]:
    """All that it called, the last first, and itself."""
    for child in execution.children or ():
        yield from _descendants(child)
    yield execution


def _is_of(execution: Execution, family: Container[Execution]) -> bool:
    """Whether it is one of these, or was called by one."""
    return execution in family or (execution.parent is not None and _is_of(execution.parent, family))
