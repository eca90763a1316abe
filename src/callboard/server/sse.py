"""Server-sent events, built from the encoded events of a board.

Data cannot escape its frame: line breaks in the JSON are checked, and an event's name is validated.
"""

import re
from collections.abc import Iterator

from pydantic_core import from_json, to_json

from ..events.event import Events
from ..events.kinds import EventKind
from ..events.routing import Family, family, route

BEGIN = b"retry: 1000\n\n"
"""The start of a stream: the milliseconds after which a client reconnects."""
HEARTBEAT = b":\n\n"
MAX_CHUNK = 256 * 1024
"""The approximate number of bytes that are sent at once."""

_START = b'{"kind":"'
_NAME = re.compile(rb"[a-z][a-z0-9_]{0,99}")
_BREAKS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))
_KINDS = {kind.value.encode(): kind.value for kind in EventKind}


def frame(seq: int, line: bytes) -> bytes:
    """Write an event of the board with its number."""
    line = one_line(line)
    return b'id: %d\nevent: %b\ndata: {"seq":%d,%b\n\n' % (seq, name_of(line), seq, line[1:])


def live_frame(line: bytes) -> bytes:
    """Write an event that is not stored. It has no number, so that no client resumes there."""
    line = one_line(line)
    return b"event: %b\ndata: %b\n\n" % (name_of(line), line)


def named_frame(name: str, data: bytes, seq: int) -> bytes:
    """Write an event of the server itself, such as a snapshot, with the number to resume after."""
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (seq, name.encode(), one_line(data))


def cursor_frame(seq: int) -> bytes:
    """Write a number alone, to move the cursor of a client that receives one family of events."""
    return b"id: %d\n\n" % seq


def chunks(events: Events, wanted: Family | None) -> Iterator[bytes]:
    """Write the events of a family, or all, several per chunk."""
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
    """Escape line breaks in a document, including Unicode ones that some clients split at."""
    if b"\n" in line or b"\r" in line:
        line = to_json(from_json(line))
    if b"\xe2\x80" in line or b"\xc2\x85" in line:
        for character, escaped in _BREAKS:
            line = line.replace(character, escaped)
    return line


def name_of(line: bytes) -> bytes:
    """Return the kind of an encoded event, or `unknown` if it is not a valid name."""
    if line.startswith(_START):
        name = line[len(_START) : line.find(b'"', len(_START))]
        if name in _KINDS or _NAME.fullmatch(name):
            return name
    kind = str(from_json(line).get("kind")).encode(errors="replace")
    return kind if _NAME.fullmatch(kind) else b"unknown"


def family_of(line: bytes) -> Family:
    """Return the family of an encoded event. Only events of tools are parsed for that."""
    kind = name_of(line).decode()
    if (known := route(kind).family) is not None:
        return known
    try:
        return family(kind, from_json(line)["data"])
    except ValueError:  # nested too deeply to parse
        return Family.CHAT
