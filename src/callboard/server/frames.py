"""Events as they go over the wire: server-sent events, made of the bytes that the board keeps.

No data can break out of its frame: JSON has no raw line breaks, which is checked, and the name of an event is a name.
"""

import re
from collections.abc import Iterator

from pydantic_core import from_json, to_json

from ..events.event import Events
from ..events.kinds import EventKind
from ..events.routing import Family, family, route

BEGIN = b"retry: 1000\n\n"
"""What a stream begins with: after how many milliseconds a client that lost it comes back."""
HEARTBEAT = b":\n\n"
MAX_CHUNK = 256 * 1024
"""About how many bytes are sent at once."""

_START = b'{"kind":"'
_NAME = re.compile(rb"[a-z][a-z0-9_]{0,99}")
_BREAKS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))
_KINDS = {kind.value.encode(): kind.value for kind in EventKind}


def frame(seq: int, line: bytes) -> bytes:
    """An event of the board, with its number."""
    line = one_line(line)
    return b'id: %d\nevent: %b\ndata: {"seq":%d,%b\n\n' % (seq, name_of(line), seq, line[1:])


def live_frame(line: bytes) -> bytes:
    """An event that is not kept. It has no number, so that whoever resumes does not resume there."""
    line = one_line(line)
    return b"event: %b\ndata: %b\n\n" % (name_of(line), line)


def named_frame(name: str, data: bytes, seq: int) -> bytes:
    """Something that the server says, and after which number to go on. `data` is one line of JSON."""
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (seq, name.encode(), one_line(data))


def place_frame(seq: int) -> bytes:
    """Nothing but a number: how far a reader has come who is shown only some of the events."""
    return b"id: %d\n\n" % seq


def chunks(events: Events, wanted: Family | None) -> Iterator[bytes]:
    """Events of a family, or all, several in a piece."""
    made: list[bytes] = []
    size = 0
    for seq, line in enumerate(events.encoded, events.first):
        if wanted is None or family_of(line) is wanted:
            made.append(frame(seq, line))
            size += len(line)
            if size > MAX_CHUNK:
                yield b"".join(made)
                made, size = [], 0
    if made:
        yield b"".join(made)


def one_line(line: bytes) -> bytes:
    """A document that no client breaks into lines, not even one that takes more for a line break than it should."""
    if b"\n" in line or b"\r" in line:
        line = to_json(from_json(line))
    if b"\xe2\x80" in line or b"\xc2\x85" in line:
        for character, escaped in _BREAKS:
            line = line.replace(character, escaped)
    return line


def name_of(line: bytes) -> bytes:
    """The kind of an event, if it is a name."""
    if line.startswith(_START):
        name = line[len(_START) : line.find(b'"', len(_START))]
        if name in _KINDS or _NAME.fullmatch(name):
            return name
    kind = str(from_json(line).get("kind")).encode(errors="replace")
    return kind if _NAME.fullmatch(kind) else b"unknown"


def family_of(line: bytes) -> Family:
    """The family of an event. Only a tool's has to be read for that."""
    kind = name_of(line).decode()
    if (known := route(kind).family) is not None:
        return known
    try:
        return family(kind, from_json(line)["data"])
    except ValueError:  # it is nested more deeply than is read here
        return Family.CHAT
