"""The command line. One file per command; this one only starts it and turns errors into sentences."""

import atexit
import signal
import sys

from .leaving import hold_streams, leave_on_interrupt

INTERRUPTED = 130
"""`Exit.INTERRUPTED`, for while nothing is loaded."""


def main() -> None:
    """The entry point of `callboard`."""
    hold_streams()
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # else one in the last milliseconds kills it
    before = signal.getsignal(signal.SIGINT)
    leave_on_interrupt(INTERRUPTED, b"error: stopped\n")  # loading takes longer than a person's impatience
    try:
        from .app import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("callboard"):
            raise
        sys.exit('The command line needs an optional part. Install it with: pip install "callboard[cli]"')
    signal.signal(signal.SIGINT, before)
    code = run()
    leave_on_interrupt(code)
    sys.exit(code)
