"""Text for people: an event, a value, an error or a duration on one line."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from ...events.event import Event
from ...events.kinds import TURN_STOPS, EventKind
from ...shortening import shorten
from ...types import RequestPurpose

MAX_VALUE = 2_000
"""Characters of a value that are printed, at most."""
MAX_FIELD = 200
"""Characters of a field of a value that are printed, at most."""


def describe_event(event: Event) -> str | None:
    """Describe an event of a call; None for events that need no line."""
    data = event.data
    match event.kind:
        case EventKind.TOOL_STARTED | EventKind.TOOL_VALIDATING:
            return None
        case EventKind.TOOL_EXECUTING:
            return attempt_of(data) if data["attempt"] > 1 else None
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
        case EventKind.HUMAN_REQUEST:
            return f"asks a person: {fields(data['payload'])}" if data["payload"] else "asks a person"
        case EventKind.HUMAN_ANSWER:
            return describe_answer(data)
        case EventKind.WALLET_TX_REQUEST:
            return f"asks your wallet: {one_line(describe_transaction(data))}"
        case EventKind.WALLET_TX_RESPONSE:
            about = [data[name] for name in ("transaction_hash", "contract_address", "detail") if data.get(name)]
            return f"{data['status']}: {compact(' '.join(about))}" if about else str(data["status"])
        case EventKind.USER_REQUEST:
            return f"request {one_line(data['request_kind'])}: {fields(data.get('payload'))}"
        case EventKind.USER_RESPONSE:
            answer = describe_error(data["error"]) if data.get("error") else fields(data.get("payload"))
            return f"response {one_line(data['request_kind'])}: {answer}"
        case EventKind.SYSTEM_NOTICE | EventKind.SYSTEM_ERROR:
            return one_line(data["message"])
        case EventKind.CONNECTION:
            words = (data.get("name"), data["state"].replace("_", " "), data.get("message"))
            return one_line(": ".join(word for word in words if word))
        case EventKind.USER_INPUT | EventKind.TEXT | EventKind.TURN_STARTED:
            return None  # of a conversation
        case kind if kind in TURN_STOPS:
            return None
        case kind:  # of a newer version
            return f"{kind} {compact(data)}"


def describe_answer(data: Mapping[str, Any], yes: str = "approved", no: str = "rejected") -> str:
    """Describe the data of a `human_answer`: an approval by its decision, any other answer by its fields."""
    if (approval := approval_of(data)) is None:
        return fields(data["answer"])
    reason, edited = approval.get("reason"), approval.get("arguments")
    if approval["approved"]:
        return yes if edited is None else f"{yes} with {fields(edited)}"
    return f"{no}: {compact(reason, MAX_FIELD)}" if reason else no


def approval_of(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The answer in the data of a `human_answer` that approves or rejects a call, or None if it is another answer.

    An event of an earlier version has no purpose; its answer is an approval if it has a decision.
    """
    answer, purpose = mapping(data["answer"]), data.get("purpose")
    if answer is None or not isinstance(answer.get("approved"), bool):
        return None
    return answer if purpose is None or purpose == RequestPurpose.APPROVAL else None


def fields(value: Any) -> str:
    """A value for people: the fields of an object with their names, anything else on one line."""
    if (named := mapping(value)) is None:
        return compact(value, MAX_FIELD)
    return ", ".join(f"{one_line(name)}: {compact(field, MAX_FIELD)}" for name, field in named.items())


def mapping(value: Any) -> Mapping[str, Any] | None:
    """The value if it is a JSON object, otherwise None."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


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


def safe_json(text: str) -> str:
    """JSON text with the same value, in which these characters are escaped too. JSON itself escapes only some."""
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f" or character in _REORDERING


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode()


_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the order in which a terminal displays text."""
_UNSAFE_IN_JSON = re.compile(f"[\x7f-\x9f{''.join(sorted(_REORDERING))}]")
"""Characters that `safe` escapes and that JSON allows in strings."""
