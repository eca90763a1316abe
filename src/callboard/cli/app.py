"""The `callboard` command: its sub-commands, and what each exit code means."""

from typing import Annotated

import typer

import callboard

from ..errors import CallboardError
from .console import fail
from .exits import Exit
from .tools import tools

app = typer.Typer(
    name="callboard",
    help="A runtime for the tools of AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(tools, name="tools")


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
    try:
        return app(standalone_mode=False) or Exit.OK
    except CallboardError as error:
        return fail(str(error), Exit.FAILED)
    except BrokenPipeError:  # whoever read the output has enough
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
