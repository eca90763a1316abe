"""Pages: parts of lists, bounded in bytes as well as in number. What is long in an entry is left out of a page."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

PAGE_BYTES = 524_288
"""About how many bytes a page has, at most."""
LONGEST = 16_384
"""How many characters a field of an entry may have; a longer one is left out."""
BATCH = 20
"""How many entries are read at once: a page may be full before all that were asked for are read."""


def fits(entries: Iterable[T], weigh: Callable[[T], int], room: int = PAGE_BYTES) -> list[T]:
    """The first entries that have room, and always one."""
    taken: list[T] = []
    for entry in entries:
        room -= weigh(entry)
        if room < 0 and taken:
            break
        taken.append(entry)
    return taken


async def collect(
    read: Callable[[T | None, int], Awaitable[Sequence[T]]], limit: int, weigh: Callable[[T], int]
) -> tuple[list[T], bool]:
    """A page of at most `limit` entries, and whether there may be more. `read` gives those that follow an entry."""
    taken: list[T] = []
    room = PAGE_BYTES
    while len(taken) < limit:
        wanted = min(BATCH, limit - len(taken))
        batch = await read(taken[-1] if taken else None, wanted)
        for entry in batch:
            room -= weigh(entry)
            if room < 0 and taken:
                return taken, True
            taken.append(entry)
        if len(batch) < wanted:
            return taken, False
    return taken, bool(await read(taken[-1], 1))
