"""A conversation as plain values, for people and protocols: texts, calls and results, in order.

It is built from the entries of the transcript, not from the requests to a provider. The id of a message is the position
of its entry, so that a part of a conversation reads the same as the whole.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from .rendering import TASK_RESULT, late_id
from .transcript import CallAnswer, Entry, Input, LateResult, Note, Reply, TurnStart

ON_LOOP = 200
"""Entries that are converted on the event loop's thread; a longer conversation is converted in another thread."""


class Positioned(NamedTuple):
    """An entry and its position in the transcript. The first position is 1."""

    position: int
    entry: Entry


def message_id(position: int) -> str:
    """The id of a message of the model or the user at a position, also while it is streamed."""
    return f"m{position}"


def plain_messages(entries: Iterable[Positioned]) -> list[dict[str, Any]]:
    """Messages of the user, of the assistant with its calls, and of tools. A running call has no result yet."""
    return [message for exchange in exchanges(entries) for message in exchange.messages()]


async def plain_messages_off_loop(entries: Sequence[Positioned]) -> list[dict[str, Any]]:
    """Do what `plain_messages` does without blocking the event loop for long."""
    if len(entries) <= ON_LOOP:
        return plain_messages(entries)
    return await asyncio.to_thread(plain_messages, entries)


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


def exchanges(entries: Iterable[Positioned]) -> list[Exchange]:
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
                calls = [call for call in _calls(response) if call["call_id"] not in seen]
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
            case TurnStart():
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


def _calls(response: ModelResponse) -> list[dict[str, Any]]:
    return [
        {"call_id": part.tool_call_id, "tool": part.tool_name, "arguments": part.args_as_dict()}
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]


def _result(call_id: str, tool: str, content: Any, failed: bool) -> dict[str, Any]:
    return {"id": f"r{call_id}", "role": "tool", "call_id": call_id, "tool": tool, "content": content, "failed": failed}
