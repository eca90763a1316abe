"""How large the messages of a server may be, and how fast they may come, over any transport."""

from callboard.jsonrules.value_count import exceeds_values

MAX_MESSAGE = 16 * 1024 * 1024
"""Bytes of a message. A server that sends a longer one is disconnected."""
MAX_VALUES = 500_000
"""Values of a message, which cost much more to read than their bytes."""
BYTE_BURST, BYTE_RATE = 2 * MAX_MESSAGE, 4.0 * 1024 * 1024
"""Bytes that are read at once, and per second after that: a server that sends more has to wait."""


class TooManyValues(ValueError):
    """A message has more values than are read."""

    def __init__(self) -> None:
        super().__init__(f"a message has more than {MAX_VALUES:,} values")


def check_values(message: bytes) -> None:
    """Raise `TooManyValues` for a message that has too many."""
    if exceeds_values(message, MAX_VALUES):
        raise TooManyValues
