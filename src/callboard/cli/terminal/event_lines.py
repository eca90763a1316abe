"""The events of a board as lines: number, time, kind, and a summary."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

from rich.text import Text

from ...events.event import Event
from ...events.kinds import EventKind
from .console import out, print_line, print_text
from .text import (
    approval_of,
    compact,
    describe_error,
    describe_event,
    describe_transaction,
    error_beside_status,
    one_line,
    span,
)

MAX_VALUE = 300
"""Characters of a value that a line shows, at most."""
_KIND_WIDTH = max(map(len, EventKind))

_TOOL, _PERSON, _TURN, _WORKER, _SYSTEM, _ERROR = "cyan", "magenta", "green", "blue", "yellow", "red"

STYLES: Mapping[str, str] = {
    EventKind.HUMAN_REQUEST: _PERSON,
    EventKind.HUMAN_ANSWER: _PERSON,
    EventKind.WALLET_TX_REQUEST: _PERSON,
    EventKind.WALLET_TX_RESPONSE: _PERSON,
    EventKind.USER_REQUEST: _WORKER,
    EventKind.USER_RESPONSE: _WORKER,
    EventKind.SYSTEM_NOTICE: _SYSTEM,
    EventKind.CONNECTION: _SYSTEM,
    EventKind.SYSTEM_ERROR: _ERROR,
    EventKind.USER_INPUT: _TURN,
    EventKind.TEXT: _TURN,
    EventKind.TURN_STARTED: _TURN,
    EventKind.TURN_FINISHED: _TURN,
    EventKind.TURN_FAILED: _ERROR,
    EventKind.TURN_INTERRUPTED: _TURN,
    EventKind.TURN_PAUSED: _TURN,
}
"""The colour of every known kind that does not start with `tool_`."""

_STATUS_STYLES = {"succeeded": "green", "confirmed": "green", "approved": "green", "cancelled": "yellow"}


class Summary(NamedTuple):
    """The parts of a line after the kind."""

    subject: str = ""
    """The tool, or the kind of request."""
    status: str = ""
    """The status with which a call or a request ended."""
    text: str = ""
    related_id: str = ""
    """The id that related events share: of an execution, a request or a turn."""


class EventLines:
    """Prints events: in colours and grouped by day on a terminal, as plain lines with a date elsewhere."""

    def __init__(self) -> None:
        self._day = date.today()

    def show(self, event: Event) -> None:
        at, summary = event.at.astimezone(), summarise(event)
        if not out.is_terminal:
            print_text(_plain(event, at, summary))
            return
        if at.date() != self._day:
            self._day = at.date()
            print_line(Text(f"{'':>6}  {self._day:%A}, {self._day}", style="dim"))
        print_line(_coloured(event, at, summary))


def summarise(event: Event) -> Summary:
    """Summarise an event. An event whose data only a newer version knows is summarised as its data."""
    try:
        summary = _summarise(event)
    except (KeyError, TypeError, AttributeError, ValueError):
        summary = None
    if summary is None or not all(isinstance(word, str) for word in summary):
        return Summary(text=_short(event.data))
    return summary


def _summarise(event: Event) -> Summary:
    data = event.data
    match event.kind:
        case EventKind.TOOL_STARTED:
            return Summary(data["tool"], text=_short(data["arguments"]), related_id=data["execution_id"])
        case EventKind.TOOL_PARTIAL:
            return Summary(data["tool"], text=_short(data["value"]), related_id=data["execution_id"])
        case EventKind.TOOL_RESULT:
            error = data.get("error")
            text = error_beside_status(data["status"], error) if error else _short(data.get("value"))
            return Summary(data["tool"], data["status"], text, data["execution_id"])
        case EventKind() as kind if kind.startswith("tool_"):
            return Summary(data["tool"], text=describe_event(event) or "", related_id=data["execution_id"])
        case EventKind.HUMAN_REQUEST:
            return Summary(data["tool"], text=_short(data["payload"]) + _expiry(event), related_id=data["request_id"])
        case EventKind.WALLET_TX_REQUEST:
            transaction = _short(describe_transaction(data))
            return Summary(data["tool"], text=transaction + _expiry(event), related_id=data["request_id"])
        case EventKind.HUMAN_ANSWER:
            return _answer(data)
        case EventKind.WALLET_TX_RESPONSE:
            words = [data[name] for name in ("transaction_hash", "contract_address", "detail") if data.get(name)]
            return Summary("", data["status"], _short(" ".join(words)), data["request_id"])
        case EventKind.USER_REQUEST:
            return Summary(data["request_kind"], text=_short(data["payload"]), related_id=data["request_id"])
        case EventKind.USER_RESPONSE if data.get("error"):
            return Summary(data["request_kind"], "failed", describe_error(data["error"]), data["request_id"])
        case EventKind.USER_RESPONSE:
            return Summary(data["request_kind"], text=_short(data["payload"]), related_id=data["request_id"])
        case EventKind.SYSTEM_NOTICE | EventKind.SYSTEM_ERROR:
            return Summary(text=one_line(data["message"]))
        case EventKind.CONNECTION:
            words = (data["state"].replace("_", " "), data.get("message") or "")
            return Summary(data.get("name") or "", text=one_line(": ".join(word for word in words if word)))
        case EventKind.USER_INPUT:
            return Summary(text=_short(data["text"]))
        case EventKind.TEXT:
            return Summary(text=_short(data.get("text") or data["delta"]), related_id=data["turn_id"])
        case EventKind.TURN_STARTED:
            return Summary(related_id=data["turn_id"])
        case EventKind.TURN_PAUSED:
            return Summary(text="waiting for a person", related_id=data["turn_id"])
        case EventKind.TURN_FINISHED:
            return Summary(text=_usage(data.get("usage") or {}), related_id=data["turn_id"])
        case EventKind.TURN_FAILED:
            return Summary(text=describe_error(data["error"]), related_id=data["turn_id"])
        case EventKind.TURN_INTERRUPTED:
            return Summary(text=one_line(data.get("message") or ""), related_id=data["turn_id"])
        case _:
            return Summary(text=_short(data))


def _answer(data: Mapping[str, Any]) -> Summary:
    """Summarise an approval by its status, and any other answer by its data."""
    request_id = data["request_id"]
    if (approval := approval_of(data)) is None:
        return Summary(text=_short(data["answer"]), related_id=request_id)
    rest = {name: value for name, value in approval.items() if name != "approved"}
    if set(rest) <= {"reason"}:
        text = _short(rest.get("reason") or "")
    else:
        text = f"with {_short(rest['arguments'])}" if set(rest) == {"arguments"} else _short(rest)
    return Summary("", "approved" if approval["approved"] else "rejected", text, request_id)


def _expiry(event: Event) -> str:
    expires_at = event.data.get("expires_at")
    if expires_at is None:
        return ""
    return f" (expires after {span((datetime.fromisoformat(expires_at) - event.at).total_seconds())})"


def _usage(usage: Mapping[str, Any]) -> str:
    words = [f"{usage[name]:,} {unit}" for name, unit in _USAGE.items() if usage.get(name)]
    return ", ".join([*words, *([f"${usage['cost']:.4f}"] if usage.get("cost") else [])])


_USAGE = {
    "requests": "requests",
    "tool_calls": "tool calls",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
}


def _short(value: Any) -> str:
    return compact(value, MAX_VALUE)


def _clock(at: datetime, *, day: bool) -> str:
    local = at.replace(tzinfo=None)
    return local.isoformat(" ", "milliseconds") if day else local.time().isoformat("milliseconds")


def _plain(event: Event, at: datetime, summary: Summary) -> str:
    result = ": ".join(word for word in (summary.status, summary.text) if word)
    related = summary.related_id and f"[{summary.related_id}]"
    text = one_line(" ".join(word for word in (summary.subject, result, related) if word))
    return f"{event.seq:>6}  {_clock(at, day=True)}  {one_line(event.kind):<{_KIND_WIDTH}}  {text}".rstrip()


def _coloured(event: Event, at: datetime, summary: Summary) -> Text:
    kind = event.kind
    known = kind in STYLES or kind.startswith("tool_")
    line = Text.assemble(
        (f"{event.seq:>6}  ", "dim"),
        _clock(at, day=False),
        "  ",
        (f"{one_line(kind):<{_KIND_WIDTH}}", STYLES.get(kind, _TOOL) if known else "dim"),
    )
    for word, style in (
        (summary.subject, "bold"),
        (summary.status, _STATUS_STYLES.get(summary.status, "red")),
        (summary.text, ""),
        (summary.related_id, "dim"),
    ):
        if word:
            line.append("  ").append(one_line(word), style)
    return line
