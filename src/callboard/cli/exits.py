"""What the exit codes mean."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes, for scripts. They do not change their meaning."""

    OK = 0
    """It was done."""
    FAILED = 1
    """It could not be done; the message says why."""
    USAGE = 2
    """The command was not understood."""
    INTERRUPTED = 130
    """The user stopped it."""
