"""Rows without their long fields, for lists: a thousand results of a megabyte each are never in memory at once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

from .rows import ExecutionRow, RequestRow

R = TypeVar("R", ExecutionRow, RequestRow)

EXCERPT = 200
"""The number of characters in the excerpt of an omitted field."""


class Cut(NamedTuple):
    """A field that was left out of a row because it is long."""

    length: int
    """The number of its characters, as JSON."""
    excerpt: str
    """Its first characters."""


class Brief(NamedTuple, Generic[R]):
    """A row without its long fields: their value is null."""

    row: R
    cut: Mapping[str, Cut]
    """The omitted fields, by name."""


def brief(row: R, longest: int, *names: str, **others: Any) -> Brief[R]:
    """Return a row without those named fields that are longer than `longest` bytes. `others` replaces fields."""
    cut = {
        name: Cut(len(text), text[: 4 * EXCERPT].decode(errors="ignore")[:EXCERPT])
        for name in names
        if (text := getattr(row, name)) is not None and len(text) > longest
    }
    return Brief(replace(row, **{name: nothing(name) for name in cut}, **others), cut)


def nothing(name: str) -> bytes | None:
    """Return the value of an omitted field."""
    return None if name == "value" else b"null"
