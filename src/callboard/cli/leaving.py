"""The process around a command: its standard streams, and Ctrl-C while there is nothing that it could stop."""

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType


def leave_on_interrupt(code: int, word: bytes = b"") -> None:
    """From now on, Ctrl-C ends the process at once, with that code and a word. Where it is ignored, it stays so."""

    def leave(number: int, frame: FrameType | None) -> None:
        with suppress(OSError):
            os.write(2, word)
        os._exit(code)

    if can_interrupt():
        signal.signal(signal.SIGINT, leave)


def can_interrupt() -> bool:
    """Whether Ctrl-C may be taken over here: not where it is ignored, as for a job in the background."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return threading.current_thread() is threading.main_thread() and not ignored


def hold_streams() -> None:
    """Open a standard stream that came closed, to nowhere: else the next file that is opened would take its place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
