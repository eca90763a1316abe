"""Rows without what is long in them, for lists: a thousand results of a megabyte each are never in memory at once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

from .rows import ExecutionRow, RequestRow

R = TypeVar("R", ExecutionRow, RequestRow)

EXCERPT = 200
"""How many characters are shown of what is left out."""


class Cut(NamedTuple):
    """What was left out of a row because it is long."""

    length: int
    """How many characters it has, as JSON."""
    excerpt: str
    """The first of them."""


class Brief(NamedTuple, Generic[R]):
    """A row without what is long in it: in its place stands null."""

    row: R
    cut: Mapping[str, Cut]
    """The fields that were left out, by name."""


def brief(row: R, longest: int, *names: str, **others: Any) -> Brief[R]:
    """A row without those fields of it that have more bytes than that. `others` are set."""
    cut = {
        name: Cut(len(text), text[: 4 * EXCERPT].decode(errors="ignore")[:EXCERPT])
        for name in names
        if (text := getattr(row, name)) is not None and len(text) > longest
    }
    return Brief(replace(row, **{name: nothing(name) for name in cut}, **others), cut)


def nothing(name: str) -> bytes | None:
    """What stands in the place of a field that was left out."""
    return None if name == "value" else b"null"
