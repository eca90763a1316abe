"""The `callboard` command: its sub-commands, and the exit code of each error."""

import asyncio
import errno
import os
import signal
import sys
from typing import Annotated

import typer

import callboard

from ..errors import CallboardError, ErrorCategory, ToolError
from ..sessions.ids import SessionNotFound
from .command_group import CommandGroup
from .process import CommandError, Exit, can_handle_interrupts

app = typer.Typer(
    name="callboard",
    cls=CommandGroup,
    help="A runtime for the tools of AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rendering the help with Rich takes longer than all the rest of it
    context_settings={"help_option_names": ["-h", "--help"]},
)

_OF_A_STREAM = {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC}
"""Errors of a standard stream that is closed, or whose disk is full."""


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
        return _fail("stopped", Exit.INTERRUPTED)
    finally:
        if can_handle_interrupts():
            signal.signal(signal.SIGINT, previous)


def _run() -> int:
    try:
        code = app(standalone_mode=False) or Exit.OK
        sys.stdout.flush()  # while an error can still be reported
        return code
    except CallboardError as error:
        return _fail(str(error), _exit_code(error))
    except (BrokenPipeError, SystemExit) as end:
        if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
            raise
        _discard_output()  # the reader has closed the pipe
        return Exit.OK
    except (OSError, UnicodeEncodeError) as error:
        return _fail(_problem(error), Exit.FAILED)
    except (typer.Abort, asyncio.CancelledError):  # Ctrl-C
        return _fail("stopped", Exit.INTERRUPTED)
    except typer.Exit as end:
        return end.exit_code
    except Exception as error:
        show = getattr(error, "show", None)  # a usage error of click
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", Exit.USAGE))


def _fail(message: str, code: int) -> int:
    from .terminal.console import fail  # with Rich, which takes a while to load

    return fail(message, code)


def _problem(error: OSError | UnicodeEncodeError) -> str:
    """Describe an error of the system that no command expects."""
    if isinstance(error, UnicodeEncodeError) or (error.filename is None and error.errno in _OF_A_STREAM):
        return f"the output cannot be written: {error}"
    try:
        os.getcwd()
    except FileNotFoundError:
        return "the current folder was removed. Change to another one."
    return str(error)


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
