"""Where words go: results to standard output, everything else to standard error."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from .text import safe

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.")]


def is_interactive(console: Console) -> bool:
    """Whether a person looks at it, on a terminal that can be drawn on. Colours may be forced, this cannot."""
    if not (console.is_terminal and console.file.isatty()) or console.is_dumb_terminal:
        return False
    return not console.options.ascii_only


def print_json(data: Any) -> None:
    """JSON for programs: no colours, no wrapping, when it does not go to a terminal."""
    unicode = (out.encoding or "").lower().startswith("utf")
    text = json.dumps(data, indent=2, ensure_ascii=not unicode)
    if out.is_terminal:
        out.print_json(text, ensure_ascii=not unicode)
    else:
        out.file.write(text + "\n")


def print_text(text: str) -> None:
    """A text as it is; on a terminal, its control characters are shown and not obeyed."""
    encoding = out.encoding or "utf-8"
    shown = safe(text) if out.is_terminal else text
    out.file.write(shown.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def print_line(line: Text) -> None:
    """A line of words that are safe for a terminal: in its colours there, and however long."""
    if out.is_terminal:
        out.print(line, soft_wrap=True)
    else:
        print_text(str(line))


def fail(message: str, code: int) -> int:
    """Say what went wrong, and return the exit code."""
    err.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
    return code
