"""Ledgers: everything that a session writes, on its way to the board.

A session in memory writes straight to its board (`DirectLedger`). A session with a store hands its events, with the
states that they describe, to the writer (`StoreLedger`).
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from ..events.board import Board
from ..execution.execution import Execution
from ..storage.change import Change, RequestWrite
from ..storage.committer import Committer
from ..storage.errors import Conflict, StoreUnavailable
from ..storage.rows import RequestRow


class Ledger(Protocol):
    """Writes the changes of one session, in order."""

    @property
    def durable(self) -> bool:
        """Whether changes are stored, which takes a while and can be waited for."""
        ...

    @property
    def idle(self) -> bool:
        """Whether no change is on its way to the store."""
        ...

    def pin_session(self, created_at: float) -> None:
        """Write only to the session that was created at this time, not to a later one with the same id."""
        ...

    def append_events(self, events: tuple[bytes, ...], execution: Execution, /) -> object:
        """Put events of an execution on the board, with the state that it is in now."""
        ...

    def append_beginning(self, events: tuple[bytes, ...], execution: Execution, /) -> object:
        """Do the same with the first events of an attempt, which may wait a moment for the next ones."""
        ...

    def add_late_result(self, execution: Execution) -> None:
        """Mark a late result as waiting. Its terminal event is written in this change or an earlier one."""
        ...

    def use_answer(self, request: RequestRow) -> None:
        """Mark an answer as used, in one change with the next events."""
        ...

    def write(self, change: Change, *, lasting: bool = False) -> "asyncio.Future[int]":
        """Write another change, after all earlier ones. The result is the board's last number, once it is written.

        Raises `Conflict` if nothing was written, and `StoreUnavailable` if the caller's patience ends: the change
        is withdrawn then, unless the error is `StoreUnconfirmed`. With `lasting` the future ends only when the outcome
        is known, and the caller waits for it with `patience.confirmed`.
        """
        ...

    async def settle(self) -> None:
        """Wait until all changes so far are written. Raises `StoreError` if they will not be.

        Raises `StoreUnavailable` if the caller's patience ends; the changes are written all the same.
        """
        ...

    def withdraw(self, execution: Execution) -> StoreUnavailable:
        """Take back a call whose caller stopped waiting, if nothing of it is stored.

        Returns the error for the caller: `StoreUnavailable` if it is certainly taken back, else `StoreUnconfirmed`.
        """
        ...

    def disown(self, executions: Iterable[Execution]) -> None:
        """Stop executions that another process owns, with the calls below them. What is staged of them is discarded."""
        ...


class DirectLedger:
    """Writes events to the board at once, and other changes to a store in memory. See `Ledger`."""

    __slots__ = ("_board", "_session_id", "_store", "append_beginning", "append_events")

    durable = False
    idle = True

    def __init__(self, session_id: str, board: Board, store: Committer) -> None:
        self._session_id = session_id
        self._board = board
        self._store = store
        self.append_events = self.append_beginning = board.extend
        """Bound once: it is on the path of every call."""

    def pin_session(self, created_at: float) -> None:
        """Do nothing: no other process can replace a session in memory."""

    def add_late_result(self, execution: Execution) -> None:
        """Do nothing: `LateResults` knows, and no other process has to."""

    def use_answer(self, request: RequestRow) -> None:
        self._commit(Change(self._session_id, requests=(RequestWrite(request, "answered"),)))

    def write(self, change: Change, *, lasting: bool = False) -> "asyncio.Future[int]":
        events, change.events = change.events, ()
        change.executions = change.consumed = change.turns = change.inputs = change.deliveries = ()  # live in memory
        if change.idempotency is not None and change.idempotency.seq is None:  # the board counts, and not the store
            change.idempotency = replace(change.idempotency, seq=self._board.last_seq + bool(events))
        written: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        try:
            self._commit(change)
        except Conflict as conflict:
            written.set_exception(conflict)
        else:
            written.set_result(self._board.append(*events))
        return written

    async def settle(self) -> None:
        return

    def withdraw(self, execution: Execution) -> StoreUnavailable:
        raise TypeError("a store in memory is always available")

    def disown(self, executions: Iterable[Execution]) -> None:
        raise TypeError("no other process owns an execution in memory")

    def _commit(self, change: Change) -> None:
        """Commit in one step: a store in memory never waits."""
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
