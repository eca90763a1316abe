"""The transcript: what happened in a conversation, in the order in which it happened. It only ever grows at its end.

Stored are facts: an input, what the model said, the answer to a call, a result that came late. How they read for a
model is made of them by `rendering`, by a pure function.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_core import from_json, to_json


@dataclass(frozen=True, slots=True)
class Input:
    """What the user wrote."""

    text: str
    seq: int = 0
    """The number of its event."""
    id: str = ""
    """That of its row in the store, which ends when it is told."""
    message_id: str = ""
    """The id that its sender gave it, if any."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the model said: text, thoughts, calls. One that was cut off has what came until then."""

    response: ModelResponse


@dataclass(frozen=True, slots=True)
class Answered:
    """The one answer to a call of the model: its result, or the acknowledgement that it goes on."""

    call_id: str
    tool: str
    content: Any
    execution_id: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Late:
    """A result that came after its call was acknowledged. It reads as a call of `task_result` and its answer."""

    execution_id: str
    content: Any
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Noted:
    """Something that the system says to the model, because whoever posted it wants that."""

    text: str
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Began:
    """A turn began, or goes on: after a pause, or in another process. The model is told nothing of it.

    What stands before it may have been sent to the model, even where no answer follows.
    """

    turn_id: str
    number: int
    """The first is 1, and there are no gaps: whoever begins the next one knows all that came before."""


Entry: TypeAlias = Input | Said | Answered | Late | Noted | Began


def encode_entry(entry: Entry) -> bytes:
    """An entry as it is stored."""
    if isinstance(entry, Said):
        return b'{"kind":"said","message":%b}' % ModelMessagesTypeAdapter.dump_json([entry.response])
    fields = {name: getattr(entry, name) for name in entry.__slots__}
    return to_json({"kind": _NAMES[type(entry)], **fields})


def decode_entry(line: bytes) -> Entry | None:
    """A stored entry. None for a kind that only a newer version knows: it is left out of what is rendered."""
    fields: dict[str, Any] = from_json(line)
    if fields.get("kind") == "said":
        [message] = ModelMessagesTypeAdapter.validate_python(fields["message"])
        return Said(message) if isinstance(message, ModelResponse) else None
    return _made(fields)


def decode_shown(line: bytes) -> Entry | None:
    """A stored entry as people are shown it: of what the model said, only texts and calls, and not validated again."""
    fields: dict[str, Any] = from_json(line)
    if fields.get("kind") != "said":
        return _made(fields)
    parts: list[ModelResponsePart] = []
    for message in fields["message"]:
        if message.get("kind") != "response":
            return None
        for part in message["parts"]:
            if part["part_kind"] == "text":
                parts.append(TextPart(part["content"]))
            elif part["part_kind"] == "tool-call":
                parts.append(ToolCallPart(part["tool_name"], part["args"], part["tool_call_id"]))
    return Said(ModelResponse(parts=parts))


def _made(fields: dict[str, Any]) -> Entry | None:
    made = _KINDS.get(fields.get("kind"))
    return None if made is None else made(**{name: fields[name] for name in made.__slots__ if name in fields})


_NAMES: dict[type[Any], str] = {
    Input: "input",
    Answered: "answered",
    Late: "late",
    Noted: "noted",
    Began: "began",
}
_KINDS: dict[Any, type[Any]] = {name: kind for kind, name in _NAMES.items()}
