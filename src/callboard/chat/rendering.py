"""The messages of a transcript for a model: a fold over its entries whose output only grows at its end.

Every call has exactly one result, in the request that follows it. A late result is rendered as a call of `task_result`.
It joins the last message of the model, and its answer the answers to that, until these are sent. After that it becomes
a message of its own, because messages that a provider has received never change. `wellformed` makes each part valid.
"""

from collections.abc import Collection, Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from .transcript import CallAnswer, Entry, Input, LateResult, LostResponse, Note, Reply, TurnStart
from .wellformed import split, updated, valid_id, valid_input, valid_name, valid_parts, valid_result

TASK_RESULT = "task_result"
CUT_OFF = {"category": "interrupted", "message": "The call was cut off. It is not known whether it took effect."}


@dataclass(slots=True)
class _Exchange:
    """A response of the model, and the answers and inputs that follow."""

    reply: ModelResponse | None = None
    calls: dict[str, ToolCallPart] = field(default_factory=dict[str, ToolCallPart])
    """All calls by their ids: those of the response, and those of late results."""
    late: list[ToolCallPart] = field(default_factory=list[ToolCallPart])
    answers: dict[str, ToolReturnPart] = field(default_factory=dict[str, ToolReturnPart])
    prompts: list[UserPromptPart] = field(default_factory=list[UserPromptPart])
    failed: bool = False
    """Whether an error ended the response."""
    sent: bool = False
    """Whether the model may have received all of it without a stored response."""

    @property
    def open_calls(self) -> list[ToolCallPart]:
        return [call for call_id, call in self.calls.items() if call_id not in self.answers]

    @property
    def parts(self) -> list[ModelResponsePart]:
        if self.failed and not (self.calls or self.prompts):  # another response takes its place
            return []
        return [*(self.reply.parts if self.reply is not None else ()), *self.late]

    @property
    def awaits_response(self) -> bool:
        """Whether answers or inputs follow the response, or an error ended it."""
        return bool(self.calls or self.prompts or self.failed)

    def answer(self, call: ToolCallPart) -> ToolReturnPart:
        return self.answers.get(call.tool_call_id) or _answer(call.tool_name, call.tool_call_id, CUT_OFF, failed=True)


class Rendering:
    """The messages of one growing transcript. Adding an entry has a constant cost."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.added = 0
        """The number of entries that were added."""
        self._current = _Exchange()
        self._messages: list[ModelMessage] = []
        """The messages of all exchanges but the current one."""
        self._early: list[LateResult] = []
        """Late results before the first message: a conversation never begins with a call."""
        self._ids: dict[str, str] = {}
        """The id of every call, with the valid id that providers receive."""
        self._sent_ids: set[str] = set()
        self.has_files = False
        """Whether the answer to a call may have images or sounds."""
        self._late_executions: set[str] = set()
        """Executions whose late results are rendered."""
        self.add(entries)

    def copy(self) -> "Rendering":
        """A rendering that can grow while this one stays. The messages of both are shared, and never change."""
        made = copy(self)
        current = self._current
        made._current = replace(
            current,
            calls={**current.calls},
            late=[*current.late],
            answers={**current.answers},
            prompts=[*current.prompts],
        )
        made._messages, made._early, made._ids = [*self._messages], [*self._early], {**self._ids}
        made._sent_ids, made._late_executions = {*self._sent_ids}, {*self._late_executions}
        return made

    def add(self, entries: Iterable[Entry]) -> None:
        """Append entries."""
        for entry in entries:
            self.added += 1
            match entry:
                case Input(text=text) | Note(text=text):
                    self._current.prompts.append(UserPromptPart(text))
                    early, self._early = self._early, []
                    for late in early:
                        self._add_late(late)
                case Reply():
                    self._add_reply(entry.response, entry.failed)
                case LostResponse():
                    pass
                case CallAnswer():
                    if entry.call_id in self._current.calls and entry.call_id not in self._current.answers:
                        answer = self._answer(entry.tool, entry.call_id, entry.content, entry.failed)
                        self._current.answers[entry.call_id] = answer
                case LateResult():
                    if self._current.reply is None and not self._current.prompts:
                        self._early.append(entry)
                    else:
                        self._add_late(entry)
                case TurnStart():  # the turn before may have made a request without a response
                    self._current.sent = self._current.awaits_response and not self._current.open_calls

    def messages(self) -> list[ModelMessage]:
        """The conversation in a form that every provider accepts. Open calls get the answer `CUT_OFF`."""
        messages = list(self._messages)
        _join(messages, self._valid(self._current))
        return messages

    @property
    def awaits_response(self) -> bool:
        """Whether the model has something to respond to."""
        return self._current.awaits_response

    @property
    def call_ids(self) -> Collection[str]:
        """The ids of all calls, including those of late results."""
        return self._ids.keys()

    def open_calls(self) -> list[ToolCallPart]:
        """The calls without an answer, in order. Only the last response can have any."""
        return self._current.open_calls

    # Exchanges

    def _add_reply(self, response: ModelResponse, failed: bool) -> None:
        parts: list[ModelResponsePart] = []
        calls: dict[str, ToolCallPart] = {}
        for part in response.parts:
            if isinstance(part, ToolCallPart):
                if part.tool_call_id in self._ids:  # a repeated id makes no second call
                    continue
                self._register_id(part.tool_call_id)
                calls[part.tool_call_id] = part
            parts.append(part)
        current = self._current
        if current.reply is not None and not current.awaits_response:  # nothing came in between: join both responses
            current.reply = replace(current.reply, parts=[*current.reply.parts, *parts])
            current.calls = calls
        else:
            self._begin(_Exchange(updated(response, parts=parts), calls, failed=failed))

    def _add_late(self, entry: LateResult) -> None:
        if entry.execution_id in self._late_executions:
            return
        self._late_executions.add(entry.execution_id)
        call_id = late_id(entry.execution_id)
        while call_id in self._ids:  # a model chose the same id
            call_id = f"{call_id}_"
        current = self._current
        if current.reply is None or ((current.sent or current.prompts) and not current.open_calls):
            current = self._begin(_Exchange(ModelResponse(parts=[])))
        self._register_id(call_id)
        call = ToolCallPart(TASK_RESULT, {"execution_id": entry.execution_id}, call_id)
        current.calls[call_id] = call
        current.late.append(call)
        current.answers[call_id] = self._answer(TASK_RESULT, call_id, entry.content, entry.failed)

    def _begin(self, exchange: _Exchange) -> _Exchange:
        """Begin another exchange. The previous one will not change again."""
        _join(self._messages, self._valid(self._current))
        self._current = exchange
        return exchange

    def _answer(self, tool: str, call_id: str, content: Any, failed: bool) -> ToolReturnPart:
        self.has_files = self.has_files or isinstance(content, list)
        return _answer(tool, call_id, content, failed)

    def _register_id(self, call_id: str) -> None:
        self._ids[call_id] = made = valid_id(call_id, self._sent_ids)
        self._sent_ids.add(made)

    def _valid(self, exchange: _Exchange) -> list[ModelMessage]:
        messages: list[ModelMessage] = []
        calls = iter(exchange.calls.values())
        for parts in split(valid_parts(exchange.parts, self._ids)) if exchange.reply is not None else ():
            messages.append(updated(exchange.reply or ModelResponse(parts=[]), parts=parts))
            answers = [exchange.answer(next(calls)) for part in parts if isinstance(part, ToolCallPart)]
            messages.append(
                ModelRequest(
                    parts=[
                        updated(
                            answer,
                            tool_name=valid_name(answer.tool_name),
                            tool_call_id=self._ids[answer.tool_call_id],
                            content=valid_result(answer.content),
                        )
                        for answer in answers
                    ]
                )
            )
        prompts = [updated(prompt, content=valid_input(str(prompt.content))) for prompt in exchange.prompts]
        messages.append(ModelRequest(parts=prompts))
        return messages


def late_id(execution_id: str) -> str:
    """The id of the call that a late result is rendered as, valid for every provider."""
    plain = "".join(letter for letter in execution_id if letter.isascii() and (letter.isalnum() or letter in "_-"))
    return f"late_{plain}"[:30]


def _join(messages: list[ModelMessage], more: Iterable[ModelMessage]) -> None:
    """Append messages. Empty ones are left out, and consecutive ones of the same kind are joined."""
    for message in more:
        last = messages[-1] if messages else None
        if not message.parts:
            continue
        if isinstance(last, ModelRequest) and isinstance(message, ModelRequest):
            messages[-1] = ModelRequest(parts=[*last.parts, *message.parts])
        elif isinstance(last, ModelResponse) and isinstance(message, ModelResponse):
            messages[-1] = replace(last, parts=[*last.parts, *message.parts])
        else:
            messages.append(message)


def _answer(tool: str, call_id: str, content: Any, failed: bool) -> ToolReturnPart:
    return ToolReturnPart(tool, content, call_id, outcome="failed" if failed else "success")
