"""The words of a person or the model in an entry of a transcript. Other entries are not searched."""

from typing import Any, NamedTuple

from pydantic_core import from_json

_KINDS = (b'{"kind":"input"', b'{"kind":"said"')
"""How such entries begin: `chat.transcript` writes the kind first. Others are not decoded."""


class Spoken(NamedTuple):
    """A message of a conversation."""

    role: str
    """The author: `user` or `assistant`."""
    text: str


def spoken(entry: bytes) -> Spoken | None:
    """Return the message of an entry; None if it has no text of a person or the model."""
    if not entry.startswith(_KINDS):
        return None
    try:
        fields: Any = from_json(entry)
        if fields["kind"] == "input":
            said = Spoken("user", fields["text"])
        else:
            parts = [part for message in fields["message"] for part in message["parts"]]
            said = Spoken("assistant", "\n".join(part["content"] for part in parts if part["part_kind"] == "text"))
        return said if said.text.strip() else None
    except (ValueError, TypeError, KeyError, AttributeError):  # of another version
        return None
