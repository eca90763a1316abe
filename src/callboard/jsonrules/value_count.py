"""The number of values in a JSON text, counted without decoding it: an upper bound for the cost of reading it.

A JSON reader makes an object for each value, and a validator up to a handful of errors for each. The number of bytes
bounds neither, since two bytes are enough for a value, so a text from outside is counted before it is decoded.
"""

MAX_VALUES = 10_000
"""Values (keys, strings, numbers, arrays, objects) that the body of an API request may have."""

_SLICE = 65_536


class ValueCounter:
    """Counts the values of a text that arrives in chunks. No value of valid JSON is missed."""

    __slots__ = ("_in_string", "_rest", "values")

    def __init__(self) -> None:
        self.values = 1
        """The count so far, at least 1."""
        self._in_string = False
        self._rest = b""
        """A backslash at the end of a chunk, which escapes the first character of the next one."""

    def feed(self, chunk: bytes) -> int:
        """Count the values of another chunk and return `values`.

        Every value but the first follows a comma, a colon or an opening bracket outside of strings. Invalid JSON may be
        counted wrongly after the first error, where a reader stops anyway.
        """
        text = self._rest + chunk if self._rest else chunk
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


def exceeds_values(text: bytes, most: int) -> bool:
    """Whether a JSON text has more than `most` values. A short text is not counted."""
    if len(text) <= 2 * most:  # each value but the last is followed by at least one other byte
        return False
    counter = ValueCounter()
    return any(counter.feed(text[start : start + _SLICE]) > most for start in range(0, len(text), _SLICE))
