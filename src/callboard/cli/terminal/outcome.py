"""The outcome of a call: its result on standard output, everything else on standard error."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ...errors import ErrorCategory, ToolError
from ...execution.outcome import Outcome, OutcomeStatus
from ...execution.record import ExecutionRecord
from ..process import Exit
from .console import err, fail, is_interactive, out, print_json, print_text
from .text import compact, one_line, safe, seconds


def print_outcome(outcome: Outcome, record: ExecutionRecord) -> None:
    """Print the result or the error, and a last line with status, duration and attempts."""
    if outcome.error is None:
        _print_value(outcome.value)
    else:
        _print_error(outcome.tool, outcome.error)
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


def _print_error(tool: str, error: ToolError) -> None:
    if error.category is ErrorCategory.CANCELLED:  # which the last line says
        return
    if error.category is ErrorCategory.VALIDATION and (problems := _problems(error.details)):
        fail(f"the arguments of {tool} are not valid:", Exit.INVALID)
        print_problems(problems)
        err.print(f"[dim]For its parameters, run: callboard tools schema {escape(tool)}[/]", soft_wrap=True)
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


def print_problems(problems: Sequence[Mapping[str, Any]], subject: str = "argument") -> None:
    """Print problems, each with its path, its message and the received value, if any."""
    rows = [_row(problem) for problem in problems]
    if not is_interactive(err):
        for path, problem, received in rows:
            err.print(Text(f"  {path}: {problem}{received and f' Received: {received}'}"), soft_wrap=True)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(f"  {subject}", style="cyan", overflow="fold")
    table.add_column("problem", overflow="fold")
    table.add_column("received", style="yellow", overflow="fold")
    for path, problem, received in rows:
        table.add_row(Text(f"  {path}"), Text(problem), Text(received))
    err.print(table)


def _row(problem: Mapping[str, Any]) -> tuple[str, str, str]:
    """Path, message and received value, which is removed from the message."""
    path, message, received = one_line(str(problem["path"])), one_line(problem["message"]), problem.get("received")
    if received is None:
        return path or "(all)", message, ""
    if ", not " in message:
        message = f"{message.rpartition(', not ')[0]}."
    return path or "(all)", message, f'"{one_line(received)}"' if isinstance(received, str) else compact(received)


def _cause(error: ToolError) -> str:
    """The original exception and its origin, which only the operator may see."""
    if error.report is None or error.report == error.message:
        return ""
    return one_line(error.report) + (f" ({error.origin})" if error.origin else "")


def _print_status(outcome: Outcome, record: ExecutionRecord) -> None:
    attempts = f", {record.attempt} attempts" if record.attempt != 1 else ", 1 attempt"
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
