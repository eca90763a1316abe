"""One event of a board, and its encoding.

An event is encoded once, when it is posted, as one line of JSON: `{"kind":…,"at":…,"data":{…}}`. The same bytes serve
every reader and are all that is kept; `Event` decodes them on demand. The sequence number is not part of these bytes,
since only the board knows it.
"""

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import count
from typing import Any, overload

from pydantic_core import from_json

from .kinds import EventKind

_KINDS: dict[str, str] = {kind.value: kind for kind in EventKind}


class Event:
    """One event as a Python object, decoded when a field of it is first read."""

    __slots__ = ("_fields", "encoded", "seq")

    def __init__(self, seq: int, encoded: bytes) -> None:
        self.seq = seq
        """The sequence number: 1 for the first event of a session, without gaps."""
        self.encoded = encoded
        """The event as one line of JSON without its number, shared by all readers."""
        self._fields: dict[str, Any] | None = None

    @property
    def kind(self) -> str:
        """An `EventKind`, or the name of a kind that this version does not know."""
        name: str = self._read()["kind"]
        return _KINDS.get(name, name)

    @property
    def at(self) -> datetime:
        """The time of the event, in UTC."""
        return datetime.fromisoformat(self._read()["at"])

    @property
    def data(self) -> dict[str, Any]:
        """The fields of the event, which depend on its kind."""
        return self._read()["data"]

    @property
    def line(self) -> bytes:
        """The whole event as one line of JSON: `{"seq":…,"kind":…,"at":…,"data":{…}}`."""
        return b'{"seq":%d,%b' % (self.seq, self.encoded[1:])

    def _read(self) -> dict[str, Any]:
        fields = self._fields
        if fields is None:
            fields = self._fields = from_json(self.encoded)
        return fields

    def __repr__(self) -> str:
        return f"Event(seq={self.seq}, kind={str(self.kind)!r}, data={self.data!r})"


class Events(Sequence[Event]):
    """Consecutive events. `encoded` forwards them without decoding any."""

    __slots__ = ("encoded", "first")

    def __init__(self, first: int, encoded: list[bytes]) -> None:
        self.first = first
        """The sequence number of the first event."""
        self.encoded = encoded
        """The events as lines of JSON."""

    @property
    def last(self) -> int:
        """The sequence number of the last event; one less than `first` if there are none."""
        return self.first + len(self.encoded) - 1

    def __len__(self) -> int:
        return len(self.encoded)

    def __iter__(self) -> Iterator[Event]:
        return map(Event, count(self.first), self.encoded)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> "Sequence[Event]": ...
    def __getitem__(self, index: int | slice) -> "Event | Sequence[Event]":
        if isinstance(index, slice):
            return list(self)[index]
        offset = range(len(self.encoded))[index]
        return Event(self.first + offset, self.encoded[offset])

    def __repr__(self) -> str:
        return f"Events({list(self)!r})"


def encode_event(kind: str, timestamp: float, data: bytes) -> bytes:
    """Return an event as one line of JSON. `data` is one line of JSON."""
    return b'{"kind":"%b","at":"%b","data":%b}' % (kind.encode(), iso_time(timestamp), data)


def encoded_time(event: bytes) -> bytes:
    """Return the time of an encoded event. Such times sort like the times that they stand for."""
    start = event.index(b'","at":"') + len(b'","at":"')
    return event[start : event.index(b'"', start)]


_from, _until, _latest = 0.0, 0.0, b""


def iso_time(timestamp: float) -> bytes:
    """Return a time in ISO 8601 with milliseconds, cached for events of the same millisecond."""
    global _from, _until, _latest
    if not _from <= timestamp < _until:
        millisecond = int(timestamp * 1000)
        second, rest = divmod(millisecond, 1000)
        _latest = b"%b.%03dZ" % (_second(second), rest)
        _from, _until = timestamp, (millisecond + 1) / 1000
    return _latest


@lru_cache(maxsize=2)
def _second(second: int) -> bytes:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)).encode()
