"""The ledger of a session with a store.

It stages events with the states that they describe, and other changes, in order. The writer commits them; events reach
the board, with their numbers, after the commit.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ..events.board import Board
from ..execution.execution import Execution
from ..storage import patience
from ..storage.change import Change
from ..storage.errors import Conflict, StoreError, StoreUnavailable, StoreUnconfirmed, Unstorable
from ..storage.rows import RequestRow
from ..storage.writer import Writer
from .dispatcher import Dispatcher
from .staged_changes import StagedChange, StagedEvents, StagedFailure, descendants


class StoreLedger:
    """Stages the changes of one session for the writer. See `Ledger`."""

    __slots__ = (
        "_board",
        "_cancel",
        "_disown",
        "_dispatcher",
        "_in_flight",
        "_leaves_results",
        "_made_at",
        "_owner",
        "_queue",
        "_session_id",
        "_withdrawing",
        "_writer",
    )

    durable = True

    def __init__(
        self,
        session_id: str,
        made_at: float,
        board: Board,
        writer: Writer,
        owner: str,
        disown: Callable[[Execution], None],
        cancel: Callable[[Execution], object],
        dispatcher: Dispatcher | None = None,
        *,
        has_model: bool = True,
    ) -> None:
        self._session_id = session_id
        self._made_at = made_at
        self._board = board
        self._writer = writer
        self._owner = owner
        self._disown = disown
        """Called for an execution that must stop here: another process owns it, or the store refused its data."""
        self._cancel = cancel
        """Called for an execution that another process cancelled, before those that wait for the store continue."""
        self._dispatcher = dispatcher
        self._leaves_results = not has_model and dispatcher is None
        """Whether late results wait for another process that has a model, and that no engine wakes."""
        self._queue: list[StagedEvents | StagedChange] = []
        self._in_flight: list[StagedEvents | StagedChange] = []
        """Changes that the writer has taken."""
        self._withdrawing: dict[Execution, None] = {}
        """Calls in flight that are not to be written, if they are not yet."""

    @property
    def idle(self) -> bool:
        return not self._queue and not self._in_flight

    def pin_session(self, created_at: float) -> None:
        self._made_at = created_at

    def append_events(self, events: tuple[bytes, ...], execution: Execution) -> None:
        if self._stage(events, execution):
            self._writer.add(self)

    def append_beginning(self, events: tuple[bytes, ...], execution: Execution) -> None:
        if self._stage(events, execution):
            self._writer.add_soon(self)

    def _stage(self, events: tuple[bytes, ...], execution: Execution) -> bool:
        """Stage events with the state of their execution. False if it has ended elsewhere."""
        ended = execution.ended is not None
        if ended and (execution.lost or execution.unloaded):  # later reports of its handler are discarded
            return False
        staged = self._staged_events()
        staged.executions[execution] = None
        if not execution.stored:
            execution.mark_stored()
            staged.new.add(execution)
        staged.events += [(execution, line) for line in events]
        if ended and execution.request is not None and execution.request.status == "open":
            withdrawn = replace(execution.request, status="withdrawn")
            execution.set_request(withdrawn)
            staged.withdrawn.append(withdrawn)
        return True

    def add_late_result(self, execution: Execution) -> None:
        self._staged_events().late_results.append(execution)
        self._writer.add(self)

    def use_answer(self, request: RequestRow) -> None:
        self._staged_events().used.append(request)

    def write(self, change: Change, *, lasting: bool = False) -> "asyncio.Future[int]":
        loop = asyncio.get_running_loop()
        if self._queue and isinstance(last := self._queue[-1], StagedEvents):
            last.freeze(self._owner)
        staged = StagedChange(change, loop.create_future(), is_lasting=lasting)
        self._queue.append(staged)
        self._writer.add(self)
        if (caller := patience.writer()) is not None:
            staged.caller = caller
            staged.expiry = loop.call_later(caller.left, self._expire, staged)
        return staged.future

    async def settle(self) -> None:
        if self.idle:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._queue:
            self._writer.add(self)
        (self._queue or self._in_flight)[-1].waiters.append(future)
        caller = patience.writer()
        await (future if caller is None else patience.limited(caller, future))

    # Callers whose patience has ended

    def withdraw(self, execution: Execution) -> StoreUnavailable:
        if any(each.begins(execution) for each in self._queue):
            self._withdraw_tree(execution, self._queue)
            return _withdrawn()
        if any(each.begins(execution) for each in self._in_flight):
            self._withdrawing[execution] = None
            if self._writer.withdraw(self):
                self._disown(execution)
                return _withdrawn()
        return StoreUnconfirmed("The store did not confirm in time whether the call is stored.")

    def _withdraw_tree(self, execution: Execution, *lists: "list[StagedEvents | StagedChange]") -> None:
        """Stop a call, and write nothing of it or of the calls below it."""
        self._disown(execution)
        gone = dict.fromkeys(descendants(execution))
        for items in lists:
            for each in tuple(items):
                if isinstance(each, StagedEvents):
                    each.remove(gone)
                    if each.is_empty:
                        self._drop(items, each)
                elif any(each.begins(execution) for execution in gone):
                    each.end(_withdrawn())
                    self._drop(items, each)

    def _expire(self, staged: StagedChange) -> None:
        """Withdraw a change whose caller's patience has ended."""
        if staged in self._queue:
            self._drop(self._queue, staged)
            staged.end(_withdrawn())
        elif staged in self._in_flight:
            staged.is_withdrawn = True
            if self._writer.withdraw(self):
                staged.end(_withdrawn())
            elif not staged.is_lasting:
                staged.end(StoreUnconfirmed("The store did not confirm in time whether this is stored."))

    def _drop(self, items: "list[StagedEvents | StagedChange]", dropped: "StagedEvents | StagedChange") -> None:
        """Remove a change that is not to be written. Its waiters wait for the change before it."""
        position = items.index(dropped)
        before = [*(self._in_flight if items is self._queue else ()), *items[:position]]
        del items[position]
        if before:
            before[-1].waiters += dropped.waiters
        else:
            _resolve(dropped.waiters)

    def _staged_events(self) -> StagedEvents:
        if self._queue and isinstance(last := self._queue[-1], StagedEvents) and not last.frozen:
            return last
        staged = StagedEvents()
        self._queue.append(staged)
        return staged

    # The source of the writer

    def take(self) -> Sequence[Change]:
        """Take changes up to the first staged events: if those are refused, nothing after them may be written yet."""
        first = next((n for n, each in enumerate(self._queue) if isinstance(each, StagedEvents)), len(self._queue))
        end = first + 1
        while end < len(self._queue) and _is_split(self._queue[end - 1]) and _is_split(self._queue[end]):
            end += 1
        self._in_flight, self._queue = self._queue[:end], self._queue[end:]
        return self._changes()

    def take_again(self) -> Sequence[Change]:
        """Return the changes in flight, of which none is written, without those that were withdrawn."""
        for staged in [each for each in self._in_flight if isinstance(each, StagedChange) and each.is_withdrawn]:
            self._drop(self._in_flight, staged)
            staged.end(_withdrawn())
        withdrawing, self._withdrawing = self._withdrawing, {}
        for execution in withdrawing:
            self._withdraw_tree(execution, self._in_flight, self._queue)
        return self._changes()

    def _changes(self) -> Sequence[Change]:
        changes = [
            each.change if isinstance(each, StagedChange) else each.to_change(self._session_id, self._owner)
            for each in self._in_flight
        ]
        for change in changes:
            if change.session is None:  # otherwise it may create the session
                change.made_at = self._made_at
            change.results_left = self._leaves_results and bool(change.late)
        return changes

    def written(self, results: Sequence[int | Conflict]) -> None:
        written, self._in_flight = self._in_flight, []
        self._withdrawing.clear()
        again: list[StagedEvents | StagedChange] = []
        for each, result in zip(written, results, strict=True):
            if isinstance(each, StagedChange):
                if not isinstance(result, Conflict):
                    self._board.receive(result, each.change.events)
                    if each.change.late and self._dispatcher is not None:
                        self._dispatcher.wake(self._session_id)
                each.end(result)
            elif not isinstance(result, Conflict):
                each.mark_settled(self._owner)
                self._board.receive(result, [line for _, line in each.events])
                for execution in each.cancelled():
                    self._cancel(execution)
                if self._dispatcher is not None:
                    self._dispatch(self._dispatcher, each)
            elif len(parts := each.split(by_tree=not isinstance(result, Unstorable))) > 1:
                again += parts  # another process owns one of these, or the store refuses its data: write each alone
                continue
            elif isinstance(result, Unstorable) and each.executions:
                again.append(self._fail(each))
                continue
            elif each.withdrawn:  # or a request was answered in the same moment
                each.withdrawn = []
                again.append(each)
                continue
            else:
                self.disown(each.executions)
            _resolve(each.waiters)
        self._queue[:0] = again
        if self._queue:
            self._writer.add(self)

    def _dispatch(self, dispatcher: Dispatcher, written: StagedEvents) -> None:
        """Submit the executions that were handed over, and have a gateway deliver late results."""
        for execution in written.executions:
            if execution.handed_over:
                execution.mark_sent()
                dispatcher.submit(execution)
        if written.late_results:
            dispatcher.wake(self._session_id)

    def disown(self, executions: Iterable[Execution]) -> None:
        gone = {each: None for execution in executions for each in descendants(execution)}
        for execution in gone:
            self._disown(execution)
        for each in self._queue:
            if isinstance(each, StagedEvents):
                each.remove(gone)

    def _fail(self, refused: StagedEvents) -> StagedFailure:
        """Stop an execution whose data the store refused, and return its failure, which is stored instead."""
        (execution,) = refused.executions
        if execution.ended is None and execution.delivers_late:
            execution.scope.add_late_result(execution)
        self._disown(execution)  # its callers read the outcome from the store
        for each in self._queue:
            if isinstance(each, StagedEvents):
                each.move(execution, refused)
        failure = StagedFailure(refused.to_failure(self._session_id, self._owner), execution)
        failure.waiters = refused.waiters
        return failure

    def lost(self, error: StoreError) -> None:
        lost, self._in_flight = self._in_flight, []
        self._withdrawing.clear()
        for each in lost:
            if isinstance(each, StagedChange):
                each.end(error)
            _resolve(each.waiters, error)
        if self._queue:
            self._writer.add(self)


def _resolve(waiters: "list[asyncio.Future[None]]", error: StoreError | None = None) -> None:
    for future in waiters:
        if not future.done():
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)


def _withdrawn() -> StoreUnavailable:
    return StoreUnavailable("The store did not answer in time. This was withdrawn, and is not written.")


def _is_split(each: StagedEvents | StagedChange) -> bool:
    return isinstance(each, StagedEvents) and each.is_split
