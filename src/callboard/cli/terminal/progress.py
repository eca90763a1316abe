"""Progress of a call: a live table on a terminal, plain lines, or the board's events as JSON.

The live table has a row for each running execution. Partial results, failed attempts and notices are printed above it
and stay. Rich draws in its own thread, so that the table moves even while a handler blocks the event loop.
"""

import os
import sys
import time
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ...events.event import Event
from ...events.kinds import EventKind
from .text import attempt_of, compact, describe_error, describe_event, one_line, percent, seconds

MAX_ROWS = 8
"""Rows drawn at once, at most: the call, and its newest nested calls."""


@dataclass(slots=True)
class Row:
    """The progress of one execution."""

    tool: str
    since: float
    stage: str = ""
    message: str = ""
    fraction: float | None = None
    attempt: str = ""
    retry_at: float | None = None
    """When the next attempt starts, during a delay."""
    spinner: Spinner = field(default_factory=lambda: Spinner("dots", style="cyan"))


class ProgressTable:
    """A table of the running executions, updated by events."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}

    def update(self, event: Event) -> None:
        """Update the row of an event. Its owner removes the row of an ended execution."""
        data = event.data
        execution_id: str = data.get("execution_id", "")
        row = self.rows.get(execution_id)
        match event.kind:
            case EventKind.TOOL_STARTED:
                self.rows[execution_id] = Row(one_line(data["tool"]), time.monotonic())
            case EventKind.TOOL_EXECUTING if row is not None:
                row.attempt = attempt_of(data) if data["attempt"] > 1 else ""
                row.stage, row.message, row.fraction, row.retry_at = "", "", None, None
            case EventKind.TOOL_PROGRESS if row is not None:
                row.stage, row.message = one_line(data["stage"]), one_line(data.get("message") or "")
                row.fraction = data.get("fraction")
            case EventKind.TOOL_RETRYING if row is not None:
                row.attempt = ""
                row.retry_at = time.monotonic() + data["delay"]
            case EventKind.HUMAN_REQUEST | EventKind.WALLET_TX_REQUEST if row is not None:
                row.stage = "waiting for you"
            case _:
                pass

    def move_to_top(self, execution_id: str) -> None:
        """Draw a row above all others."""
        if execution_id in self.rows:
            self.rows = {execution_id: self.rows[execution_id], **self.rows}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = list(self.rows.values())  # another thread may add one
        if not rows:
            return
        table = Table.grid(padding=(0, 1))
        for _ in range(3):
            table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column()
        table.add_column(justify="right", no_wrap=True)
        drawn = rows if len(rows) <= MAX_ROWS else [rows[0], *rows[1 - MAX_ROWS :]]
        now = time.monotonic()
        for row in drawn:
            table.add_row(*_cells(row, now, bar_width=max(8, min(30, options.max_width // 4))))
        yield table
        if len(rows) > len(drawn):
            yield Text(f"  and {len(rows) - len(drawn)} more", style="dim")


class CallView(Protocol):
    """Shows a call while it runs, inside a `with` block."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...

    def show(self, event: Event) -> None:
        """Show the next event of the board."""
        ...

    def note(self, message: str) -> None:
        """Show a remark. May be called from any thread."""
        ...

    def abandon(self) -> None:
        """Restore the terminal, since the process is about to exit. Called in a signal handler."""
        ...


class LineView:
    """A plain line on standard error for each event: no colours, no control codes."""

    def __init__(self, call_id: str) -> None:
        self._call_id = call_id
        """The call to show. Its result is printed elsewhere."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def show(self, event: Event) -> None:
        if event.kind == EventKind.TOOL_RESULT and event.data["call_id"] == self._call_id:
            return
        if (line := describe_event(event)) is not None:
            self.note(f"{event.data.get('tool', 'notice')}: {line}")

    def note(self, message: str) -> None:
        print(one_line(message), file=sys.stderr, flush=True)  # noqa: T201

    def abandon(self) -> None: ...


class JsonView(LineView):
    """Each event as a line of JSON on a stream; remarks go to standard error."""

    def __init__(self, call_id: str, stream: BinaryIO) -> None:
        super().__init__(call_id)
        self._stream = stream

    def show(self, event: Event) -> None:
        self._stream.write(event.line + b"\n")
        self._stream.flush()


class LiveView:
    """A live table at the bottom of a terminal. Text that handlers print appears above it."""

    def __init__(self, call_id: str, console: Console) -> None:
        self._call_id = call_id
        self._main = ""
        """The execution of the call to show. Its result is printed elsewhere."""
        self._console = console
        self._table = ProgressTable()
        self._live = Live(self._table, console=console, refresh_per_second=10, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.__exit__(None, None, None)

    def show(self, event: Event) -> None:
        self._table.update(event)
        data = event.data
        execution_id: str = data.get("execution_id", "")
        known = execution_id in self._table.rows
        if data.get("call_id") == self._call_id and not self._main:
            self._main = execution_id
            self._table.move_to_top(execution_id)
        match event.kind:
            case EventKind.TOOL_STARTED | EventKind.TOOL_VALIDATING:
                pass
            case EventKind.TOOL_EXECUTING | EventKind.TOOL_PROGRESS if known:
                pass
            case EventKind.TOOL_RETRYING if known:
                reason = f"({describe_error(data['error'])})"
                self._print("✗", "red", f"{attempt_of(data)} failed ", reason, execution_id)
            case EventKind.TOOL_PARTIAL:
                self._print("▸", "cyan", compact(data["value"]), execution_id=execution_id)
            case EventKind.TOOL_RESULT:
                self._end(execution_id, data)
            case _:
                self._print("!", "yellow", describe_event(event) or "")

    def note(self, message: str) -> None:
        self._print("!", "yellow", one_line(message))

    def abandon(self) -> None:
        os.write(self._console.file.fileno(), b"\x1b[?25h\r\n")  # show the cursor again

    def _end(self, execution_id: str, data: dict[str, Any]) -> None:
        row = self._table.rows.pop(execution_id, None)
        if execution_id == self._main or row is None:
            return
        duration = f"in {seconds(time.monotonic() - row.since)}"
        if data.get("error"):
            reason = f"({describe_error(data['error'])})"
            self._print("✗", "red", f"{data['tool']} {data['status']} {duration} ", reason)
        else:
            self._print("✓", "green", f"{data['tool']} ", duration)

    def _print(self, mark: str, style: str, text: str, detail: str = "", execution_id: str = "") -> None:
        """Print a line above the table. Lines of nested calls start with the tool's name."""
        nested = None if execution_id == self._main else self._table.rows.get(execution_id)
        name = "" if nested is None else f"{nested.tool} "
        line = Text.assemble((f"{mark} ", style), (name, "bold"), text, (detail, "dim"))
        self._console.print(line, soft_wrap=True)


def _cells(row: Row, now: float, bar_width: int) -> tuple[Any, ...]:
    """The cells of a row."""
    elapsed = Text(seconds(now - row.since), style="dim")
    name = Text(row.tool, style="bold")
    if row.retry_at is not None:
        left = max(0.0, row.retry_at - now)
        return row.spinner, name, "", "", Text(f"next attempt in {left:.1f} s", style="yellow"), elapsed
    text = Text(no_wrap=True, overflow="ellipsis")
    for part, style in ((row.attempt, "yellow"), (row.stage, "cyan"), (row.message, "")):
        if part:
            text.append(("  " if text else "") + part, style)
    if row.fraction is None:
        return row.spinner, name, "", "", text, elapsed
    bar = ProgressBar(total=1.0, completed=row.fraction, width=bar_width, complete_style="cyan", finished_style="green")
    return row.spinner, name, bar, f"{percent(row.fraction):>4}", text, elapsed
