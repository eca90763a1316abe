"""What a session has to write, on its way to the board.

A session in memory writes straight to its board. One with a store hands its events, together with the state that they
tell of, to the writer; they reach the board with their numbers after the commit, and not before.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from ..events.board import Board
from ..execution.execution import Execution
from ..execution.storing import row_of
from ..storage.port import Change, Conflict, ExecutionWrite, RequestWrite, Store, StoreError
from ..storage.rows import RequestRow
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
        """An execution has ended whose result nobody waits for. It is told in the same breath."""
        ...

    def use(self, request: RequestRow) -> None:
        """An answer is used by what is told next."""
        ...

    async def write(self, change: Change) -> int:
        """Write something else. Returns the board's last number. Raises `Conflict`, and then nothing was written."""
        ...

    async def settle(self) -> None:
        """Return when everything that was told so far is written. Raises `StoreError` where it will not be."""
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

    async def write(self, change: Change) -> int:
        events, change.events, change.executions = change.events, (), ()  # which live in memory anyway
        self._now(change)
        return self._board.extend(events)

    async def settle(self) -> None:
        return

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

    __slots__ = ("events", "executions", "late", "new", "requests", "waiters")

    def __init__(self) -> None:
        self.new: set[Execution] = set()
        """Those that the store does not know yet."""
        self.events: list[tuple[Execution, bytes]] = []
        self.executions: dict[Execution, None] = {}
        self.late: list[Execution] = []
        self.requests: list[RequestRow] = []
        self.waiters: list[asyncio.Future[None]] = []

    def change(self, session_id: str, owner: str) -> Change:
        """The state of the executions as it is now, which is what the last of the events say."""
        return Change(
            session_id,
            executions=[ExecutionWrite(row_of(each, owner), owner, new=each in self.new) for each in self.executions],
            requests=[RequestWrite(each, "answered") for each in self.requests],
            late=[each.id for each in self.late],
            events=[line for _, line in self.events],
        )

    def parts(self) -> "list[_Told]":
        """The same, one execution at a time."""
        parts: list[_Told] = []
        for execution in self.executions:
            part = _Told()
            part.executions[execution] = None
            part.new = {execution} & self.new
            part.events = [(each, line) for each, line in self.events if each is execution]
            part.late = [each for each in self.late if each is execution]
            part.requests = [each for each in self.requests if each.execution_id == execution.id]
            parts.append(part)
        parts[-1].waiters = self.waiters
        return parts


class _Asked:
    """Another change, and who waits for it."""

    __slots__ = ("change", "future", "waiters")

    def __init__(self, change: Change, future: "asyncio.Future[int]") -> None:
        self.change = change
        self.future = future
        self.waiters: list[asyncio.Future[None]] = []


class StoreLedger:
    """For a session with a store."""

    __slots__ = ("_board", "_disown", "_owner", "_queue", "_session_id", "_taken", "_writer")

    durable = True

    def __init__(
        self, session_id: str, board: Board, writer: Writer, owner: str, disown: Callable[[Execution], None]
    ) -> None:
        self._session_id = session_id
        self._board = board
        self._writer = writer
        self._owner = owner
        self._disown = disown
        """Called for an execution that the store did not take: it is another process's by now."""
        self._queue: list[_Told | _Asked] = []
        self._taken: list[_Told | _Asked] = []

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way."""
        return not self._queue and not self._taken

    def tell(self, events: tuple[bytes, ...], execution: Execution) -> None:
        told = self._told()
        told.executions[execution] = None
        if not execution.stored:
            execution.stored = True
            told.new.add(execution)
        told.events += [(execution, line) for line in events]
        self._writer.add(self)

    def late(self, execution: Execution) -> None:
        self._told().late.append(execution)

    def use(self, request: RequestRow) -> None:
        self._told().requests.append(request)

    async def write(self, change: Change) -> int:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._queue.append(_Asked(change, future))
        self._writer.add(self)
        return await future

    async def settle(self) -> None:
        if self.idle:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._queue or self._taken)[-1].waiters.append(future)
        await future

    def _told(self) -> _Told:
        if self._queue and isinstance(told := self._queue[-1], _Told):
            return told
        told = _Told()
        self._queue.append(told)
        return told

    # For the writer

    def take(self) -> Sequence[Change]:
        self._taken, self._queue = self._queue, []
        return [
            each.change if isinstance(each, _Asked) else each.change(self._session_id, self._owner)
            for each in self._taken
        ]

    def written(self, results: Sequence[int | Conflict]) -> None:
        taken, self._taken = self._taken, []
        again: list[_Told | _Asked] = []
        for each, result in zip(taken, results, strict=True):
            if isinstance(each, _Told) and isinstance(result, Conflict) and len(each.executions) > 1:
                again += each.parts()  # one of them is not ours any more: which one?
                continue
            if isinstance(each, _Asked):
                self._answer(each, result)
            elif isinstance(result, Conflict):
                for execution in each.executions:
                    self._disown(execution)
            else:
                self._board.receive(result, [line for _, line in each.events])
            _resolve(each.waiters)
        self._queue[:0] = again
        if self._queue:
            self._writer.add(self)

    def lost(self, error: StoreError) -> None:
        taken, self._taken = self._taken, []
        for each in taken:
            if isinstance(each, _Asked) and not each.future.done():
                each.future.set_exception(error)
            _resolve(each.waiters, error)

    def _answer(self, asked: _Asked, result: int | Conflict) -> None:
        if not isinstance(result, Conflict):
            self._board.receive(result, asked.change.events)
        if asked.future.done():
            return
        if isinstance(result, Conflict):
            asked.future.set_exception(result)
        else:
            asked.future.set_result(result)


def _resolve(waiters: "list[asyncio.Future[None]]", error: StoreError | None = None) -> None:
    for future in waiters:
        if not future.done():
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
