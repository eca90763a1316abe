"""The process of a command: its exit codes, its standard streams, and Ctrl-C while no command is running.

It imports next to nothing, because it is active while everything else is loaded.
"""

import gc
import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from enum import IntEnum
from types import FrameType

from ..errors import CallboardError


class Exit(IntEnum):
    """Exit codes. Their meaning never changes: scripts depend on it."""

    OK = 0
    """The command succeeded."""
    FAILED = 1
    """The command failed; the message gives the reason."""
    USAGE = 2
    """The command line is not valid."""
    INVALID = 3
    """Arguments or an answer are not JSON, or do not match their schema."""
    NOT_FOUND = 4
    """There is no such tool, session, request or key."""
    TIMEOUT = 124
    """The command took too long; `timeout` uses the same number."""
    INTERRUPTED = 130
    """The user pressed Ctrl-C."""


class CommandError(CallboardError):
    """A command cannot be carried out. It ends with the message and the exit code."""

    code = "command"

    def __init__(self, message: str, exit_code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def exit_on_interrupt(code: int, message: bytes = b"") -> None:
    """Exit immediately on Ctrl-C, with this code and message. An ignored SIGINT stays ignored."""

    def leave(number: int, frame: FrameType | None) -> None:
        with suppress(OSError):
            os.write(2, message)
        os._exit(code)

    if can_handle_interrupts():
        signal.signal(signal.SIGINT, leave)


@contextmanager
def loading() -> Generator[None]:
    """Exit immediately on Ctrl-C while modules are imported inside the `with` block.

    The garbage collector is off and ignores the imported objects later, since they stay until the end.
    """
    previous = signal.getsignal(signal.SIGINT)
    exit_on_interrupt(Exit.INTERRUPTED, b"error: stopped\n")
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        if can_handle_interrupts():
            signal.signal(signal.SIGINT, previous)


def can_handle_interrupts() -> bool:
    """Whether a handler for SIGINT may be installed: in the main thread, and not in a background job of a shell."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return threading.current_thread() is threading.main_thread() and not ignored


def open_missing_streams() -> None:
    """Open standard streams that came closed to the null device, so that no other file gets their descriptors."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
