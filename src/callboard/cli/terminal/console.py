"""Output: results go to standard output, everything else to standard error."""

import contextlib
import json
import logging
from collections.abc import Callable, Generator
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from .text import one_line, safe

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def is_interactive(console: Console) -> bool:
    """Whether the console is a terminal that can be redrawn. Forced colours do not count as one."""
    if not (console.is_terminal and console.file.isatty()) or console.is_dumb_terminal:
        return False
    return not console.options.ascii_only


def print_json(data: Any) -> None:
    """Print JSON, in colours on a terminal and plain elsewhere."""
    unicode = (out.encoding or "").lower().startswith("utf")
    text = json.dumps(data, indent=2, ensure_ascii=not unicode)
    if out.is_terminal:
        out.print_json(text, ensure_ascii=not unicode)
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
