"""The command line: `app` lists the commands, `commands` has a file for each, `terminal` draws. This file starts it."""

import atexit
import signal
import sys

from .process import exit_on_interrupt, loading, open_missing_streams


def main() -> None:
    """Run `callboard` and exit."""
    open_missing_streams()
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # Ctrl-C during interpreter shutdown changes nothing
    with loading():
        try:
            from .app import run
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("callboard"):
                raise
            sys.exit('The command line needs an optional part. Install it with: pip install "callboard[cli]"')
    code = run()
    exit_on_interrupt(code)
    sys.exit(code)
