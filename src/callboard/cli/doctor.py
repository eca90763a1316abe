"""`callboard doctor`: whether a server could start here, and what to do where it could not."""

from typing import Annotated

import typer
from rich.text import Text

from .checks import Check, Mark, examine
from .console import AsJson, out, print_json
from .exits import Exit
from .store import DEFAULT, Address
from .tables import Column, show_table
from .text import one_line

_COLUMNS = (Column("check", "bold"), Column("state"), Column("found", wraps=True), Column("what to do", wraps=True))
_STYLES = {Mark.OK: "green", Mark.WARNING: "yellow", Mark.PROBLEM: "red"}


def run_doctor(
    host: Annotated[str, typer.Option(envvar="CALLBOARD_HOST", help="Where the server would listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="CALLBOARD_PORT", min=0, max=65_535, help="On which port it would.")
    ] = 8000,
    store: Address = DEFAULT,
    model: Annotated[
        str, typer.Option(metavar="NAME", envvar="CALLBOARD_MODEL", help="Which model it would talk to.")
    ] = "offline",
    as_json: AsJson = False,
) -> None:
    """Look whether a server could start here. Nothing is changed, and no secret is shown.

    The exit code is 0 where it could, also with warnings, and 1 where
    something is in the way.
    """
    checks = examine(host, port, store, model)
    sick = any(check.mark is Mark.PROBLEM for check in checks)
    if as_json:
        print_json({"ok": not sick, "checks": [check.data() for check in checks]})
    else:
        show_table(_COLUMNS, [_row(check) for check in checks])
        out.print("\nSomething is in the way." if sick else "\nA server can start here.")
    if sick:
        raise typer.Exit(Exit.FAILED)


def _row(check: Check) -> tuple[str | Text, ...]:
    return check.name, Text(check.mark, _STYLES[check.mark]), one_line(check.found), one_line(check.advice)
