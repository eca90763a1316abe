"""A window of a conversation: its newest messages, or those before a position, at a constant cost.

A window begins with a message of the model: an exchange is never split.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import to_json

from ..content import texts
from .messages import Exchange, FindTool, Positioned, exchanges
from .transcript import Input, Note, Reply, decode_for_display

CHUNK = 100
"""The number of entries that are read at once."""
MAX_BYTES = 524_288
"""The largest size of a window, as JSON."""
MAX_TEXT = 2_000
"""The number of characters that remain of a text in an exchange that exceeds `MAX_BYTES`."""

Read = Callable[[int | None, int], Awaitable[tuple[int, list[bytes]]]]
"""Reads the newest entries of a transcript, or those before a position, and returns the position of the first too."""


@dataclass(frozen=True, slots=True)
class Window:
    """Some messages of a conversation."""

    messages: list[dict[str, Any]]
    before: int | None
    """The `before` of the next older window; None: there is none."""
    delivered: int
    """The number of the newest event of an input in it or after it; 0: there is none."""


async def read_window(read: Read, find: FindTool, before: int | None, most: int) -> Window:
    """Read about `most` messages before a position, or the newest ones."""
    entries: list[Positioned] = []
    first, size = before, 0
    while first is None or first > 1:
        start, lines = await read(first, CHUNK)
        size += sum(map(len, lines))
        found = [
            Positioned(position, entry)
            for position, line in enumerate(lines, start)
            if (entry := decode_for_display(line))
        ]
        entries = [*found, *entries]
        first = start
        if not lines:
            break
        full = _starts(entries) > most or size > MAX_BYTES
        if (
            full
            and any(isinstance(each.entry, Reply) for each in entries)
            and (before is not None or _delivered(entries))
        ):
            break
    return _cut(exchanges(entries, find), most, (first or 1) > 1, _delivered(entries))


def newest(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last messages of the user that fit into a window."""
    room, kept = MAX_BYTES, list[dict[str, Any]]()
    for message in reversed(messages):
        room -= 6 * len(message["text"])
        if room < 0 and kept:
            break
        kept.append(message)
    return kept[::-1]


def _cut(found: list[Exchange], most: int, more: bool, delivered: int) -> Window:
    """Keep the newest exchanges that fit, and at least one."""
    if more and found and found[0].reply is None:
        del found[0]  # its first message lies further back
    messages: list[dict[str, Any]] = []
    count = size = 0
    position: int | None = None
    for exchange in reversed(found):
        made = exchange.messages()
        weight = len(to_json(made, inf_nan_mode="null", serialize_unknown=True))
        if position is not None and (count + len(made) > most or size + weight > MAX_BYTES):
            return Window(messages, position, delivered)
        if weight > MAX_BYTES:
            made = [_shortened(message) for message in made]
        messages = [*made, *messages]
        count, size, position = count + len(made), size + weight, exchange.position
    return Window(messages, position if more else None, delivered)


def _starts(entries: list[Positioned]) -> int:
    """The least number of messages that entries make up."""
    return sum(isinstance(each.entry, Reply | Input | Note) for each in entries)


def _delivered(entries: list[Positioned]) -> int:
    return max((each.entry.seq for each in entries if isinstance(each.entry, Input | Note)), default=0)


def _shortened(message: dict[str, Any]) -> dict[str, Any]:
    """Shorten the long fields of a message whose exchange is too large by itself."""
    made = dict(message)
    for name in ("text", "content", "calls"):
        if name not in made:
            continue
        value: Any = made[name]
        if name == "content" and isinstance(value, list):  # with images or sounds
            value = texts(cast("list[Any]", value))
        text = value if isinstance(value, str) else to_json(value, inf_nan_mode="null", serialize_unknown=True).decode()
        if len(text) > MAX_TEXT:
            made[name] = [] if name == "calls" else text[:MAX_TEXT]
            made["cut"] = True
    return made
