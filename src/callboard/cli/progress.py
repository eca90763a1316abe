"""The live view of a call on a terminal: a row for each execution that runs, fed by the events of a board.

What is worth keeping (partial results, failed attempts, notices) is printed above the rows and stays; the rows vanish
with the view. Rich draws them in a thread of its own, so that they move even while a handler blocks the event loop.
"""

import os
import time
from dataclasses import dataclass, field
from typing import Any, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ..events.event import Event
from ..events.kinds import EventKind
from .text import attempt_of, blame, compact, one_line, percent, seconds, told

MAX_ROWS = 8
"""How many executions are shown at once: the call, and those that it made last."""


@dataclass(slots=True)
class Row:
    """One execution, as far as it is known."""

    tool: str
    since: float
    stage: str = ""
    message: str = ""
    fraction: float | None = None
    attempt: str = ""
    retry_at: float | None = None
    """When the next attempt begins, while one is waited for."""
    spinner: Spinner = field(default_factory=lambda: Spinner("dots", style="cyan"))


class Running:
    """What runs, by the events that tell of it, as rows of a table."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}

    def follow(self, event: Event) -> None:
        """Take in what an event says of a row. How one ends, and what is kept of that, is its owner's to say."""
        data = event.data
        own: str = data.get("execution_id", "")
        row = self.rows.get(own)
        match event.kind:
            case EventKind.TOOL_STARTED:
                self.rows[own] = Row(one_line(data["tool"]), time.monotonic())
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
                row.stage = "waits for you"
            case _:
                pass

    def put_first(self, execution_id: str) -> None:
        """Show a row above the others, whichever was there before."""
        if execution_id in self.rows:
            self.rows = {execution_id: self.rows[execution_id], **self.rows}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = list(self.rows.values())  # another thread may be adding one
        if not rows:
            return
        table = Table.grid(padding=(0, 1))
        for _ in range(3):
            table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column()
        table.add_column(justify="right", no_wrap=True)
        shown = rows if len(rows) <= MAX_ROWS else [rows[0], *rows[1 - MAX_ROWS :]]
        now = time.monotonic()
        for row in shown:
            table.add_row(*_cells(row, now, bar_width=max(8, min(30, options.max_width // 4))))
        yield table
        if len(rows) > len(shown):
            yield Text(f"  and {len(rows) - len(shown)} more", style="dim")


class LiveWatcher:
    """Rows that move, on the terminal of a console. What handlers print appears above them."""

    def __init__(self, call_id: str, console: Console) -> None:
        self._call_id = call_id
        self._main = ""
        """The execution of the call that all is about. How it ended is told by others."""
        self._console = console
        self._running = Running()
        self._live = Live(self._running, console=console, refresh_per_second=10, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.__exit__(None, None, None)

    def show(self, event: Event) -> None:
        self._running.follow(event)
        data = event.data
        own: str = data.get("execution_id", "")
        known = own in self._running.rows
        if data.get("call_id") == self._call_id and not self._main:
            self._main = own
            self._running.put_first(own)
        match event.kind:
            case EventKind.TOOL_STARTED | EventKind.TOOL_VALIDATING:
                pass
            case EventKind.TOOL_EXECUTING | EventKind.TOOL_PROGRESS if known:
                pass
            case EventKind.TOOL_RETRYING if known:
                self._keep("✗", "red", f"{attempt_of(data)} failed ", f"({blame(data['error'])})", of=own)
            case EventKind.TOOL_PARTIAL:
                self._keep("▸", "cyan", compact(data["value"]), of=own)
            case EventKind.TOOL_RESULT:
                self._ended(own, data)
            case _:
                self._keep("!", "yellow", told(event) or "")

    def say(self, message: str) -> None:
        self._keep("!", "yellow", one_line(message))

    def abandon(self) -> None:
        os.write(self._console.file.fileno(), b"\x1b[?25h\r\n")  # only the cursor is missing

    def _ended(self, own: str, data: dict[str, Any]) -> None:
        row = self._running.rows.pop(own, None)
        if own == self._main or row is None:
            return
        spent = f"in {seconds(time.monotonic() - row.since)}"
        if data.get("error"):
            self._keep("✗", "red", f"{data['tool']} {data['status']} {spent} ", f"({blame(data['error'])})")
        else:
            self._keep("✓", "green", f"{data['tool']} ", spent)

    def _keep(self, mark: str, style: str, text: str, aside: str = "", *, of: str = "") -> None:
        """Print a line that stays. One of a nested call is named."""
        rows = self._running.rows
        name = f"{rows[of].tool} " if of in rows and of != self._main else ""
        line = Text.assemble((f"{mark} ", style), (name, "bold"), text, (aside, "dim"))
        self._console.print(line, soft_wrap=True)


def _cells(row: Row, now: float, bar_width: int) -> tuple[Any, ...]:
    """A row of the table of what runs."""
    elapsed = Text(seconds(now - row.since), style="dim")
    name = Text(row.tool, style="bold")
    if row.retry_at is not None:
        left = max(0.0, row.retry_at - now)
        return row.spinner, name, "", "", Text(f"next attempt in {left:.1f} s", style="yellow"), elapsed
    said = Text(no_wrap=True, overflow="ellipsis")
    for part, style in ((row.attempt, "yellow"), (row.stage, "cyan"), (row.message, "")):
        if part:
            said.append(("  " if said else "") + part, style)
    if row.fraction is None:
        return row.spinner, name, "", "", said, elapsed
    bar = ProgressBar(total=1.0, completed=row.fraction, width=bar_width, complete_style="cyan", finished_style="green")
    return row.spinner, name, bar, f"{percent(row.fraction):>4}", said, elapsed
