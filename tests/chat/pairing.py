"""Whole transcripts rendered at once, and a check that calls and results are paired."""

from collections.abc import Iterable, Sequence

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from callboard.chat.rendering import CUT_OFF, Rendering
from callboard.chat.transcript import CallAnswer, Entry


def render(entries: Iterable[Entry]) -> list[ModelMessage]:
    """Render a whole transcript. See `Rendering.messages`."""
    return Rendering(entries).messages()


def unanswered(entries: Iterable[Entry]) -> list[ToolCallPart]:
    """The open calls of a whole transcript. See `Rendering.open_calls`."""
    return Rendering(entries).open_calls()


def repaired(entries: Sequence[Entry]) -> list[CallAnswer]:
    """The answers that repair an interrupted transcript, so that each call has one."""
    return [CallAnswer(call.tool_call_id, call.tool_name, CUT_OFF, failed=True) for call in unanswered(entries)]


def problems(messages: Sequence[ModelMessage]) -> list[str]:
    """The errors in the pairing of calls and results that a provider would refuse."""
    found: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        before = messages[index - 1] if index else None
        if before is not None and message.kind == before.kind:
            found.append(f"messages {index - 1} and {index} are both a {message.kind}")
        if isinstance(message, ModelResponse):
            calls = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
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


def _answers(message: ModelMessage | None) -> list[str]:
    if not isinstance(message, ModelRequest):
        return []
    return [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]
