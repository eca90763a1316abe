"""A conversation as plain values, for people and protocols: texts, calls and results, in order.

It is built from the entries of the transcript, not from the requests to a provider. The id of a message is the position
of its entry, so that a part of a conversation reads the same as the whole.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, cast

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_core import from_json, to_json

from ..execution.masking import mask_arguments
from ..tools.definition import Tool
from .rendering import TASK_RESULT, late_id
from .transcript import CallAnswer, Entry, Input, LateResult, LostResponse, Note, Reply, TurnStart

ON_LOOP = 200
"""Entries that are converted on the event loop's thread; a longer conversation is converted in another thread."""


class Positioned(NamedTuple):
    """An entry and its position in the transcript. The first position is 1."""

    position: int
    entry: Entry


def message_id(position: int) -> str:
    """The id of a message of the model or the user at a position, also while it is streamed."""
    return f"m{position}"


FindTool: TypeAlias = Callable[[str], Tool | None]
"""Returns the tool of a name, whose secret arguments are masked."""


def plain_messages(entries: Iterable[Positioned], find: FindTool) -> list[dict[str, Any]]:
    """Messages of the user, of the assistant with its calls, and of tools. A running call has no result yet."""
    return [message for exchange in exchanges(entries, find) for message in exchange.messages()]


async def plain_messages_off_loop(entries: Sequence[Positioned], find: FindTool) -> list[dict[str, Any]]:
    """Do what `plain_messages` does without blocking the event loop for long."""
    if len(entries) <= ON_LOOP:
        return plain_messages(entries, find)
    return await asyncio.to_thread(plain_messages, entries, find)


def display_arguments(call: ToolCallPart, find: FindTool) -> dict[str, Any]:
    """The arguments of a call with secrets masked. The model itself reads what it wrote."""
    tool = find(call.tool_name)
    if tool is None or not tool.has_secrets:
        return call.args_as_dict()
    document = call.args.encode() if isinstance(call.args, str) else to_json(call.args or {}, inf_nan_mode="strings")
    masked: Any = from_json(mask_arguments(tool, document))
    return cast("dict[str, Any]", masked) if isinstance(masked, dict) else {"INVALID_JSON": masked}


@dataclass(slots=True)
class Exchange:
    """A message of the model, the results of its calls, and the inputs that follow."""

    position: int
    """The position of the first entry."""
    reply: dict[str, Any] | None = None
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    results: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    prompts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def messages(self) -> list[dict[str, Any]]:
        reply = [] if self.reply is None else [self.reply]
        results = [self.results[call["call_id"]] for call in self.calls if call["call_id"] in self.results]
        return [*reply, *results, *self.prompts]


def exchanges(entries: Iterable[Positioned], find: FindTool) -> list[Exchange]:
    """Group entries into exchanges. The first one may lack the message of the model."""
    found: list[Exchange] = []
    seen: dict[str, Exchange] = {}
    early: list[Positioned] = []
    """Late results before the first message: a conversation never begins with them."""
    for position, entry in entries:
        if not found:
            found.append(Exchange(position))
        current = found[-1]
        match entry:
            case Input(text=text) | Note(text=text):
                current.prompts.append({"id": message_id(position), "role": "user", "text": text})
                for late in early:
                    _add_late(late, found, seen)
                early.clear()
            case Reply(response=response):
                text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
                calls = [call for call in _calls(response, find) if call["call_id"] not in seen]
                found.append(made := _exchange(position, text, calls))
                seen.update({call["call_id"]: made for call in calls})
            case CallAnswer(call_id=call_id):
                if (exchange := seen.get(call_id)) is not None and call_id not in exchange.results:
                    exchange.results[call_id] = _result(call_id, entry.tool, entry.content, entry.failed)
            case LateResult():
                if current.reply is None and not current.prompts:
                    early.append(Positioned(position, entry))
                else:
                    _add_late(Positioned(position, entry), found, seen)
            case TurnStart() | LostResponse():
                pass
    return found


def _add_late(late: Positioned, found: list[Exchange], seen: dict[str, Exchange]) -> None:
    """Add a late result as a call of `task_result` to the last message of the model."""
    assert isinstance(late.entry, LateResult)
    call_id = late_id(late.entry.execution_id)
    if call_id in seen:
        return
    current = found[-1]
    if current.reply is None:
        found.append(current := _exchange(late.position, "", []))
    seen[call_id] = current
    current.calls.append(
        {"call_id": call_id, "tool": TASK_RESULT, "arguments": {"execution_id": late.entry.execution_id}}
    )
    current.results[call_id] = _result(call_id, TASK_RESULT, late.entry.content, late.entry.failed)


def _exchange(position: int, text: str, calls: list[dict[str, Any]]) -> Exchange:
    """Begin an exchange with a message of the model."""
    return Exchange(position, {"id": message_id(position), "role": "assistant", "text": text, "calls": calls}, calls)


def _calls(response: ModelResponse, find: FindTool) -> list[dict[str, Any]]:
    return [
        {"call_id": part.tool_call_id, "tool": part.tool_name, "arguments": display_arguments(part, find)}
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]


def _result(call_id: str, tool: str, content: Any, failed: bool) -> dict[str, Any]:
    return {"id": f"r{call_id}", "role": "tool", "call_id": call_id, "tool": tool, "content": content, "failed": failed}
