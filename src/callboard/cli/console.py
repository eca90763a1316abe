"""Where words go: results to standard output, everything else to standard error."""

import json
from typing import Any

from rich.console import Console
from rich.markup import escape

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(data: Any) -> None:
    """JSON for programs: no colours, no wrapping, when it does not go to a terminal."""
    unicode = (out.encoding or "").lower().startswith("utf")
    text = json.dumps(data, indent=2, ensure_ascii=not unicode)
    if out.is_terminal:
        out.print_json(text)
    else:
        out.file.write(text + "\n")


def fail(message: str, code: int) -> int:
    """Say what went wrong, and return the exit code."""
    err.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
    return code
