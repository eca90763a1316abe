"""The conversation of one session: its transcript, its turns, and what starts, joins, pauses and stops them.

An input starts a turn, or joins the one that runs. A late result wakes a session that is idle, joins a turn that runs,
or waits for the next input, as its tool says. A call that asks a person pauses the turn; the answer lets the same turn
go on. Whoever writes meanwhile is answered: the open call is acknowledged, and its result comes late.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from ..errors import CATEGORIES, CallboardError, ErrorCategory
from ..events.event import encode_event
from ..events.kinds import EventKind
from ..execution.execution import Execution
from ..execution.outcome import Outcome, OutcomeStatus
from ..sessions.session import Session
from ..storage.port import Change, Conflict
from ..types import Wake
from .completion import LimitReached, TurnLimits, Usage, complete
from .rendering import render, unanswered
from .toolset import tool_definition
from .transcript import Answered, Entry, Input, Late, Said, decode_entry, encode_entry

log = logging.getLogger("callboard.chat")

WINDOW = 0.005
"""Seconds that a woken session waits for more results, so that several make one turn."""


class TurnStatus(StrEnum):
    """How a turn stands."""

    FINISHED = "finished"
    PAUSED = "paused"
    """It waits for a person."""
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of a turn."""

    id: str
    status: TurnStatus
    text: str
    """What the model said, all of it."""
    usage: Usage
    error: str | None = None


class Conversation:
    """Runs the turns of a session. Made when it is first spoken to, or woken."""

    def __init__(
        self,
        session: Session,
        model: Model,
        *,
        limits: TurnLimits,
        settings: ModelSettings | None,
        instructions: str | None,
        cancel_on_interrupt: bool,
        spawn: Callable[[Any], "asyncio.Task[None]"],
    ) -> None:
        self._session = session
        self._model = model
        self._limits = limits
        self._settings = settings
        self._instructions = instructions
        self._cancel_on_interrupt = cancel_on_interrupt
        self._spawn = spawn
        self._entries: list[Entry] | None = None
        self._loading = asyncio.Lock()
        self._inputs: list[Input] = []
        """What the user wrote and the model has not been told."""
        self._nudged = asyncio.Event()
        self._task: asyncio.Task[Turn] | None = None
        self._waking = False
        self._missed = False
        """Whether a result came that wakes, and that the turn which runs has not told the model yet."""
        self._turn_id = ""
        self._spoken: list[str] = []
        self._total = Usage()
        self._turns = 0

    # From outside

    async def say(self, text: str) -> Turn:
        """Tell the model something. Returns when the turn that it starts or joins is finished, or waits for people."""
        await self._load()
        number = await self._session.post({"kind": EventKind.USER_INPUT, "text": text})
        self._inputs.append(Input(text, number))
        self._nudged.set()
        return await asyncio.shield(self._running())

    async def interrupt(self) -> bool:
        """Stop the turn that runs. False where none does."""
        if self._task is None or self._task.done():
            return False
        self._task.cancel()
        await asyncio.wait([self._task])
        return True

    def came_late(self, execution: Execution) -> None:
        """An execution ended whose result nobody waited for."""
        if execution.tool.wake is not Wake.WAKE:
            return
        if self.is_processing:
            self._missed = True
        elif not self._waking:
            self._waking = True
            self._spawn(self._wake())

    @property
    def is_processing(self) -> bool:
        """Whether a turn runs."""
        return self._task is not None and not self._task.done()

    async def transcript(self) -> Sequence[Entry]:
        """Everything up to now."""
        return tuple(await self._load())

    # Turns

    async def _wake(self) -> None:
        await asyncio.sleep(WINDOW)
        self._waking = False
        entries = await self._load()
        if not entries or self.is_processing:
            return
        open_calls = {call.tool_call_id for call in unanswered(entries)}
        if open_calls and not await self._answers(open_calls, acknowledge=False):
            return  # the turn still waits for a person
        if open_calls or self._inputs or await self._session.unconsumed():
            await self._running()

    def _running(self) -> "asyncio.Task[Turn]":
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._turn())
        return self._task

    async def _turn(self) -> Turn:
        """One turn, and another one where something came that the first did not tell the model."""
        self._turn_id = f"t{secrets.token_hex(6)}"
        self._spoken, usage = [], Usage()
        turn = Turn(self._turn_id, TurnStatus.FINISHED, "", usage)
        try:
            self._check_session()
            await self._post(EventKind.TURN_STARTED, {})
            finished = await complete(self, self._model, usage, self._limits, self._settings)
            if not finished:
                turn = replace(turn, status=TurnStatus.PAUSED)
        except asyncio.CancelledError:
            await asyncio.shield(self._stopped())
            turn = replace(turn, status=TurnStatus.INTERRUPTED)
        except Exception as error:
            turn = replace(turn, status=TurnStatus.FAILED, error=_reason(error))
            await self._post(EventKind.TURN_FAILED, {"error": turn.error, "usage": asdict(usage)})
        else:
            if finished:
                await self._post(EventKind.TURN_FINISHED, {"usage": asdict(usage)})
        finally:
            self._turns += 1
            self._total.requests += usage.requests
            self._total.input_tokens += usage.input_tokens
            self._total.output_tokens += usage.output_tokens
            self._total.cost = _sum(self._total.cost, usage.cost)
            if (self._missed or self._inputs) and not self._waking:  # it came when the model was not asked any more
                self._waking = True
                self._spawn(self._wake())
        return replace(turn, text="".join(self._spoken))

    async def _stopped(self) -> None:
        """The turn was interrupted: what it called goes on in the background, or is cancelled."""
        calls = unanswered(await self._load())
        if self._cancel_on_interrupt:
            for call in calls:
                await self._session.cancel_call(call.tool_call_id)
        await self._answers({call.tool_call_id for call in calls}, acknowledge=True)
        await self._post(EventKind.TURN_INTERRUPTED, {})

    def _check_session(self) -> None:
        limits, used = self._limits, self._total
        if limits.session_turns is not None and self._turns >= limits.session_turns:
            raise LimitReached(f"The session had {self._turns} turns, which is the limit.")
        if limits.session_tokens is not None and used.input_tokens + used.output_tokens >= limits.session_tokens:
            raise LimitReached(f"The session used {used.input_tokens + used.output_tokens} tokens, over its limit.")
        if limits.session_cost is not None and (used.cost or 0.0) >= limits.session_cost:
            raise LimitReached(f"The session cost {used.cost:.4f} dollars, over its limit.")

    # The desk of a turn

    async def messages(self) -> list[ModelMessage]:
        entries = await self._load()
        if open_calls := {call.tool_call_id for call in unanswered(entries)}:
            await self._answers(open_calls, acknowledge=True)
        await self._join()
        messages = render(entries)
        if messages and self._instructions:
            messages[-1] = replace(messages[-1], instructions=self._instructions)
        return messages

    def tools(self) -> Sequence[ToolDefinition]:
        return [tool_definition(tool) for tool in self._session.tools()]

    def speaks(self, delta: str) -> None:
        self._session.board.say(
            encode_event(EventKind.TEXT, self._session.now(), to_json({"turn_id": self._turn_id, "delta": delta}))
        )

    async def said(self, response: ModelResponse) -> list[ToolCallPart]:
        entries = await self._load()
        response = _with_new_ids(response, entries)
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        self._spoken.append(text)
        event = encode_event(EventKind.TEXT, self._session.now(), to_json({"turn_id": self._turn_id, "text": text}))
        await self._write([Said(response)], events=(event,) if text else ())
        return [part for part in response.parts if isinstance(part, ToolCallPart)]

    async def carry_out(self, calls: Sequence[ToolCallPart]) -> bool:
        self._nudged.clear()
        running = [asyncio.ensure_future(self._call(call)) for call in calls]
        nudge = asyncio.ensure_future(self._nudged.wait())
        try:
            pending: set[asyncio.Future[Any]] = set(running)
            while pending:
                done, _ = await asyncio.wait({*pending, nudge}, return_when=asyncio.FIRST_COMPLETED)
                pending -= done
                if nudge in done and pending:  # the user wrote: nobody waits for what is still running
                    self._session.promote([call.tool_call_id for call in calls])
                    await asyncio.wait(pending)
                    break
        finally:
            nudge.cancel()
            for each in running:
                each.cancel()
        outcomes = [each.result() for each in running]
        waiting = [each for each in outcomes if each.status is OutcomeStatus.WAITING]
        answered = [
            self._answer(call, outcome)
            for call, outcome in zip(calls, outcomes, strict=True)
            if outcome.status is not OutcomeStatus.WAITING
        ]
        await self._write(answered)
        return not waiting or bool(self._inputs)

    @property
    def has_more(self) -> bool:
        return bool(self._inputs) or self._session.has_results

    # Small steps

    async def _call(self, call: ToolCallPart) -> Outcome:
        arguments = call.args if isinstance(call.args, str) else to_json(call.args or {}).decode()
        return await self._session.call(call.tool_name, arguments or "{}", call_id=call.tool_call_id)

    def _answer(self, call: ToolCallPart, outcome: Outcome) -> Answered:
        if outcome.error is not None:
            return Answered(call.tool_call_id, call.tool_name, outcome.error.to_model(), outcome.execution_id, True)
        return Answered(call.tool_call_id, call.tool_name, self._session.shown(outcome), outcome.execution_id)

    def _late(self, outcome: Outcome) -> Late:
        if outcome.error is not None:
            return Late(outcome.execution_id, outcome.error.to_model(), failed=True)
        return Late(outcome.execution_id, self._session.shown(outcome))

    async def _answers(self, call_ids: set[str], *, acknowledge: bool) -> bool:
        """Answer open calls with what became of them. True where all have an answer now.

        One that goes on is acknowledged if that is wanted, and its result comes late.
        """
        await self._session.settle()
        entries, unconsumed = await self._load(), set(await self._session.unconsumed())
        answers: list[Answered] = []
        taken: list[str] = []
        for call in unanswered(entries):
            if call.tool_call_id not in call_ids:
                continue
            outcome = await self._session.outcome_of_call(call.tool_call_id)
            if outcome is None:
                answers.append(_cut_off(call))
            elif outcome.done or acknowledge:
                answers.append(self._answer(call, outcome))
                if outcome.done and outcome.execution_id in unconsumed:
                    taken.append(outcome.execution_id)
        await self._write(answers, taken=taken)
        return len(answers) == len(call_ids)

    async def _join(self) -> None:
        """Take in what came: late results first, then what the user wrote."""
        while True:
            self._missed = False
            ids = await self._session.unconsumed()
            outcomes = await self._session.outcomes(ids)
            late = [
                Late(
                    each.execution_id,
                    self._session.shown(each) if each.error is None else each.error.to_model(),
                    each.error is not None,
                )
                for each in outcomes
                if self._session.wakes(each) is not Wake.UI_ONLY
            ]
            inputs, self._inputs = self._inputs, []
            if not late and not inputs and not ids:
                return
            try:
                await self._write([*late, *inputs], taken=ids)
            except Conflict:  # somebody else took some of the results in the same moment
                self._inputs = inputs + self._inputs
                continue
            return

    async def _load(self) -> list[Entry]:
        async with self._loading:
            if self._entries is None:
                lines = await self._session.stored_transcript()
                entries = [entry for line in lines if (entry := decode_entry(line)) is not None]
                told = max((entry.seq for entry in entries if isinstance(entry, Input)), default=0)
                for event in await self._session.inputs_after(told):
                    self._inputs.append(Input(event.data["text"], event.seq))
                self._entries = entries
            return self._entries

    async def _write(
        self, entries: Sequence[Entry], *, taken: Sequence[str] = (), events: tuple[bytes, ...] = ()
    ) -> None:
        if entries or taken or events:
            transcript = [encode_entry(entry) for entry in entries]
            await self._session.write(Change(self._session.id, taken=taken, transcript=transcript, events=events))
            (await self._load()).extend(entries)

    async def _post(self, kind: EventKind, data: dict[str, Any]) -> None:
        event = encode_event(kind, self._session.now(), to_json({"turn_id": self._turn_id, **data}))
        await self._session.write(Change(self._session.id, events=(event,)))


def _cut_off(call: ToolCallPart) -> Answered:
    rule = CATEGORIES[ErrorCategory.INTERRUPTED]
    content = {"category": ErrorCategory.INTERRUPTED.value, "message": rule.message}
    return Answered(call.tool_call_id, call.tool_name, content, failed=True)


def _with_new_ids(response: ModelResponse, entries: Sequence[Entry]) -> ModelResponse:
    """The same, with other ids for calls whose ids were used before: each is a call of its own."""
    used = {
        part.tool_call_id
        for entry in entries
        if isinstance(entry, Said)
        for part in entry.response.parts
        if isinstance(part, ToolCallPart)
    }
    parts: list[Any] = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            if part.tool_call_id in used:
                part = replace(part, tool_call_id=f"call_{secrets.token_hex(8)}")
            used.add(part.tool_call_id)
        parts.append(part)
    return replace(response, parts=parts)


def _reason(error: Exception) -> str:
    if isinstance(error, CallboardError):
        return str(error)
    log.error("a turn failed", exc_info=error)
    return f"The model could not be asked ({type(error).__name__})."


def _sum(one: float | None, other: float | None) -> float | None:
    return other if one is None else one + (other or 0.0)
