"""Pages of lists, limited in bytes as well as in number. Long fields of an entry are left out of a page."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

PAGE_BYTES = 524_288
"""The approximate largest size of a page."""
MAX_FIELD = 16_384
"""Characters of a field; a longer one is left out."""
BATCH = 20
"""Entries per read: a page may be full before all entries are read."""


def take_fitting(entries: Iterable[T], weigh: Callable[[T], int], room: int = PAGE_BYTES) -> list[T]:
    """Return the first entries that fit into `room` bytes, and at least one."""
    taken: list[T] = []
    for entry in entries:
        room -= weigh(entry)
        if room < 0 and taken:
            break
        taken.append(entry)
    return taken


async def read_page(
    read: Callable[[T | None, int], Awaitable[Sequence[T]]], limit: int, weigh: Callable[[T], int]
) -> tuple[list[T], bool]:
    """Return a page of at most `limit` entries, and whether more may follow.

    `read` returns the entries after a given one.
    """
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
