"""The conversation of one session: what starts, joins, pauses and stops its turns.

An input starts a turn, or joins the one that runs. A late result wakes a session that is idle, joins a turn that runs,
or waits for the next input, as its tool says. A call that asks a person pauses the turn; the answer lets the same turn
go on. Whoever writes meanwhile is answered: the open call is acknowledged, and its result comes late.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_core import to_json

from ..errors import ErrorCategory
from ..events.event import encode_event
from ..events.kinds import EventKind
from ..execution.execution import Execution
from ..sessions.conversation_scope import ConversationScope
from ..sessions.posting import post_event
from ..storage.patience import confirmed
from ..storage.port import (
    AlreadyWritten,
    Change,
    Conflict,
    ExecutionWrite,
    IdempotencyConflict,
    StoreUnavailable,
    StoreUnconfirmed,
)
from ..storage.rows import ExecutionRow, IdempotencyRow
from ..turns import LimitReached, Turn, TurnLimits, TurnStatus, Usage, check_session
from ..types import Wake
from .completion import complete
from .failures import reason_of
from .history import History
from .messages import shown
from .rows import input_row, new_input
from .thinking import settings_for
from .transcript import Entry, Input, Said
from .turn_io import TurnIO
from .turn_lease import TurnLease, TurnLeaseLost
from .window import Window, newest, read_window

log = logging.getLogger("callboard.chat")

WINDOW = 0.005
"""Seconds that a woken session waits for more results, so that several make one turn."""
AGAIN = 1.0
"""Seconds after which one tries again where the store did not answer."""
_ENDS = frozenset({EventKind.TURN_FINISHED, EventKind.TURN_PAUSED, EventKind.TURN_FAILED, EventKind.TURN_INTERRUPTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationConfig:
    """How all conversations of a runtime are held."""

    model: Model
    instructions: str | None = None
    limits: TurnLimits
    settings: ModelSettings | None = None
    cancel_on_interrupt: bool = True
    """Whether an interrupt also stops the calls that the turn waits for."""


class Conversation:
    """Runs the turns of a session. Made when it is first spoken to, or woken."""

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
        """Whether this process ends: what is stored of a turn is then left as it is, and somebody goes on with it."""
        self._history = History(scope)
        self._lease = TurnLease(scope, self._history)
        self._nudged = asyncio.Event()
        """Set while there is something of the user that the model was not told."""
        self._task: asyncio.Task[Turn | None] | None = None
        self._more = False
        """Whether something came that the turn which runs has not taken in."""
        self._found: tuple[str, ...] | None = None
        """Late results that wait, when that was looked for just now."""
        self._stopping = False
        """Whether somebody said that the turn is to be stopped."""
        self._turning = False
        """Whether a turn can be stopped by cancelling its task."""
        self._elsewhere = False
        """Whether one waits for a turn of another process."""
        self._handed_over = asyncio.Event()
        """Set when a turn of another process has become this one's."""

    @property
    def is_processing(self) -> bool:
        """Whether a turn runs here."""
        return self._task is not None and not self._task.done()

    # From outside

    async def say(self, text: str) -> Turn:
        """Tell the model something. Returns when the turn that it starts or joins is finished, or waits for people."""
        number = await post_event(self._session, {"kind": EventKind.USER_INPUT, "text": text})
        while True:
            turn = await asyncio.shield(self._running())
            deleted = turn is None and self._session.gone
            told = self._history.told >= number or (turn is not None and turn.status is not TurnStatus.FINISHED)
            if told and not deleted:
                return turn or self._turn_about(number)
            if self._leaving() or self._session.gone:
                return Turn("", TurnStatus.INTERRUPTED, "", Usage())

    async def hear(
        self, data: Mapping[str, Any], given: str | None = None, *, idempotency: IdempotencyRow | None = None
    ) -> int:
        """Post what the user wrote. Returns the number of its event, once it is stored: then the model is told of it,
        whatever becomes of this process.

        What has an id that its sender gave it is taken once, in whatever process: 0 where it was taken before. Raises
        `AlreadyWritten` or `IdempotencyConflict` where the idempotency key was stored before.
        """
        self._session.touch()
        row = new_input(self._scope, given)
        said = {name: value for name, value in data.items() if value is not None}
        event = encode_event(EventKind.USER_INPUT, self._scope.now(), to_json({**said, "input_id": row.id}))
        rows = [ExecutionWrite(row, row.owner, new=True)]
        try:
            number = await self._stored(
                Change(self._session.id, executions=rows, events=(event,), idempotency=idempotency)
            )
        except Conflict:
            if given is None or await self._session.calls.stored_call(row.call_id) is None:
                raise
            self.wake()  # whoever took it may be gone
            return 0
        if not self._session.durable:  # a board in memory may forget it before the turn gets to it
            await self._history.look()
        self._nudged.set()
        self._go(0.0)
        return number

    async def _stored(self, change: Change) -> int:
        """Write what the user said. Returns the number of the newest event, once it is stored."""
        writing = self._session.ledger.write(change, lasting=True)
        try:
            return await confirmed(writing)
        except StoreUnconfirmed:
            writing.add_done_callback(self._came_after_all)
            raise

    def _came_after_all(self, writing: "asyncio.Future[int]") -> None:
        """What the user wrote is stored, although its sender could not be told so: let the model be told."""
        if not writing.cancelled() and writing.exception() is None:
            self._nudged.set()
            self.wake()

    async def hear_all(self, texts: Mapping[str, str]) -> int:
        """Post messages of the user, by the ids that their sender gave them, in one write.

        Returns the number of the newest event, once all are stored. A message that was taken before, in any process, is
        not posted again; 0 where all of them were.
        """
        self._session.touch()
        left, number = dict(texts), 0
        while left:
            rows = {given: new_input(self._scope, given) for given in left}
            events = [self._input_event(row.id, left[given], given) for given, row in rows.items()]
            writes = [ExecutionWrite(row, row.owner, new=True) for row in rows.values()]
            try:
                number = await self._stored(Change(self._session.id, executions=writes, events=events))
                break
            except Conflict:
                taken = await self.taken(tuple(left))
                if not taken:
                    raise
                left = {given: text for given, text in left.items() if given not in taken}
        if not left:
            self.wake()  # the process that took them may be gone
            return 0
        if not self._session.durable:  # a board in memory may forget it before the turn gets to it
            await self._history.look()
        self._nudged.set()
        self._go(0.0)
        return number

    def _input_event(self, row_id: str, text: str, given: str) -> bytes:
        data = {"text": text, "message_id": given, "input_id": row_id}
        return encode_event(EventKind.USER_INPUT, self._scope.now(), to_json(data))

    async def taken(self, given: Sequence[str]) -> dict[str, bool]:
        """Which messages were taken, by the ids that their senders gave them, and whether the model was told."""
        ids = {input_row(each): each for each in given}
        return {ids[row.id]: row.completed_at is not None for row in await self._scope.inputs(tuple(ids))}

    def wake(self) -> None:
        """There may be something that the model was not told."""
        if not self._leaving():
            self._go(WINDOW)

    def came_late(self, execution: Execution) -> None:
        """An execution ended whose result nobody waited for."""
        if self._session.wakes(execution.name) is Wake.WAKE:
            self._go(WINDOW)

    def poll_orphans(self) -> None:
        """Another process wrote something: the user may have."""
        if self.is_processing:
            self._spawn(self._look())

    async def go_on(self, row: ExecutionRow) -> None:
        """Go on with a turn that a dead process left behind; with its end, if it was to be stopped."""
        await self._history.refresh()
        self._lease.adopt(row)
        self._stopping = self._stopping or row.cancelling
        self._handed_over.set()
        self._go(0.0)

    async def interrupt(self, idempotency: IdempotencyRow | None = None) -> bool:
        """Stop the turn that runs, wherever it runs, or that waits for a person. False where there is none.

        The idempotency key is stored with the mark that the turn is to stop, so that a repeat never stops a later turn.
        Raises `AlreadyWritten` or `IdempotencyConflict` where the key was stored before.
        """
        if self.is_processing and (task := self._task) is not None and not self._elsewhere:
            if idempotency is not None:
                await self._mark(self._lease.stored if self._session.durable else None, idempotency, stopped=True)
            if self._task is task:  # else it ended meanwhile, and the next one is not meant
                self.stop()
                await asyncio.wait([task])
            return True
        after = self._session.board.last_seq
        if (row := await self._lease.holder()) is not None:
            await self._mark(row.id, idempotency, stopped=True)
            await self._ended_elsewhere(after)
            return True
        waits = not self._session.gone and bool(self._history.open_calls())
        if waits:
            self._stopping = True
            await asyncio.wait([self._go(0.0)])
        if idempotency is not None:
            await self._mark(None, idempotency, stopped=waits)
        return waits

    async def _mark(self, turn: str | None, idempotency: IdempotencyRow | None, *, stopped: bool) -> None:
        """Store that a turn is to stop, and the client's id of the request."""
        if idempotency is not None:
            idempotency = replace(idempotency, answer=to_json({"interrupted": stopped}))
        change = Change(self._session.id, cancel=[] if turn is None else [turn], idempotency=idempotency)
        try:
            await self._session.ledger.write(change)
        except (AlreadyWritten, IdempotencyConflict):
            raise
        except Conflict:  # the session is deleted, and the turn with it
            pass

    def stop(self) -> None:
        """Stop the turn that runs here. Whoever says it twice says it once."""
        if self.is_processing and self._task is not None and not self._stopping:
            self._stopping = True
            if self._turning:
                self._task.cancel()

    async def entries(self) -> tuple[Sequence[Entry], int]:
        """All entries of the transcript, not to be changed, and how many of them are responses of the model.

        Only what is new is read from the store, and nothing is copied.
        """
        await self._history.refresh()
        return self._history.entries, self._history.responses

    async def transcript(self) -> Sequence[Entry]:
        """Everything up to now."""
        await self._history.refresh()
        return tuple(self._history.entries)

    async def messages(self, *, waiting: bool = False) -> list[dict[str, Any]]:
        """The whole conversation as plain values. Calls that go on have no result yet.

        With `waiting` it ends with what the user wrote that the model has not been told yet.
        """
        await self._history.refresh()
        found = shown(self._history.placed())
        return [*found, *await self._unsaid(self._history.told)] if waiting else found

    async def window(self, before: int | None = None, most: int = 100) -> Window:
        """The newest messages, and what the user wrote that the model has not been told yet; or those before a place.

        It costs the same however long the conversation is.
        """
        found = await read_window(self._scope.transcript_before, before, most)
        if before is not None:
            return found
        unsaid = newest(await self._unsaid(max(found.told, self._history.told)))
        return replace(found, messages=[*found.messages, *unsaid])

    async def _unsaid(self, told: int) -> list[dict[str, Any]]:
        """What the user wrote after an event: the model has not been told of it."""
        _, events = await self._scope.written_after(told)
        written = [event for event in events if event.kind == EventKind.USER_INPUT]
        return [{"id": f"e{each.seq}", "role": "user", "text": each.data["text"]} for each in written]

    # Turns

    def _go(self, wait: float) -> "asyncio.Task[Turn | None]":
        """See to something that came: in the turn that runs, or in a new one."""
        self._more = True
        if self._task is None or self._task.done():
            self._task = self._spawn(self._run(wait))
        return self._task

    def _running(self) -> "asyncio.Task[Turn | None]":
        return self._task if self.is_processing and self._task is not None else self._go(0.0)

    async def _run(self, wait: float) -> Turn | None:
        """One turn, if there is anything to tell the model. None where another process had it."""
        turn: Turn | None = None
        if wait:
            await asyncio.sleep(wait)
        try:
            self._more = False
            while not self._leaving() and (self._lease.held or self._is_to_end or await self._has_work()):
                try:
                    if await self._lease.take():
                        turn = await self._watched()
                        break
                except TurnLeaseLost:
                    log.info("a turn of session %s is another process's", self._session.id)
                if await self._session.is_gone():
                    return None
                await self._others()
            if turn is None and self._session.durable and not self._leaving():  # another process tells the model of it
                await self._others()
        except StoreUnavailable:  # whoever waits is told; and what came is not forgotten
            self._scope.later(AGAIN, self.wake)
            raise
        finally:
            self._stopping = self._elsewhere = False
            if self._more and not self._leaving() and not self._session.gone:  # it came when nothing was asked any more
                asyncio.get_running_loop().call_soon(self._go, 0.0)
        return turn

    @property
    def _is_to_end(self) -> bool:
        """Whether a turn that waits for a person is to be stopped."""
        return self._stopping and bool(self._history.open_calls())

    async def _has_work(self) -> bool:
        await self._history.load()
        self._joined()
        wrote, self._found = await asyncio.gather(self._history.look(), self._session.results.waiting())
        if wrote:
            return True
        if open_calls := self._history.open_calls():
            outcomes = [await self._session.calls.outcome(call.tool_call_id) for call in open_calls]
            return all(each is None or each.done for each in outcomes)  # else the turn still waits for a person
        if not self._history.entries:  # nobody talks here
            return False
        waiting = await self._session.results.outcomes(self._found)
        return any(self._session.wakes(each.tool) is Wake.WAKE for each in waiting)

    async def _watched(self) -> Turn:
        """A turn, in the sight of those who measure and trace."""
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
            self._turning = True
            check_session(config.limits, self._history.turns_with(turn_id), self._history.used)
            finished = await complete(io, config.model, config.limits)
            self._turning = False
            status = TurnStatus.FINISHED if finished else TurnStatus.PAUSED
            kind = EventKind.TURN_FINISHED if finished else EventKind.TURN_PAUSED
            await self._lease.leave(kind, {"usage": asdict(io.used)})
        except asyncio.CancelledError:
            if not self._leaving():
                await self._stopped(io)
        except TurnLeaseLost:
            raise
        except Exception as failure:
            status, error = TurnStatus.FAILED, reason_of(failure)
            answers, taken = await io.close(error)
            category = ErrorCategory.RESOURCE if isinstance(failure, LimitReached) else ErrorCategory.EXECUTION
            data = {"error": {"category": category, "message": error}, "usage": asdict(io.used)}
            await self._lease.leave(EventKind.TURN_FAILED, data, answers, taken)
        finally:
            self._turning = False
        return Turn(turn_id, status, "\n\n".join(filter(None, io.spoken)), replace(io.used), error)

    async def _stopped(self, io: TurnIO) -> None:
        """The turn was interrupted: what it called goes on in the background, or is cancelled."""
        if self._config.cancel_on_interrupt:
            for call in self._history.open_calls():
                await self._session.calls.cancel_call(call.tool_call_id)
        answers, taken = await io.close(None)
        await self._lease.leave(EventKind.TURN_INTERRUPTED, {}, answers, taken)

    def _io(self) -> TurnIO:
        found, self._found = self._found, None
        return TurnIO(
            self._scope,
            self._history,
            self._lease,
            self._config.instructions,
            nudged=self._nudged,
            joined=self._joined,
            leaving=self._leaving,
            found=found,
            settings=lambda messages: settings_for(self._config.model, self._config.settings, messages),
        )

    def _joined(self) -> None:
        """Whatever came up to now is looked at, and told to the model."""
        self._more = False
        self._nudged.clear()

    # Other processes

    async def _look(self) -> None:
        """See whether the user wrote, in another process."""
        if await self._history.look():
            self._more = True
            self._nudged.set()

    async def _others(self) -> None:
        """Return when no other process has a turn here: it has ended, is this one's now, or the session is deleted."""
        while True:
            self._handed_over.clear()
            after = self._session.board.last_seq
            if self._lease.held or self._session.gone or await self._lease.holder() is None:
                self._elsewhere = False
                return
            self._elsewhere = True
            ways = [asyncio.ensure_future(way) for way in (self._ended_elsewhere(after), self._handed_over.wait())]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)  # one looks again, whatever became of them

    async def _ended_elsewhere(self, after: int) -> None:
        """Return when a turn has ended, in another process, or the session is deleted."""
        async with aclosing(self._session.events(after)) as events:
            async for event in events:
                if event.kind in _ENDS:
                    return

    def _turn_about(self, number: int) -> Turn:
        """The turn in which another process told the model of an input."""
        texts: list[str] = []
        since = 0
        for each in reversed(self._history.entries):
            if isinstance(each, Said):
                texts.append(each.response.text or "")
            elif isinstance(each, Input):
                if each.seq < number:
                    break
                since = len(texts)
        texts = texts[:since][::-1]
        status = TurnStatus.PAUSED if self._history.open_calls() else TurnStatus.FINISHED
        turn_id = self._history.turn_id or ""
        return Turn(turn_id, status, "\n\n".join(filter(None, texts)), self._history.used_by(turn_id))
