"""The transcript: an append-only list of the facts of a conversation.

A fact is an input, a response of the model, the answer to a call, or a late result. `rendering` turns them into the
messages for a model, as a pure function.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_core import from_json, to_json

ModelMessagesTypeAdapter.rebuild()  # by default it is built on first use, which would hold the event loop for 70 ms


@dataclass(frozen=True, slots=True)
class Input:
    """An input of the user."""

    text: str
    seq: int = 0
    """The number of its event."""
    id: str = ""
    """The id of its row in the store."""
    message_id: str = ""
    """The client's id of the message, if any."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response of the model: texts, thoughts and calls. An unfinished one has the texts that had arrived."""

    response: ModelResponse
    failed: bool = False
    """Whether an error ended it, so that the model still has to respond."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The only answer to a call of the model: its result, or an acknowledgement while the call runs on."""

    call_id: str
    tool: str
    content: Any
    execution_id: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class LateResult:
    """A result that came after its call was acknowledged. It is rendered as a call of `task_result`."""

    execution_id: str
    content: Any
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A message of the system for the model, as the poster of the event requested."""

    text: str
    seq: int = 0


@dataclass(frozen=True, slots=True)
class TurnStart:
    """The start of a turn, or of a part after a pause or a takeover. It is not rendered.

    The entries before it may have been sent to the model, even where no response follows.
    """

    turn_id: str
    number: int
    """Counts from 1 without gaps, so that a process that starts the next turn has read all entries before it."""


@dataclass(frozen=True, slots=True)
class LostResponse:
    """A response that ended before any text arrived. It counts as usage, and is not rendered."""

    input_tokens: int
    output_tokens: int
    cost: float | None


Entry: TypeAlias = Input | Reply | LostResponse | CallAnswer | LateResult | Note | TurnStart


def encode_entry(entry: Entry) -> bytes:
    """Encode an entry for the store."""
    if isinstance(entry, Reply):
        failed = b',"failed":true' if entry.failed else b""
        return b'{"kind":"said","message":%b%b}' % (ModelMessagesTypeAdapter.dump_json([entry.response]), failed)
    fields = {name: getattr(entry, name) for name in entry.__slots__}
    return to_json({"kind": _NAMES[type(entry)], **fields})


def decode_entry(line: bytes) -> Entry | None:
    """Decode a stored entry. None for a kind of a newer version, which is not rendered."""
    fields: dict[str, Any] = from_json(line)
    if fields.get("kind") == "said":
        [message] = ModelMessagesTypeAdapter.validate_python(fields["message"])
        return Reply(message, fields.get("failed", False)) if isinstance(message, ModelResponse) else None
    return _made(fields)


def decode_for_display(line: bytes) -> Entry | None:
    """Decode a stored entry for people: of a response only texts and calls, and without validation."""
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
    return Reply(ModelResponse(parts=parts))


def _made(fields: dict[str, Any]) -> Entry | None:
    made = _KINDS.get(fields.get("kind"))
    return None if made is None else made(**{name: fields[name] for name in made.__slots__ if name in fields})


_NAMES: dict[type[Any], str] = {
    Input: "input",
    LostResponse: "lost",
    CallAnswer: "answered",
    LateResult: "late",
    Note: "noted",
    TurnStart: "began",
}
_KINDS: dict[Any, type[Any]] = {name: kind for kind, name in _NAMES.items()}
