"""The number of values in the messages of an event stream (SSE), counted before the SDK puts them together.

Only fields of data count: other lines, such as comments, are no JSON.
"""

import re

from callboard.jsonrules.value_count import ValueCounter

SLICE = 65_536
"""Bytes that are looked at together. An event within them has few values, and is not counted."""
_DATA = re.compile(rb"^data:(.*)", re.MULTILINE)
_FIELD = len(b"data:")


class EventValueCounter:
    """Counts the values in the data of each event of a stream that arrives in chunks."""

    def __init__(self) -> None:
        self._counter = ValueCounter()
        self._line = b""
        """How the current line begins: enough to tell its field."""
        self._ends_in_cr = False

    def feed(self, chunk: bytes) -> int:
        """Count the values of another chunk. Returns the count of the event that has most, of those beyond a slice."""
        if self._ends_in_cr and chunk:
            self._ends_in_cr = False
            chunk = chunk.removeprefix(b"\n")  # of the line that has ended with the last chunk
        if b"\r" in chunk:
            self._ends_in_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return max((self._feed(chunk[at : at + SLICE]) for at in range(0, len(chunk), SLICE)), default=1)

    def _feed(self, part: bytes) -> int:
        lines = self._line + part
        most = 1
        if lines.startswith(b"\n") or b"\n\n" in lines:  # an empty line ends an event
            first = 0 if lines.startswith(b"\n") else lines.index(b"\n\n")
            most = self._count(lines[:first])
            self._counter = ValueCounter()
            lines = lines[max(1, lines.rfind(b"\n\n") + 2) :]
        self._line = lines[lines.rfind(b"\n") + 1 :][:_FIELD]
        return max(most, self._count(lines))

    def _count(self, lines: bytes) -> int:
        return self._counter.feed(b"\n".join(_DATA.findall(lines)))
