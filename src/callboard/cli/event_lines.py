"""An event of a board as one line for people: its number, the time, its kind, and what tells most about it."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

from rich.text import Text

from ..events.event import Event
from ..events.kinds import EventKind
from .console import out, print_line, print_text
from .text import blame, compact, one_line, span, told, why

MAX_VALUE = 300
"""How many characters of a value are shown."""
_KIND = max(map(len, EventKind))

_TOOLS, _PEOPLE, _TALK, _SERVICE, _SYSTEM, _TROUBLE = "cyan", "magenta", "green", "blue", "yellow", "red"

STYLES: Mapping[str, str] = {
    EventKind.HUMAN_REQUEST: _PEOPLE,
    EventKind.HUMAN_ANSWER: _PEOPLE,
    EventKind.WALLET_TX_REQUEST: _PEOPLE,
    EventKind.WALLET_TX_RESPONSE: _PEOPLE,
    EventKind.USER_REQUEST: _SERVICE,
    EventKind.USER_RESPONSE: _SERVICE,
    EventKind.SYSTEM_NOTICE: _SYSTEM,
    EventKind.CONNECTION: _SYSTEM,
    EventKind.SYSTEM_ERROR: _TROUBLE,
    EventKind.USER_INPUT: _TALK,
    EventKind.TEXT: _TALK,
    EventKind.TURN_STARTED: _TALK,
    EventKind.TURN_FINISHED: _TALK,
    EventKind.TURN_FAILED: _TROUBLE,
    EventKind.TURN_INTERRUPTED: _TALK,
    EventKind.TURN_PAUSED: _TALK,
}
"""The colour of every kind that is not a tool's; those of kinds that this version does not know have none."""

_ENDS = {"succeeded": "green", "confirmed": "green", "approved": "green", "cancelled": "yellow"}


class Entry(NamedTuple):
    """What is told of an event."""

    subject: str = ""
    """The tool, or what was asked for."""
    status: str = ""
    """How something ended."""
    text: str = ""
    aside: str = ""
    """An id by which events that belong together are found."""


class EventLines:
    """Prints events: in colours on a terminal, with a line where a day begins; else as plain lines with their date."""

    def __init__(self) -> None:
        self._day = date.today()

    def show(self, event: Event) -> None:
        at, entry = event.at.astimezone(), entry_of(event)
        if not out.is_terminal:
            print_text(_plain(event, at, entry))
            return
        if at.date() != self._day:
            self._day = at.date()
            print_line(Text(f"{'':>6}  {self._day:%A}, {self._day}", style="dim"))
        print_line(_coloured(event, at, entry))


def entry_of(event: Event) -> Entry:
    """What tells most about an event. One whose form only a newer version knows is told as the data that it is."""
    try:
        entry = _entry(event)
    except (KeyError, TypeError, AttributeError, ValueError):
        entry = None
    if entry is None or not all(isinstance(word, str) for word in entry):
        return Entry(text=_short(event.data))
    return entry


def _entry(event: Event) -> Entry:
    data = event.data
    match event.kind:
        case EventKind.TOOL_STARTED:
            return Entry(data["tool"], text=_short(data["arguments"]), aside=data["execution_id"])
        case EventKind.TOOL_PARTIAL:
            return Entry(data["tool"], text=_short(data["value"]), aside=data["execution_id"])
        case EventKind.TOOL_RESULT:
            text = why(data["status"], data["error"]) if data.get("error") else _short(data.get("value"))
            return Entry(data["tool"], data["status"], text, data["execution_id"])
        case EventKind() as kind if kind.startswith("tool_"):
            return Entry(data["tool"], text=told(event) or "", aside=data["execution_id"])
        case EventKind.HUMAN_REQUEST:
            return Entry(data["tool"], text=_short(data["payload"]) + _until(event), aside=data["request_id"])
        case EventKind.WALLET_TX_REQUEST:
            what = f"{data['value']} wei to {data['to']}: {data['description']}"
            return Entry(data["tool"], text=_short(what) + _until(event), aside=data["request_id"])
        case EventKind.HUMAN_ANSWER:
            return _answer(data["answer"], data["request_id"])
        case EventKind.WALLET_TX_RESPONSE:
            words = [data[name] for name in ("transaction_hash", "detail") if data.get(name)]
            return Entry("", data["status"], _short(" ".join(words)), data["request_id"])
        case EventKind.USER_REQUEST:
            return Entry(data["request_kind"], text=_short(data["payload"]), aside=data["request_id"])
        case EventKind.USER_RESPONSE if data.get("error"):
            return Entry(data["request_kind"], "failed", blame(data["error"]), data["request_id"])
        case EventKind.USER_RESPONSE:
            return Entry(data["request_kind"], text=_short(data["payload"]), aside=data["request_id"])
        case EventKind.SYSTEM_NOTICE | EventKind.SYSTEM_ERROR:
            return Entry(text=one_line(data["message"]))
        case EventKind.CONNECTION:
            words = (data["state"].replace("_", " "), data.get("message") or "")
            return Entry(data.get("name") or "", text=one_line(": ".join(word for word in words if word)))
        case EventKind.USER_INPUT:
            return Entry(text=_short(data["text"]))
        case EventKind.TEXT:
            return Entry(text=_short(data.get("text") or data["delta"]), aside=data["turn_id"])
        case EventKind.TURN_STARTED:
            return Entry(aside=data["turn_id"])
        case EventKind.TURN_PAUSED:
            return Entry(text="waits for a person", aside=data["turn_id"])
        case EventKind.TURN_FINISHED:
            return Entry(text=_usage(data.get("usage") or {}), aside=data["turn_id"])
        case EventKind.TURN_FAILED:
            return Entry(text=blame(data["error"]), aside=data["turn_id"])
        case EventKind.TURN_INTERRUPTED:
            return Entry(text=one_line(data.get("message") or ""), aside=data["turn_id"])
        case _:
            return Entry(text=_short(data))


def _answer(answer: Any, request_id: str) -> Entry:
    """An approval in a word; any other answer as it is."""
    if not isinstance(answer, dict) or not isinstance(answer.get("approved"), bool):  # pyright: ignore[reportUnknownMemberType]
        return Entry(text=_short(answer), aside=request_id)
    rest: dict[str, Any] = {name: value for name, value in answer.items() if name != "approved"}  # pyright: ignore[reportUnknownVariableType]
    if set(rest) <= {"reason"}:
        text = _short(rest.get("reason") or "")
    else:
        text = f"with {_short(rest['arguments'])}" if set(rest) == {"arguments"} else _short(rest)
    return Entry("", "approved" if answer["approved"] else "refused", text, request_id)


def _until(event: Event) -> str:
    expires_at = event.data.get("expires_at")
    if expires_at is None:
        return ""
    return f" (expires after {span((datetime.fromisoformat(expires_at) - event.at).total_seconds())})"


def _usage(usage: Mapping[str, Any]) -> str:
    words = [f"{usage[name]:,} {said}" for name, said in _USED.items() if usage.get(name)]
    return ", ".join([*words, *([f"${usage['cost']:.4f}"] if usage.get("cost") else [])])


_USED = {
    "requests": "requests",
    "tool_calls": "tool calls",
    "input_tokens": "tokens read",
    "output_tokens": "tokens written",
}


def _short(value: Any) -> str:
    return compact(value, MAX_VALUE)


def _clock(at: datetime, *, day: bool) -> str:
    shown = at.replace(tzinfo=None)
    return shown.isoformat(" ", "milliseconds") if day else shown.time().isoformat("milliseconds")


def _plain(event: Event, at: datetime, entry: Entry) -> str:
    ended = ": ".join(word for word in (entry.status, entry.text) if word)
    said = one_line(" ".join(word for word in (entry.subject, ended, entry.aside and f"[{entry.aside}]") if word))
    return f"{event.seq:>6}  {_clock(at, day=True)}  {one_line(event.kind):<{_KIND}}  {said}".rstrip()


def _coloured(event: Event, at: datetime, entry: Entry) -> Text:
    kind = event.kind
    known = kind in STYLES or kind.startswith("tool_")
    line = Text.assemble(
        (f"{event.seq:>6}  ", "dim"),
        _clock(at, day=False),
        "  ",
        (f"{one_line(kind):<{_KIND}}", STYLES.get(kind, _TOOLS) if known else "dim"),
    )
    for word, style in (
        (entry.subject, "bold"),
        (entry.status, _ENDS.get(entry.status, "red")),
        (entry.text, ""),
        (entry.aside, "dim"),
    ):
        if word:
            line.append("  ").append(one_line(word), style)
    return line
