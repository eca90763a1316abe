"""A conversation on a screen: messages, calls with their progress, requests and answers.

On a terminal, running calls are drawn at the bottom, and finished lines are printed above them. Elsewhere each event is
a plain line, or a line of JSON.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Self

from pydantic_core import from_json
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from ...events.event import Event
from ...events.kinds import EventKind
from ...sessions.answers import REJECTED
from .call_view import ProgressTable
from .console import err, out, print_line
from .text import describe_answer, describe_error, describe_event, fields, mapping, one_line, safe, safe_json


class Screen:
    """Shows a conversation, inside a `with` block: plain lines on standard output."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def show(self, event: Event) -> None:
        """Show the next event of the board."""
        if (line := line_of(event)) is not None:
            print_line(line)

    def show_delta(self, event: bytes) -> None:
        """Show an event for live readers only: a piece of the text that the model is writing."""

    def explain(self, text: str) -> None:
        """Show an explanation."""
        print_line(Text(f"\n# {text}", "italic"))


class JsonScreen(Screen):
    """Each event as a line of JSON on standard output; explanations go to standard error."""

    def show(self, event: Event) -> None:
        out.file.write(safe_json(event.line.decode()) + "\n")
        out.file.flush()

    def explain(self, text: str) -> None:
        err.print(Text(text, "dim"), soft_wrap=True)


class LiveScreen(Screen):
    """A terminal that is redrawn. `prompt` returns its last line, such as the line that is being typed."""

    def __init__(self, prompt: Callable[[], Text] | None = None) -> None:
        self._prompt = prompt
        self._table = ProgressTable()
        self._partial_text = ""
        self._live = Live(self, console=out, refresh_per_second=12, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.__exit__(None, None, None)

    def show(self, event: Event) -> None:
        self._table.update(event)
        execution_id: str = event.data.get("execution_id", "")
        match event.kind:
            case EventKind.TOOL_PROGRESS if execution_id in self._table.rows:
                return  # the table shows it
            case EventKind.TOOL_RESULT:
                self._table.rows.pop(execution_id, None)
            case EventKind.TEXT | EventKind.TURN_INTERRUPTED | EventKind.TURN_FAILED:
                self._partial_text = ""
            case _:
                pass
        super().show(event)

    def show_delta(self, event: bytes) -> None:
        delta = from_json(event)
        if delta["kind"] == EventKind.TEXT:
            self._partial_text += delta["data"]["delta"]

    @contextmanager
    def paused(self) -> Generator[None]:
        """Draw nothing inside a `with` block, and show the cursor."""
        self._live.stop()
        try:
            yield
        finally:
            self._live.start()

    def refresh(self) -> None:
        """Redraw now, as after a key."""
        self._live.refresh()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._partial_text:
            yield Text.assemble(_MODEL, safe(self._partial_text))
        yield self._table
        if self._prompt is not None:
            yield self._prompt()


_YOU = ("you    ", "bold green")
_MODEL = ("model  ", "bold cyan")
_INDENT = "       "


def line_of(event: Event) -> Text | None:
    """The line for an event; None for events that need no line."""
    data = event.data
    match event.kind:
        case EventKind.USER_INPUT:
            return Text.assemble(_YOU, safe(data["text"]))
        case EventKind.TEXT:
            return Text.assemble(_MODEL, safe(data.get("text") or "").replace("\n", "\n" + _INDENT))
        case EventKind.TOOL_STARTED:
            return _line("→", "cyan", data["tool"], fields(data["arguments"]))
        case EventKind.TOOL_PROGRESS | EventKind.TOOL_PARTIAL:
            return _line("·", "dim", data["tool"], describe_event(event) or "")
        case EventKind.TOOL_RETRYING:
            return _line("↻", "yellow", data["tool"], describe_event(event) or "")
        case EventKind.TOOL_RESULT if _is_rejected(data.get("error")):
            return _line("–", "dim", data["tool"], one_line(data["error"]["message"]))
        case EventKind.TOOL_RESULT if data.get("error"):
            return _line("✗", "red", data["tool"], describe_error(data["error"]))
        case EventKind.TOOL_RESULT:
            return _line("✓", "green", data["tool"], fields(data.get("value")))
        case EventKind.HUMAN_REQUEST | EventKind.WALLET_TX_REQUEST:
            return _line("?", "bold magenta", data["tool"], describe_event(event) or "")
        case EventKind.HUMAN_ANSWER:
            return Text.assemble(_YOU, describe_answer(data, "yes", "no"))
        case EventKind.TURN_FAILED:
            return Text.assemble(("error  ", "bold red"), describe_error(data["error"]))
        case EventKind.TURN_INTERRUPTED:
            return Text(f"{_INDENT}(stopped)", "yellow")
        case EventKind.SYSTEM_NOTICE | EventKind.SYSTEM_ERROR:
            return _line("!", "yellow", "", one_line(data["message"]))
        case _:
            return None


def _line(mark: str, style: str, tool: str, text: str) -> Text:
    return Text.assemble(_INDENT, (f"{mark} ", style), (f"{one_line(tool)} " if tool else "", "bold"), (text, "dim"))


def _is_rejected(error: Any) -> bool:
    """Whether a person refused the call, which is not a failure."""
    details = mapping((mapping(error) or {}).get("details")) or {}
    return details.get("decision") == REJECTED
