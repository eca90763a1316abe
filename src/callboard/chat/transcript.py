"""The transcript: what happened in a conversation, in the order in which it happened. It only ever grows at its end.

Stored are facts: an input, what the model said, the answer to a call, a result that came late. How they read for a
model is made of them by `rendering`, by a pure function.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
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
    """A turn began, or goes on after a pause. The model is told nothing of it."""

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
    kind = fields.pop("kind", None)
    if kind == "said":
        [message] = ModelMessagesTypeAdapter.validate_python(fields["message"])
        return Said(message) if isinstance(message, ModelResponse) else None
    if (made := _KINDS.get(kind)) is None:
        return None
    return made(**{name: fields[name] for name in made.__slots__ if name in fields})


_NAMES: dict[type[Any], str] = {
    Input: "input",
    Answered: "answered",
    Late: "late",
    Noted: "noted",
    Began: "began",
}
_KINDS: dict[Any, type[Any]] = {name: kind for kind, name in _NAMES.items()}
