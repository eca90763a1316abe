"""The `callboard` command: its sub-commands, and the exit code of each error."""

import asyncio
import os
import signal
import sys
from typing import Annotated

import typer

import callboard

from ..errors import CallboardError, ErrorCategory, ToolError
from ..sessions.ids import SessionNotFound
from .commands.demo import run_demo
from .commands.doctor import run_doctor
from .commands.events import show_events
from .commands.keys import keys
from .commands.requests import requests
from .commands.serve import serve
from .commands.sessions import sessions
from .commands.store import migrate
from .commands.tools import tools
from .process import CommandError, Exit, can_handle_interrupts
from .terminal.console import fail

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
app.command("migrate")(migrate)
app.command("demo")(run_demo)
app.command("serve")(serve)
app.command("doctor")(run_doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"callboard {callboard.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A runtime for the tools of AI agents."""


def run() -> int:
    """Run the command in `sys.argv`, and return its exit code. The user never sees a traceback of a known error."""
    previous = signal.getsignal(signal.SIGINT)
    try:
        return _run()
    except KeyboardInterrupt:
        return fail("stopped", Exit.INTERRUPTED)
    finally:
        if can_handle_interrupts():
            signal.signal(signal.SIGINT, previous)


def _run() -> int:
    try:
        code = app(standalone_mode=False) or Exit.OK
        sys.stdout.flush()  # while an error can still be reported
        return code
    except CallboardError as error:
        return fail(str(error), _exit_code(error))
    except (BrokenPipeError, SystemExit) as end:
        if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
            raise
        _discard_output()  # the reader has closed the pipe
        return Exit.OK
    except (OSError, UnicodeEncodeError) as error:
        return fail(f"the output cannot be written: {error}", Exit.FAILED)
    except (typer.Abort, asyncio.CancelledError):  # Ctrl-C
        return fail("stopped", Exit.INTERRUPTED)
    except typer.Exit as end:
        return end.exit_code
    except Exception as error:
        show = getattr(error, "show", None)  # a usage error of click
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", Exit.USAGE))


def _exit_code(error: CallboardError) -> Exit:
    match error:
        case CommandError():
            return error.exit_code
        case SessionNotFound() | ToolError(category=ErrorCategory.NOT_FOUND):
            return Exit.NOT_FOUND
        case _:
            return Exit.FAILED


def _discard_output() -> None:
    """Redirect standard output to the null device, so that Python can flush the rest of its buffer at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
