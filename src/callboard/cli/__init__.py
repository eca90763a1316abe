"""The command line: `app` lists the commands, `commands` has a file for each, `terminal` draws. This file starts it."""

import atexit
import signal
import sys

from .process import Exit, exit_on_interrupt, open_missing_streams


def main() -> None:
    """Run `callboard` and exit."""
    open_missing_streams()
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # Ctrl-C during interpreter shutdown changes nothing
    previous = signal.getsignal(signal.SIGINT)
    exit_on_interrupt(Exit.INTERRUPTED, b"error: stopped\n")  # imports take long enough for an impatient Ctrl-C
    try:
        from .app import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("callboard"):
            raise
        sys.exit('The command line needs an optional part. Install it with: pip install "callboard[cli]"')
    signal.signal(signal.SIGINT, previous)
    code = run()
    exit_on_interrupt(code)
    sys.exit(code)
