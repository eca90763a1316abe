"""A window of a conversation: its newest messages, or those before a place, at a cost that does not grow with it.

A window begins where the model began to say something: an exchange is never torn.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from .messages import Exchange, Placed, exchanges
from .transcript import Input, Noted, Said, decode_shown

CHUNK = 100
"""How many entries are read at once."""
MAX_BYTES = 524_288
"""How large a window may be, as JSON."""
MAX_TEXT = 2_000
"""How many characters are shown of a text in a window that would be larger."""

Read = Callable[[int | None, int], Awaitable[tuple[int, list[bytes]]]]
"""Gives the newest entries of a transcript, or those before a place, and the place of the first."""


@dataclass(frozen=True, slots=True)
class Window:
    """Some messages of a conversation."""

    messages: list[dict[str, Any]]
    before: int | None
    """What to read the messages before these with; None: there are none."""
    told: int
    """The number of the newest event of an input in it, or that was found behind it. 0: there is none."""


async def read_window(read: Read, before: int | None, most: int) -> Window:
    """The newest messages before a place, about `most` of them, or the newest of all."""
    entries: list[Placed] = []
    first, size = before, 0
    while first is None or first > 1:
        start, lines = await read(first, CHUNK)
        size += sum(map(len, lines))
        found = [Placed(place, entry) for place, line in enumerate(lines, start) if (entry := decode_shown(line))]
        entries = [*found, *entries]
        first = start
        if not lines:
            break
        full = _starts(entries) > most or size > MAX_BYTES
        if full and any(isinstance(each.entry, Said) for each in entries) and (before is not None or _told(entries)):
            break
    return _cut(exchanges(entries), most, (first or 1) > 1, _told(entries))


def newest(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last messages of the user that have room in a window."""
    room, kept = MAX_BYTES, list[dict[str, Any]]()
    for message in reversed(messages):
        room -= 6 * len(message["text"])
        if room < 0 and kept:
            break
        kept.append(message)
    return kept[::-1]


def _cut(found: list[Exchange], most: int, more: bool, told: int) -> Window:
    """As many exchanges as there is room for, from the newest back, and always one."""
    if more and found and found[0].said is None:
        del found[0]  # what the model said to begin it lies further back
    messages: list[dict[str, Any]] = []
    count = size = 0
    place: int | None = None
    for exchange in reversed(found):
        made = exchange.messages()
        weight = len(to_json(made, inf_nan_mode="null", serialize_unknown=True))
        if place is not None and (count + len(made) > most or size + weight > MAX_BYTES):
            return Window(messages, place, told)
        if weight > MAX_BYTES:
            made = [_shortened(message) for message in made]
        messages = [*made, *messages]
        count, size, place = count + len(made), size + weight, exchange.place
    return Window(messages, place if more else None, told)


def _starts(entries: list[Placed]) -> int:
    """How many messages entries make up, at least."""
    return sum(isinstance(each.entry, Said | Input | Noted) for each in entries)


def _told(entries: list[Placed]) -> int:
    return max((each.entry.seq for each in entries if isinstance(each.entry, Input | Noted)), default=0)


def _shortened(message: dict[str, Any]) -> dict[str, Any]:
    """A message of an exchange that is too large by itself: only the beginning of what is long in it."""
    made = dict(message)
    for name in ("text", "content", "calls"):
        if name not in made:
            continue
        value: Any = made[name]
        text = value if isinstance(value, str) else to_json(value, inf_nan_mode="null", serialize_unknown=True).decode()
        if len(text) > MAX_TEXT:
            made[name] = [] if name == "calls" else text[:MAX_TEXT]
            made["cut"] = True
    return made
