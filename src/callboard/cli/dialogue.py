"""A conversation on a screen: what people and the model say, the calls with their progress, questions and answers.

On a terminal what runs is drawn at the bottom and moves; what is worth keeping is printed above it and stays. Anywhere
else every event is a plain line.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self, cast

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from ..events.event import Event
from ..events.kinds import EventKind
from ..sessions.answers import REJECTED
from .console import err, out, print_line
from .progress import Running
from .text import blame, compact, one_line, safe, told

SHORT = 200
"""How many characters of arguments and results are shown."""


class Screen(Protocol):
    """Shows a conversation, between `with` and its end."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...

    def show(self, event: Event) -> None:
        """Take the next event of the board."""
        ...

    def hear(self, delta: str) -> None:
        """A piece of text that the model says."""
        ...

    def explain(self, text: str) -> None:
        """Tell the person something about what is going on."""
        ...


class LineScreen:
    """Plain lines on standard output."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def show(self, event: Event) -> None:
        if (line := line_of(event)) is not None:
            print_line(line)

    def hear(self, delta: str) -> None: ...

    def explain(self, text: str) -> None:
        print_line(Text(f"\n# {text}", "italic"))


class JsonScreen(LineScreen):
    """Every event as one line of JSON, and nothing else on standard output."""

    def show(self, event: Event) -> None:
        out.file.write(event.line.decode() + "\n")
        out.file.flush()

    def explain(self, text: str) -> None:
        err.print(Text(text, "dim"), soft_wrap=True)


class LiveScreen(LineScreen):
    """A terminal. `prompt` gives what is drawn at the very bottom, such as a line that is being typed."""

    def __init__(self, prompt: Callable[[], Text] | None = None) -> None:
        self._prompt = prompt
        self._running = Running()
        self._heard = ""
        self._live = Live(self, console=out, refresh_per_second=12, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.__exit__(None, None, None)

    def show(self, event: Event) -> None:
        self._running.follow(event)
        own: str = event.data.get("execution_id", "")
        match event.kind:
            case EventKind.TOOL_PROGRESS if own in self._running.rows:
                return  # the bar says it
            case EventKind.TOOL_RESULT:
                self._running.rows.pop(own, None)
            case EventKind.TEXT | EventKind.TURN_INTERRUPTED | EventKind.TURN_FAILED:
                self._heard = ""
            case _:
                pass
        super().show(event)

    def hear(self, delta: str) -> None:
        self._heard += delta

    def refresh(self) -> None:
        """Draw it now, as after a key."""
        self._live.refresh()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._heard:
            yield Text.assemble(_MODEL, safe(self._heard))
        yield self._running
        if self._prompt is not None:
            yield self._prompt()


_YOU = ("you    ", "bold green")
_MODEL = ("model  ", "bold cyan")
_TOOL = "       "


def line_of(event: Event) -> Text | None:
    """What is kept of an event on a screen; None for those that tell a person nothing."""
    data = event.data
    match event.kind:
        case EventKind.USER_INPUT:
            return Text.assemble(_YOU, safe(data["text"]))
        case EventKind.TEXT:
            return Text.assemble(_MODEL, safe(data.get("text") or "").replace("\n", "\n" + _TOOL))
        case EventKind.TOOL_STARTED:
            return _line("→", "cyan", data["tool"], _fields(data["arguments"]))
        case EventKind.TOOL_PROGRESS | EventKind.TOOL_PARTIAL:
            return _line("·", "dim", data["tool"], told(event) or "")
        case EventKind.TOOL_RETRYING:
            return _line("↻", "yellow", data["tool"], told(event) or "")
        case EventKind.TOOL_RESULT if _is_rejected(data.get("error")):
            return _line("–", "dim", data["tool"], one_line(data["error"]["message"]))
        case EventKind.TOOL_RESULT if data.get("error"):
            return _line("✗", "red", data["tool"], blame(data["error"]))
        case EventKind.TOOL_RESULT:
            return _line("✓", "green", data["tool"], _fields(data.get("value")))
        case EventKind.HUMAN_REQUEST:
            return _line("?", "bold magenta", data["tool"], f"asks a person: {_fields(data['payload'])}")
        case EventKind.WALLET_TX_REQUEST:
            said = f"asks your wallet: {data['value']} wei to {data['to']}: {data['description']}"
            return _line("?", "bold magenta", data["tool"], one_line(said))
        case EventKind.HUMAN_ANSWER:
            return Text.assemble(_YOU, _answered(data["answer"]))
        case EventKind.TURN_FAILED:
            return Text.assemble(("error  ", "bold red"), blame(data["error"]))
        case EventKind.TURN_INTERRUPTED:
            return Text(f"{_TOOL}(stopped)", "yellow")
        case EventKind.SYSTEM_NOTICE | EventKind.SYSTEM_ERROR:
            return _line("!", "yellow", "", one_line(data["message"]))
        case _:
            return None


def _line(mark: str, style: str, tool: str, text: str) -> Text:
    return Text.assemble(_TOOL, (f"{mark} ", style), (f"{one_line(tool)} " if tool else "", "bold"), (text, "dim"))


def _fields(value: Any) -> str:
    """A value as people read it: fields with their names."""
    if (fields := _mapping(value)) is None:
        return compact(value, SHORT)
    return ", ".join(f"{one_line(name)}: {compact(each, SHORT)}" for name, each in fields.items())


def _answered(answer: Any) -> str:
    fields = _mapping(answer) or {}
    if not isinstance(fields.get("approved"), bool):
        return _fields(answer)
    reason, edited = fields.get("reason"), fields.get("arguments")
    if fields["approved"]:
        return "yes" if edited is None else f"yes, with {_fields(edited)}"
    return f"no: {compact(reason, SHORT)}" if reason else "no"


def _is_rejected(error: Any) -> bool:
    """Whether a call ended because a person refused it, which is no failure."""
    details = _mapping((_mapping(error) or {}).get("details")) or {}
    return details.get("decision") == REJECTED


def _mapping(value: Any) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None
