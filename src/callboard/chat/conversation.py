"""The conversation of one session: starts, joins, pauses and stops its turns.

An input starts a turn, or joins the running one. A late result wakes an idle session, joins a running turn, or waits
for the next input, as its tool says. A call that asks a person pauses the turn, and the answer resumes it. An input
that arrives meanwhile gets a reply: the open call is acknowledged, and its result comes late.

`Inbox` stores inputs, `History` has the transcript, `TurnLease` says which process may write it, and `complete` runs
one turn over a `TurnIO`.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace
from typing import Any

from ..errors import ErrorCategory
from ..events.kinds import TURN_STOPS, EventKind
from ..execution.execution import Execution
from ..sessions.conversation_scope import ConversationScope
from ..sessions.posting import post_event
from ..storage.errors import StoreUnavailable
from ..storage.rows import IdempotencyRow, TurnRow
from ..turns import LimitReached, Turn, TurnStatus, Usage, check_session
from ..types import Mode, Wake
from .completion import complete
from .config import ConversationConfig
from .failures import reason_of
from .history import History
from .inbox import Inbox
from .messages import plain_messages_off_loop
from .transcript import Entry
from .turn_io import SessionTurnIO
from .turn_lease import TurnLease, TurnLeaseLost
from .window import Window, newest, read_window

log = logging.getLogger("callboard.chat")

WINDOW = 0.005
"""Seconds that a woken session waits for more results, so that several make one turn."""
RETRY_DELAY = 1.0
"""Seconds before the next attempt after the store did not answer."""


class Conversation:
    """Runs the turns of a session. Created for its first input or when it is first woken."""

    def __init__(
        self,
        scope: ConversationScope,
        config: ConversationConfig,
        spawn: Callable[[Coroutine[Any, Any, Turn | None]], "asyncio.Task[Turn | None]"],
        leaving: Callable[[], bool],
    ) -> None:
        self._scope = scope
        self._session = scope.session
        self._config = config
        self._spawn = spawn
        self._leaving = leaving
        """Whether this process is shutting down: stored turns stay as they are, and another process resumes them."""
        self._history = History(scope)
        self._lease = TurnLease(scope, self._history)
        self._inbox = Inbox(scope, self._input_stored_late)
        self._input_arrived = asyncio.Event()
        """Set while an input waits for its delivery to the model."""
        self._task: asyncio.Task[Turn | None] | None = None
        self._has_news = False
        """Whether something arrived that the running turn has not read."""
        self._late_results: tuple[str, ...] | None = None
        """The late results that waited at the last check, if no turn has read them since."""
        self._stopping = False
        """Whether the turn was asked to stop."""
        self._retrying = False
        """Whether the next turn responds to messages that an earlier turn left without a response."""
        self._is_cancellable = False
        """Whether cancelling the task stops the turn."""
        self._awaits_other_process = False
        """Whether this conversation waits for a turn of another process."""
        self._taken_over = asyncio.Event()
        """Set when this process takes over a turn of another one."""

    @property
    def is_processing(self) -> bool:
        """Whether a turn runs here, or waits here for the store."""
        return self._running is not None or self._lease.held

    @property
    def usage(self) -> Usage | None:
        """The usage of all turns that this process has read; None before the first turn."""
        return replace(self._history.state.usage) if self._history.state.turn_number else None

    @property
    def _running(self) -> "asyncio.Task[Turn | None] | None":
        return self._task if self._task is not None and not self._task.done() else None

    # From outside

    async def say(self, text: str) -> Turn:
        """Post an input. Returns when the turn that it starts or joins has finished or waits for a person."""
        number = await post_event(self._session, {"kind": EventKind.USER_INPUT, "text": text})
        while True:
            turn = await asyncio.shield(self._running or self._start(0.0))
            deleted = turn is None and self._session.deleted
            is_done = self._history.delivered >= number or (turn and turn.status is not TurnStatus.FINISHED)
            if is_done and not deleted:
                return turn or self._history.turn_since(number)
            if self._leaving() or self._session.deleted:
                return Turn("", TurnStatus.INTERRUPTED, "", Usage())

    async def accept_input(
        self, data: Mapping[str, Any], client_id: str | None = None, *, idempotency: IdempotencyRow | None = None
    ) -> int:
        """Store an input. Returns the number of its event: from then on the input reaches the model, even if this
        process dies.

        An input with a client's id is accepted once, in any process: 0 where it was accepted before. Raises
        `AlreadyWritten` or `IdempotencyConflict` where the idempotency key was stored before.
        """
        number = await self._inbox.accept(data, client_id, idempotency)
        await self._start_for_inputs(number)
        return number

    async def accept_inputs(self, texts: Mapping[str, str]) -> int:
        """Store inputs by their client's ids, in one write. Returns the number of the newest event.

        Inputs that were accepted before, in any process, are left out; 0 where all of them were.
        """
        number = await self._inbox.accept_all(texts)
        await self._start_for_inputs(number)
        return number

    async def _start_for_inputs(self, number: int) -> None:
        """Start or join a turn after inputs were accepted; 0: they were accepted before."""
        if number == 0:
            self.wake()  # the process that accepted them may be gone
            return
        if not self._session.durable:  # a board in memory may forget them before the turn reads them
            await self._history.find_inputs()
        self._input_arrived.set()
        self._start(0.0)

    def _input_stored_late(self) -> None:
        self._input_arrived.set()
        self.wake()

    async def accepted_inputs(self, client_ids: Sequence[str]) -> dict[str, bool]:
        """The inputs that were accepted, by their client's ids, each with whether it was delivered to the model."""
        return await self._inbox.accepted(client_ids)

    def wake(self) -> None:
        """Start a turn if anything waits for the model."""
        if not self._leaving() and not self._session.deleted:
            self._start(WINDOW)

    async def idle(self) -> None:
        """Return when no turn runs in this process. Cancelling this does not stop the turn."""
        while (task := self._running) is not None:
            await asyncio.wait([task])

    def handle_late_result(self, execution: Execution) -> None:
        """Start a turn for a late result, if its tool says so, or if a paused turn may wait for it."""
        if execution.tool.mode is Mode.HUMAN or self._session.wakes(execution.name) is Wake.WAKE:
            self.wake()

    def poll_inputs(self) -> None:
        """Look for inputs that another process stored."""
        if self.is_processing:
            self._spawn(self._check_inputs())

    async def resume_turn(self, row: TurnRow) -> None:
        """Resume a turn that a dead process left behind, or end it if it was asked to stop."""
        await self._history.refresh()
        self._lease.adopt(row)
        self._stopping = self._stopping or row.cancelling
        self._taken_over.set()
        self._start(0.0)

    async def retry(self) -> bool:
        """Start a turn for messages that an earlier turn left without a response. False where there are none."""
        await self._history.refresh()
        is_owed = self._history.state.rendering.awaits_response and not self._history.open_calls()
        if is_owed and not self.is_processing:
            self._retrying = True
            self._start(0.0)
        return is_owed

    async def interrupt(self, idempotency: IdempotencyRow | None = None) -> bool:
        """Stop the turn that runs, in any process, or that waits for a person. False where there is none.

        The idempotency key is stored together with the stop, so that a repeat never stops a later turn.
        Raises `AlreadyWritten` or `IdempotencyConflict` where the key was stored before.
        """
        if not self._lease.held:  # another process may run a turn
            await self._session.catch_up()
            after = self._session.board.last_seq
            if (row := await self._lease.running_elsewhere()) is not None:
                await self._lease.store_stop(row.number, idempotency, stopped=True)
                await self._ended_elsewhere(after)
                return True
        if (task := self._running) is not None and not self._awaits_other_process:
            if idempotency is not None:
                number = self._lease.stored_number if self._session.durable else None
                await self._lease.store_stop(number, idempotency, stopped=True)
            if self._task is task:  # else the turn ended meanwhile
                self.stop()
                await asyncio.wait([task])
            if self._task is not task or not self._history.open_calls():
                return True
            idempotency = None  # it is stored, and the turn has paused meanwhile
        if waits := not self._session.deleted and bool(self._lease.held or self._history.open_calls()):
            self._stopping = True
            await asyncio.wait([self._start(0.0)])
        if idempotency is not None:
            await self._lease.store_stop(None, idempotency, stopped=waits)
        return waits

    def stop(self) -> None:
        """Stop the turn that runs here. Repeated calls have no further effect."""
        if (task := self._running) is not None and not self._stopping:
            self._stopping = True
            if self._is_cancellable:
                task.cancel()

    async def entries(self) -> tuple[Sequence[Entry], int]:
        """All entries of the transcript, as a view, and how many are responses. Only new ones are read."""
        await self._history.refresh()
        return self._history.state.entries, self._history.state.responses

    async def messages(self, *, waiting: bool = False) -> list[dict[str, Any]]:
        """The conversation as plain values, with `waiting` also the inputs that are not delivered to the model yet."""
        await self._history.refresh()
        found = await plain_messages_off_loop(self._history.positioned(), self._session.toolbox.known)
        return [*found, *await self._history.inputs_after(self._history.delivered)] if waiting else found

    async def window(self, before: int | None = None, most: int = 100) -> Window:
        """The newest messages and undelivered inputs, or the messages before a position, at a constant cost."""
        found = await read_window(self._scope.transcript_before, self._session.toolbox.known, before, most)
        if before is not None:
            return found
        undelivered = await self._history.inputs_after(max(found.delivered, self._history.delivered))
        return replace(found, messages=[*found.messages, *newest(undelivered)])

    # Turns

    def _start(self, wait: float) -> "asyncio.Task[Turn | None]":
        """Deliver new inputs and results to the model, in the running turn or in a new one."""
        self._has_news = True
        task = self._task = self._running or self._spawn(self._run(wait))
        return task

    async def _run(self, wait: float) -> Turn | None:
        """Run one turn, if anything waits for the model. None where another process ran it."""
        turn: Turn | None = None
        if wait:
            await asyncio.sleep(wait)
        try:
            self._has_news = False
            while not self._leaving() and (self._lease.held or self._must_stop or await self._has_work()):
                try:
                    if await self._lease.acquire():
                        turn = await self._run_observed()
                        break
                except TurnLeaseLost:
                    log.info("another process took over a turn of session %s", self._session.id)
                if self._leaving() or await self._session.check_deleted():
                    return None
                await self._wait_for_others()
            if turn is None and self._session.durable and not self._leaving():  # another process delivers it
                await self._wait_for_others()
        except StoreUnavailable:  # the caller gets the error, and the turn is tried again
            self._scope.wake_later(RETRY_DELAY)
            raise
        finally:
            self._retrying = self._awaits_other_process = False
            self._stopping = self._stopping and self._lease.held  # a turn that continues later must stop then
            if self._has_news and not self._leaving() and not self._session.deleted:  # it came after the last request
                asyncio.get_running_loop().call_soon(self._start, 0.0)
        return turn

    @property
    def _must_stop(self) -> bool:
        """Whether a turn that waits for a person was asked to stop."""
        return self._stopping and bool(self._history.open_calls())

    async def _has_work(self) -> bool:
        await self._history.load()
        self._clear_news()
        wrote, self._late_results = await asyncio.gather(self._history.find_inputs(), self._session.results.waiting())
        if wrote or (self._retrying and self._history.state.rendering.awaits_response):
            return True
        if open_calls := self._history.open_calls():
            outcomes = [await self._session.calls.outcome(call.tool_call_id) for call in open_calls]
            return all(each is None or each.done for each in outcomes)  # else the turn still waits for a person
        if not self._history.state.entries:  # the conversation has not begun
            return False
        waiting = await self._session.results.outcomes(self._late_results)
        return any(self._session.wakes(each.tool) is Wake.WAKE for each in waiting)

    async def _run_observed(self) -> Turn:
        """Run a turn, and report its start and end to telemetry."""
        turn_id = self._lease.turn_id
        self._scope.turn_began(turn_id)
        try:
            turn = await self._turn()
        except BaseException:
            self._scope.turn_ended(turn_id, "lost")
            raise
        self._scope.turn_ended(turn_id, turn.status, turn.usage)
        return turn

    async def _turn(self) -> Turn:
        io, config, turn_id = self._io(), self._config, self._lease.turn_id
        status, error = TurnStatus.INTERRUPTED, None
        try:
            if self._stopping:  # before it began
                raise asyncio.CancelledError
            self._is_cancellable = True
            check_session(config.limits, self._history.turn_count(turn_id), self._history.state.usage)
            finished = await complete(io, config.model, config.limits)
            self._is_cancellable = False
            status = TurnStatus.FINISHED if finished else TurnStatus.PAUSED
            await self._lease.end(status, {"usage": asdict(io.usage)})
        except asyncio.CancelledError:
            if not self._leaving():
                await self._interrupted(io)
        except (TurnLeaseLost, StoreUnavailable):  # the turn continues elsewhere, or here when the store answers
            raise
        except Exception as failure:
            self._is_cancellable = False  # a cancellation of what follows would leave the turn open
            status, error = TurnStatus.FAILED, reason_of(failure)
            answers, results = await io.answer_open_calls(error)
            category = ErrorCategory.RESOURCE if isinstance(failure, LimitReached) else ErrorCategory.EXECUTION
            data = {"error": {"category": category, "message": error}, "usage": asdict(io.usage)}
            await self._lease.end(status, data, answers, results)
        finally:
            self._is_cancellable = False
        return Turn(turn_id, status, "\n\n".join(filter(None, io.texts)), replace(io.usage), error)

    async def _interrupted(self, io: SessionTurnIO) -> None:
        """End an interrupted turn. Its open calls are cancelled, or continue in the background."""
        if self._config.cancel_on_interrupt:
            await io.stop_open_calls()
        answers, results = await io.answer_open_calls(None)
        await self._lease.end(TurnStatus.INTERRUPTED, {}, answers, results)

    def _io(self) -> SessionTurnIO:
        found, self._late_results = self._late_results, None
        return SessionTurnIO(
            self._scope,
            self._history,
            self._lease,
            self._config,
            input_arrived=self._input_arrived,
            clear_news=self._clear_news,
            leaving=self._leaving,
            late_results=found,
        )

    def _clear_news(self) -> None:
        """Clear the flag for new inputs and results, because the turn reads all of them now."""
        self._has_news = False
        self._input_arrived.clear()

    # Other processes

    async def _check_inputs(self) -> None:
        """Let the running turn know of inputs that another process stored."""
        if await self._history.find_inputs():
            self._has_news = True
            self._input_arrived.set()

    async def _wait_for_others(self) -> None:
        """Return when no other process runs a turn: it ended, was taken over here, or the session is deleted."""
        while True:
            self._taken_over.clear()
            after = self._session.board.last_seq
            if self._lease.held or self._session.deleted or await self._lease.running_elsewhere() is None:
                self._awaits_other_process = False
                return
            self._awaits_other_process = True
            waits = [asyncio.ensure_future(each) for each in (self._ended_elsewhere(after), self._taken_over.wait())]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waits:
                    each.cancel()
                await asyncio.gather(*waits, return_exceptions=True)  # the loop checks again in any case

    async def _ended_elsewhere(self, after: int) -> None:
        """Return when a turn of another process has ended or paused, or the session is deleted."""
        async with aclosing(self._session.events(after)) as events:
            async for event in events:
                if event.kind in TURN_STOPS:
                    return
