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
    INVALID = 3
    """Arguments or an answer are not JSON, or not what is wanted."""
    NOT_FOUND = 4
    """There is no tool, session or request of that name."""
    TIMEOUT = 124
    """It took too long; the number is that of `timeout`, the command."""
    INTERRUPTED = 130
    """The user stopped it."""
