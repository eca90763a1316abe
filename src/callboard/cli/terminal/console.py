"""Output: results go to standard output, everything else to standard error.

Tables are drawn to fit on a terminal, and are aligned lines elsewhere.
"""

import contextlib
import json
import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, cast

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...shortening import quoted
from .text import compact, one_line, safe, safe_json

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MIN_WIDTH = 32
"""Width that a column of long texts needs; if less is left, its texts are printed below their row."""


def is_interactive(console: Console) -> bool:
    """Whether the console is a terminal that can be redrawn. Forced colours do not count as one."""
    if not (console.is_terminal and console.file.isatty()) or console.is_dumb_terminal:
        return False
    return not console.options.ascii_only


def print_json(data: Any) -> None:
    """Print JSON, in colours on a terminal and plain elsewhere. Control characters are escaped."""
    unicode = (out.encoding or "").lower().startswith("utf")
    text = safe_json(json.dumps(data, indent=2, ensure_ascii=not unicode))
    if out.is_terminal:
        out.print(JSONHighlighter()(text), soft_wrap=True)
    else:
        out.file.write(text + "\n")


def print_text(text: str) -> None:
    """Print a text unchanged, except that a terminal gets its control characters escaped."""
    encoding = out.encoding or "utf-8"
    printed = safe(text) if out.is_terminal else text
    out.file.write(printed.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def print_line(line: Text) -> None:
    """Print a line of safe text: in its styles on a terminal, plain elsewhere, never wrapped by us."""
    if out.is_terminal:
        out.print(line, soft_wrap=True)
    else:
        print_text(str(line))


def note(message: str) -> None:
    """Print a remark that is not an error on standard error."""
    err.print(Text(one_line(message), style="yellow"), soft_wrap=True)


def fail(message: str, code: int) -> int:
    """Print an error, and return the exit code."""
    err.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
    return code


@contextlib.contextmanager
def print_logs(write: Callable[[str], Any]) -> Generator[None, None, None]:
    """Pass warnings and errors that are logged in the block to `write`, as lines, unless logging is configured."""
    previous = logging.lastResort
    logging.lastResort = cast(Any, _LineHandler(write))
    try:
        yield
    finally:
        logging.lastResort = previous


def describe(error: BaseException) -> str:
    """An exception on one line; for a group, its first one."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return f"{type(error).__name__}: {error}".rstrip(": .")


class _LineHandler(logging.Handler):
    def __init__(self, write: Callable[[str], Any]) -> None:
        super().__init__(logging.WARNING)
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        if hasattr(record, "execution_id"):  # a failed call, which its board reports
            return
        error = record.exc_info[1] if record.exc_info else None
        self._write(record.getMessage() + ("" if error is None else f": {describe(error)}"))


# Tables


class Column(NamedTuple):
    """A column, and the style of its cells on a terminal."""

    title: str
    style: str = ""
    wraps: bool = False
    """Whether its cells wrap. Such columns come last."""


Row = Sequence[str | Text]


def show_table(columns: Sequence[Column], rows: Sequence[Row]) -> None:
    """Print rows under column titles. Cells are safe text on one line."""
    if not out.is_terminal:
        _print_lines(columns, rows)
        return
    long = [index for index, column in enumerate(columns) if column.wraps]
    fixed = sum(_width(columns[index].title, rows, index) + 2 for index in range(len(columns)) if index not in long)
    needed = max((_width("", rows, index) for index in long), default=0)
    if long and out.width - fixed < min(needed, MIN_WIDTH * len(long)):
        _print_stacked(columns[: long[0]], columns[long[0] :], rows)
    else:
        out.print(_table(columns, rows))


def _table(columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column.title, style=column.style, no_wrap=not column.wraps, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def _print_stacked(columns: Sequence[Column], long: Sequence[Column], rows: Sequence[Row]) -> None:
    """Print rows for a narrow terminal, with long texts below their row."""
    widths = [_width(column.title, rows, index) for index, column in enumerate(columns)]
    titles = [Text(column.title, "bold") for column in columns]
    for row in [titles, *rows]:
        line = Text()
        for cell, column, width in zip(row, columns, widths, strict=False):
            text = Text(cell, column.style) if isinstance(cell, str) else cell.copy()
            text.pad_right(width + 2 - text.cell_len)
            line.append_text(text)
        out.print(line, soft_wrap=True)
        for cell, column in zip(row[len(columns) :], long, strict=False):
            if str(cell):
                out.print(Padding(Text.assemble((f"{column.title} ", "dim"), cell), (0, 0, 0, 4)))


def _print_lines(columns: Sequence[Column], rows: Sequence[Row]) -> None:
    """Print one line per row, of any length."""
    widths = [_width(column.title, rows, index) for index, column in enumerate(columns)]
    for row in ([column.title for column in columns], *rows):
        cells = (str(cell) + " " * (width - cell_len(str(cell))) for cell, width in zip(row, widths, strict=True))
        print_text("  ".join(cells).rstrip())


def _width(title: str, rows: Sequence[Row], index: int) -> int:
    return max(cell_len(title), *(cell_len(str(row[index])) for row in rows))


def print_problems(problems: Sequence[Mapping[str, Any]], subject: str = "argument") -> None:
    """Print problems, each with its path, its message and the received value, if any."""
    rows = [_problem_row(problem) for problem in problems]
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


def _problem_row(problem: Mapping[str, Any]) -> tuple[str, str, str]:
    """Path, message and received value, which is removed from the message."""
    path, message, received = one_line(str(problem["path"])), str(problem["message"]), problem.get("received")
    if received is None:
        return path or "(all)", one_line(message), ""
    if message.endswith(ending := f", not {quoted(received)}."):
        message = f"{message.removesuffix(ending)}."
    return (
        path or "(all)",
        one_line(message),
        f'"{one_line(received)}"' if isinstance(received, str) else compact(received),
    )
