"""How many values a JSON text has, counted without reading it: what reading and validating it would cost at most.

A reader of JSON makes an object for each value, and a validator up to a handful of errors for each. Bytes alone do not
bound either: two bytes are enough for a value. So a text from outside is counted before it is read.
"""

MAX_VALUES = 10_000
"""How many values (keys, texts, numbers, lists, objects) the body of a request to the API may have."""

_SLICE = 65_536


class Census:
    """Counts the values of a text that comes in pieces. No value of valid JSON is missed."""

    __slots__ = ("_in_string", "_rest", "values")

    def __init__(self) -> None:
        self.values = 1
        """How many there are so far, at least one."""
        self._in_string = False
        self._rest = b""
        """A backslash at the end of a piece, which belongs to the character that comes next."""

    def feed(self, piece: bytes) -> int:
        """Count a piece too. Returns `values`.

        Every value but the first follows a comma, a colon or an opening bracket that stands outside of strings. What
        is not JSON may be counted wrongly from the first error on; there a reader stops anyway.
        """
        text = self._rest + piece if self._rest else piece
        if b"\\" in text:
            text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
            self._rest = b"\\" if text.endswith(b"\\") else b""
            text = text.removesuffix(b"\\")
        else:
            self._rest = b""
        parts = text.split(b'"')
        outside = b"".join(parts[1 if self._in_string else 0 :: 2])
        if not len(parts) % 2:
            self._in_string = not self._in_string
        self.values += sum(map(outside.count, (b",", b":", b"[", b"{")))
        return self.values


def has_more_values(text: bytes, most: int) -> bool:
    """Whether a JSON text has more values than that. A short text is not even counted."""
    if len(text) <= 2 * most:  # each value but the last is followed by at least one other byte
        return False
    census = Census()
    return any(census.feed(text[start : start + _SLICE]) > most for start in range(0, len(text), _SLICE))
