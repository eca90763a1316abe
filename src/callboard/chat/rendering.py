"""How a transcript reads for a model: a pure function, whose output only ever grows at the end.

Every call is answered by exactly one result, in the request that follows it. A late result is a call of `task_result`
that joins what the model said last, with its answer among the answers to that. All providers take this form: the call
stands where a call may stand, after the model's own thoughts, and next to nothing that was sent before is changed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from .transcript import Answered, Began, Entry, Input, Late, Noted, Said

TASK_RESULT = "task_result"
CUT_OFF = {"category": "interrupted", "message": "The call was cut off. It is not known whether it took effect."}


@dataclass(slots=True)
class _Exchange:
    """Something that the model said, and what it is told after that."""

    said: ModelResponse | None = None
    calls: list[ToolCallPart] = field(default_factory=list[ToolCallPart])
    """All calls in it: its own, and those of late results."""
    answers: dict[str, ToolReturnPart] = field(default_factory=dict[str, ToolReturnPart])
    prompts: list[UserPromptPart] = field(default_factory=list[UserPromptPart])


def render(entries: Iterable[Entry]) -> list[ModelMessage]:
    """The messages of a conversation. Calls that have no answer yet read as cut off: see `unanswered`."""
    messages: list[ModelMessage] = []
    for exchange in _exchanges(entries):
        if exchange.said is not None:
            late = exchange.calls[len(_calls(exchange.said)) :]
            parts: list[ModelResponsePart] = [*exchange.said.parts, *late]
            last = messages[-1] if messages else None
            if isinstance(last, ModelResponse):  # nothing was said to it in between: both are one
                messages[-1] = replace(last, parts=[*last.parts, *parts])
            else:
                messages.append(replace(exchange.said, parts=parts))
        told: list[ModelRequestPart] = [
            exchange.answers.get(call.tool_call_id) or _cut_off(call) for call in exchange.calls
        ]
        told += exchange.prompts
        if told:
            messages.append(ModelRequest(parts=told))
    return messages


def unanswered(entries: Iterable[Entry]) -> list[ToolCallPart]:
    """The calls that have no answer, in their order."""
    return [
        call for exchange in _exchanges(entries) for call in exchange.calls if call.tool_call_id not in exchange.answers
    ]


def repaired(entries: Sequence[Entry]) -> list[Answered]:
    """What to append to a transcript that was cut off at any point, so that each of its calls has its answer."""
    return [Answered(call.tool_call_id, call.tool_name, CUT_OFF, failed=True) for call in unanswered(entries)]


def problems(messages: Sequence[ModelMessage]) -> list[str]:
    """What a provider would refuse about the pairing of calls and results."""
    found: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        before = messages[index - 1] if index else None
        if before is not None and message.kind == before.kind:
            found.append(f"messages {index - 1} and {index} are both a {message.kind}")
        if isinstance(message, ModelResponse):
            calls = [call.tool_call_id for call in _calls(message)]
            found += [f"the call {call} is there twice" for call in calls if call in seen or calls.count(call) > 1]
            seen.update(calls)
            after = messages[index + 1] if index + 1 < len(messages) else None
            answers = _answers(after)
            found += [f"the call {call} is not answered in the next message" for call in calls if call not in answers]
            found += [f"{answer} is answered but was not called" for answer in answers if answer not in calls]
            found += [f"the call {call} is answered twice" for call in set(calls) if answers.count(call) > 1]
        elif not isinstance(before, ModelResponse):
            found += [f"{answer} is answered but was not called" for answer in _answers(message)]
    if messages and not isinstance(messages[0], ModelRequest):
        found.append("the first message is not the user's")
    return found


def late_id(execution_id: str) -> str:
    """The id of the call that a late result reads as: safe for every provider."""
    plain = "".join(letter for letter in execution_id if letter.isascii() and (letter.isalnum() or letter in "_-"))
    return f"late_{plain}"[:30]


def _exchanges(entries: Iterable[Entry]) -> list[_Exchange]:
    exchanges = [_Exchange()]
    by_call: dict[str, _Exchange] = {}
    early: list[Late] = []
    """Results of work that somebody else began, before anything was said: no conversation begins with a call."""
    for entry in entries:
        current = exchanges[-1]
        match entry:
            case Input(text=text) | Noted(text=text):
                current.prompts.append(UserPromptPart(text))
                for late in early:
                    _came_late(late, exchanges, by_call)
                early.clear()
            case Said(response=response):
                response = _distinct(response, by_call)
                exchanges.append(made := _Exchange(response, list(_calls(response))))
                by_call.update({call.tool_call_id: made for call in made.calls})
            case Answered():
                exchange = by_call.get(entry.call_id)
                if exchange is not None and entry.call_id not in exchange.answers:
                    exchange.answers[entry.call_id] = _answer(entry.tool, entry.call_id, entry.content, entry.failed)
            case Late():
                if current.said is None and not current.prompts:
                    early.append(entry)
                else:
                    _came_late(entry, exchanges, by_call)
            case Began():
                pass
    return exchanges


def _came_late(entry: Late, exchanges: list[_Exchange], by_call: dict[str, _Exchange]) -> None:
    call_id = late_id(entry.execution_id)
    if call_id in by_call:
        return
    if exchanges[-1].said is None:
        exchanges.append(_Exchange(ModelResponse(parts=[])))
    current = by_call[call_id] = exchanges[-1]
    current.calls.append(ToolCallPart(TASK_RESULT, {"execution_id": entry.execution_id}, call_id))
    current.answers[call_id] = _answer(TASK_RESULT, call_id, entry.content, entry.failed)


def _distinct(response: ModelResponse, known: dict[str, Any]) -> ModelResponse:
    """The same, without calls whose ids were used before: a model that repeats itself makes no second call by it."""
    seen = set(known)
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            if part.tool_call_id in seen:
                continue
            seen.add(part.tool_call_id)
        parts.append(part)
    return response if len(parts) == len(response.parts) else replace(response, parts=parts)


def _calls(response: ModelResponse) -> list[ToolCallPart]:
    return [part for part in response.parts if isinstance(part, ToolCallPart)]


def _answers(message: ModelMessage | None) -> list[str]:
    if not isinstance(message, ModelRequest):
        return []
    return [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]


def _answer(tool: str, call_id: str, content: Any, failed: bool) -> ToolReturnPart:
    return ToolReturnPart(tool, content, call_id, outcome="failed" if failed else "success")


def _cut_off(call: ToolCallPart) -> ToolReturnPart:
    return _answer(call.tool_name, call.tool_call_id, CUT_OFF, failed=True)
