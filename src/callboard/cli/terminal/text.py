"""Text for people: an event, a value, an error or a duration on one line."""

import json
from datetime import datetime
from typing import Any

from ...events.event import Event
from ...events.kinds import EventKind
from ...shortening import shorten

MAX_VALUE = 2_000
"""Characters of a value that are printed, at most."""


def describe_event(event: Event) -> str | None:
    """Describe an event of a call; None for events that need no line."""
    data = event.data
    match event.kind:
        case EventKind.TOOL_STARTED | EventKind.TOOL_VALIDATING:
            return None
        case EventKind.TOOL_EXECUTING:
            return attempt_of(data)
        case EventKind.TOOL_PROGRESS:
            fraction = data.get("fraction")
            stage = one_line(data["stage"]) + ("" if fraction is None else f" {percent(fraction)}")
            return f"{stage}: {one_line(data['message'])}" if data.get("message") else stage
        case EventKind.TOOL_PARTIAL:
            return f"partial: {compact(data['value'])}"
        case EventKind.TOOL_RETRYING:
            reason = describe_error(data["error"])
            return f"{attempt_of(data)} failed ({reason}); next attempt in {seconds(data['delay'])}"
        case EventKind.TOOL_RESULT:
            return f"{data['status']} ({describe_error(data['error'])})" if data.get("error") else str(data["status"])
        case EventKind.SYSTEM_NOTICE:
            return one_line(data["message"])
        case kind:  # of a newer version
            return f"{kind} {compact(data)}"


def describe_transaction(data: dict[str, Any]) -> str:
    """Describe the transaction of a wallet request."""
    return f"{data['value']} wei to {data.get('to') or 'a new contract'}: {data['description']}"


def attempt_of(data: dict[str, Any]) -> str:
    """The attempt that an event belongs to."""
    return f"attempt {data['attempt']} of {data['maximum']}"


def describe_error(error: dict[str, Any]) -> str:
    """An error of the board: its category and its message."""
    return f"{error['category']}: {one_line(error['message']).rstrip('.')}"


def error_beside_status(status: str, error: dict[str, Any]) -> str:
    """An error printed after a status, without the category if that is the status."""
    return one_line(error["message"]).rstrip(".") if error["category"] == status else describe_error(error)


def compact(value: Any, limit: int = MAX_VALUE) -> str:
    """A value on one line, shortened; a string without quotes."""
    return one_line(shorten(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), limit))


def percent(fraction: float) -> str:
    return f"{int(fraction * 100)}%"  # rounded down: 100% means finished


def seconds(duration: float) -> str:
    """A duration with its unit."""
    if duration < 0.1:
        return f"{duration * 1000:.0f} ms"
    if duration < 60:
        return f"{duration:.1f} s"
    minutes, rest = divmod(round(duration), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"


def span(duration: float) -> str:
    """A duration rounded down to one unit, such as an age."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if duration >= (2 * length if unit == "d" else length):
            return f"{int(duration / length)} {unit}"
    return f"{max(0, int(duration))} s"


def when(timestamp: float) -> str:
    """A timestamp in local time."""
    return datetime.fromtimestamp(timestamp).isoformat(" ", "seconds")


def one_line(text: str) -> str:
    """Text on one line, safe for a terminal."""
    return safe(" ".join(text.split()))


def safe(text: str) -> str:
    """Text with its control characters escaped, for untrusted text on a terminal. Line breaks stay."""
    if text.isprintable():
        return text
    return "".join(each if each in "\n\t" or not _is_control(each) else _visible(each) for each in text)


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f" or character in _REORDERING


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode()


_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the order in which a terminal displays text."""
