"""The header of an encoded event (see `events.event.encode_event`): its kind and its time."""

from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic_core import from_json

from ...events.kinds import EventKind


class EventHeader(NamedTuple):
    """The kind of an event, and its time in seconds since 1970."""

    kind: str
    at: float


def event_header(event: bytes) -> EventHeader:
    """Read the kind and the time of an event. Raises `ValueError` if it is not an event.

    They precede the data, and many events of one moment begin alike: such a beginning is parsed once.
    """
    end = event.find(b',"data":')
    known = _beginning(event[:end]) if end > 0 else None
    return known or _read(event)


def input_id(event: bytes) -> str | None:
    """Read the id of the input that an event posts; None if it posts none."""
    if event_header(event).kind != EventKind.USER_INPUT:
        return None
    fields: dict[str, dict[str, Any]] = from_json(event)
    return fields.get("data", {}).get("input_id")


@lru_cache(1024)
def _beginning(text: bytes) -> EventHeader | None:
    try:
        return _read(text + b"}")
    except ValueError:
        return None


def _read(event: bytes) -> EventHeader:
    fields: Any = from_json(event)
    try:
        return EventHeader(str(fields["kind"]), datetime.fromisoformat(fields["at"]).timestamp())
    except (TypeError, KeyError) as error:
        raise ValueError("an event is an object with a kind and a time") from error
