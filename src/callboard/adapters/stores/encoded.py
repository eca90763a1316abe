"""What an encoded event (see `events.event.encode_event`) says about itself: by what events are looked for."""

from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic_core import from_json

from ...events.kinds import EventKind


class Posted(NamedTuple):
    """The kind of an event, and its time in seconds since 1970."""

    kind: str
    at: float


def posted(event: bytes) -> Posted:
    """Its kind and its time. Raises `ValueError` where it is not an event.

    They stand before the data, and many events of one moment begin alike: such a beginning is read once.
    """
    end = event.find(b',"data":')
    known = _beginning(event[:end]) if end > 0 else None
    return known or _read(event)


@lru_cache(1024)
def _beginning(text: bytes) -> Posted | None:
    try:
        return _read(text + b"}")
    except ValueError:
        return None


def input_of(event: bytes) -> str | None:
    """The id of the row that an input has until the model is told of it, if it has one."""
    if posted(event).kind != EventKind.USER_INPUT:
        return None
    fields: dict[str, dict[str, Any]] = from_json(event)
    return fields.get("data", {}).get("input_id")


def _read(event: bytes) -> Posted:
    fields: Any = from_json(event)
    try:
        return Posted(str(fields["kind"]), datetime.fromisoformat(fields["at"]).timestamp())
    except (TypeError, KeyError) as error:
        raise ValueError("an event is an object with a kind and a time") from error
