"""The `callboard` command: its sub-commands, and what each exit code means."""

import os
import signal
import sys
from typing import Annotated

import typer

import callboard

from ..errors import CallboardError, ErrorCategory, ToolError
from ..sessions.ids import SessionNotFound
from .console import fail
from .demo import run_demo
from .doctor import run_doctor
from .events import show_events
from .exits import Exit
from .keys import keys
from .leaving import can_interrupt
from .migrate import migrate_store
from .requests import requests
from .serve import serve
from .sessions import sessions
from .tools import tools

app = typer.Typer(
    name="callboard",
    help="A runtime for the tools of AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(tools, name="tools")
app.add_typer(sessions, name="sessions")
app.command("events")(show_events)
app.add_typer(requests, name="requests")
app.add_typer(keys, name="keys")
app.command("migrate")(migrate_store)
app.command("demo")(run_demo)
app.command("serve")(serve)
app.command("doctor")(run_doctor)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"callboard {callboard.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A runtime for the tools of AI agents."""


def run() -> int:
    """Run the command that the arguments name, and return its exit code. No traceback reaches the user."""
    before = signal.getsignal(signal.SIGINT)
    try:
        return _run()
    except KeyboardInterrupt:
        return fail("stopped", Exit.INTERRUPTED)
    finally:
        if can_interrupt():
            signal.signal(signal.SIGINT, before)


def _run() -> int:
    try:
        code = app(standalone_mode=False) or Exit.OK
        sys.stdout.flush()  # while somebody can still say what is wrong with it
        return code
    except CallboardError as error:
        return fail(str(error), Exit.NOT_FOUND if _is_missing(error) else Exit.FAILED)
    except (BrokenPipeError, SystemExit) as end:
        if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
            raise
        _forget_output()  # whoever read it has enough
        return Exit.OK
    except (OSError, UnicodeEncodeError) as error:
        return fail(f"the output cannot be written: {error}", Exit.FAILED)
    except typer.Abort:
        return fail("stopped", Exit.INTERRUPTED)
    except Exception as error:
        if isinstance(error, typer.Exit):
            return error.exit_code
        show = getattr(error, "show", None)  # a usage error of the command line itself
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", Exit.USAGE))


def _is_missing(error: CallboardError) -> bool:
    if isinstance(error, ToolError):
        return error.category is ErrorCategory.NOT_FOUND
    return isinstance(error, SessionNotFound)


def _forget_output() -> None:
    """Send what is left of the output nowhere; Python would complain when it writes it at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
