"""A call on a terminal: its progress while it runs, and its outcome.

Progress is a live table on a terminal, plain lines elsewhere, or the board's events as JSON. The live table has a row
for each running execution. Partial results, failed attempts and notices are printed above it and stay. Rich draws in
its own thread, so that the table moves even while a handler blocks the event loop.
"""

import asyncio
import os
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Self, cast

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ...errors import ErrorCategory, ToolError
from ...events.event import Event
from ...events.kinds import EventKind
from ...execution.outcome import Outcome, OutcomeStatus
from ...execution.record import ExecutionRecord
from ..output_pipe import wait_for_closed_output
from ..process import Exit
from .console import err, fail, is_interactive, out, print_json, print_problems, print_text
from .text import attempt_of, compact, describe_error, describe_event, one_line, percent, safe, safe_json, seconds

MAX_ROWS = 8
"""Rows drawn at once, at most: the call, and its newest nested calls."""


@dataclass(slots=True)
class ProgressRow:
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
        self.rows: dict[str, ProgressRow] = {}

    def update(self, event: Event) -> None:
        """Update the row of an event. Its owner removes the row of an ended execution."""
        data = event.data
        execution_id: str = data.get("execution_id", "")
        row = self.rows.get(execution_id)
        match event.kind:
            case EventKind.TOOL_STARTED:
                self.rows[execution_id] = ProgressRow(one_line(data["tool"]), time.monotonic())
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


class CallView:
    """Shows a call while it runs, inside a `with` block: a plain line on standard error for each event."""

    def __init__(self, call_id: str) -> None:
        self._call_id = call_id
        """The call to show. Its result is printed elsewhere."""
        self._asked_by: dict[str, dict[str, Any]] = {}
        """The requests to people by their ids, since an answer does not name the tool."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def show(self, event: Event) -> None:
        """Show the next event of the board."""
        if event.kind == EventKind.TOOL_RESULT and event.data["call_id"] == self._call_id:
            return
        if (line := describe_event(event)) is not None:
            self.note(f"{self._caller(event).get('tool', 'notice')}: {line}")

    def _caller(self, event: Event) -> dict[str, Any]:
        """The data that names the tool of an event: its own, or that of the request that it answers."""
        if event.kind in (EventKind.HUMAN_REQUEST, EventKind.WALLET_TX_REQUEST):
            self._asked_by[event.data["request_id"]] = event.data
        return self._asked_by.get(event.data.get("request_id", ""), event.data)

    def note(self, message: str) -> None:
        """Show a remark. May be called from any thread."""
        print(one_line(message), file=sys.stderr, flush=True)  # noqa: T201

    def paused(self) -> AbstractContextManager[object]:
        """Draw nothing inside a `with` block, in which a person types."""
        return nullcontext()

    def abandon(self) -> None:
        """Restore the terminal, because the process is about to exit. Called in a signal handler."""

    async def wait_for_closed(self) -> None:
        """Wait until the events no longer have a reader, and raise `BrokenPipeError`. Wait for ever for a person."""
        await asyncio.Event().wait()


class JsonView(CallView):
    """Each event as a line of JSON on a stream; remarks go to standard error."""

    def __init__(self, call_id: str, stream: BinaryIO) -> None:
        super().__init__(call_id)
        self._stream = stream

    def show(self, event: Event) -> None:
        self._stream.write(safe_json(event.line.decode()).encode() + b"\n")
        self._stream.flush()

    async def wait_for_closed(self) -> None:
        await wait_for_closed_output()


class LiveView(CallView):
    """A live table at the bottom of a terminal. Text that handlers print appears above it."""

    def __init__(self, call_id: str, console: Console) -> None:
        super().__init__(call_id)
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
            case EventKind.HUMAN_REQUEST | EventKind.HUMAN_ANSWER:
                self._print_request(event)
            case EventKind.WALLET_TX_REQUEST | EventKind.WALLET_TX_RESPONSE:
                self._print_request(event)
            case _ if (line := describe_event(event)) is not None:
                self._print("!", "yellow", line)
            case _:
                pass

    def note(self, message: str) -> None:
        self._print("!", "yellow", one_line(message))

    @contextmanager
    def paused(self) -> Generator[None]:
        self._live.stop()
        try:
            yield
        finally:
            self._live.start()

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

    def _print_request(self, event: Event) -> None:
        """Print a request to a person, or its answer. Both name the tool."""
        tool = one_line(self._caller(event).get("tool", ""))
        self._print("?", "magenta", f"{tool} {describe_event(event)}".lstrip())

    def _print(self, mark: str, style: str, text: str, detail: str = "", execution_id: str = "") -> None:
        """Print a line above the table. Lines of nested calls start with the tool's name."""
        nested = None if execution_id == self._main else self._table.rows.get(execution_id)
        name = "" if nested is None else f"{nested.tool} "
        line = Text.assemble((f"{mark} ", style), (name, "bold"), text, (detail, "dim"))
        self._console.print(line, soft_wrap=True)


def _cells(row: ProgressRow, now: float, bar_width: int) -> tuple[Any, ...]:
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


# The outcome


def print_outcome(outcome: Outcome, record: ExecutionRecord, options: str = "") -> None:
    """Print the result or the error, and a last line with status, duration and attempts.

    `options` are those of the command that belong in a suggested command too.
    """
    if outcome.error is None:
        _print_value(outcome.value)
    else:
        _print_error(outcome.tool, outcome.error, options)
    _print_status(outcome, record)


def exit_code(outcome: Outcome, interrupted: bool) -> Exit:
    """The exit code for an outcome."""
    if outcome.error is None:
        return Exit.OK
    if outcome.status is OutcomeStatus.CANCELLED and interrupted:
        return Exit.INTERRUPTED
    match outcome.error.category:
        case ErrorCategory.VALIDATION:
            return Exit.INVALID
        case ErrorCategory.TIMEOUT:
            return Exit.TIMEOUT
        case _:
            return Exit.FAILED


def _print_value(value: Any) -> None:
    if isinstance(value, str):
        print_text(value)
    else:
        print_json(value)
    out.file.flush()


def _print_error(tool: str, error: ToolError, options: str) -> None:
    if error.category is ErrorCategory.CANCELLED:  # which the last line says
        return
    if error.category is ErrorCategory.VALIDATION and (problems := _problems(error.details)):
        fail(f"the arguments of {tool} are not valid:", Exit.INVALID)
        print_problems(problems)
        command = escape(f"callboard tools schema {tool}{options}")
        err.print(f"[dim]For its parameters, run: {command}[/]", soft_wrap=True)
        return
    fail(safe(error.message), Exit.FAILED)
    if error.details is not None:
        err.print(Text(f"  details: {compact(error.details)}"), soft_wrap=True)
    if error.retry_after is not None:
        err.print(f"  Try again after {seconds(error.retry_after)}.")
    if cause := _cause(error):
        err.print(Text(f"  {cause}", style="dim"), soft_wrap=True)


def _problems(details: Any) -> list[dict[str, Any]]:
    """The problems in the details of a validation error, if any."""
    items = cast("Sequence[Any]", details) if isinstance(details, list) else ()
    return [item for item in items if isinstance(item, dict) and {"path", "message"} <= item.keys()]


def _cause(error: ToolError) -> str:
    """The original exception and its origin, which only the operator may see."""
    if error.report is None or error.report == error.message:
        return ""
    return one_line(error.report) + (f" ({error.origin})" if error.origin else "")


def _print_status(outcome: Outcome, record: ExecutionRecord) -> None:
    attempts = {0: "", 1: ", 1 attempt"}.get(record.attempt, f", {record.attempt} attempts")
    spent = f"in {seconds(record.ran_for)}{attempts}" if record.ran_for is not None else "before it ran"
    if not is_interactive(err):
        err.print(Text(f"{outcome.tool}: {outcome.status} {spent}"), soft_wrap=True)
        return
    mark, style = {
        OutcomeStatus.SUCCEEDED: ("✓", "green"),
        OutcomeStatus.CANCELLED: ("■", "yellow"),
    }.get(outcome.status, ("✗", "red"))
    line = Text.assemble(
        (f"{mark} ", style), (outcome.tool, "bold"), (f" {outcome.status}", style), (f" {spent}", "dim")
    )
    err.print(line, soft_wrap=True)
