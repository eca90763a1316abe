"""Pages of lists. The cursor is the name of the last entry, so a page stays where it is when others change."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from mcp import types
from mcp.shared.exceptions import MCPError

T = TypeVar("T")

PAGE = 500
"""The number of entries in a page."""


def page_of(
    entries: Sequence[T], cursor: str | None, name_of: Callable[[T], str]
) -> tuple[Sequence[T], dict[str, Any]]:
    """Return the page after a cursor, and the field of the result that names the next one. Raises `MCPError`."""
    start = 0
    if cursor is not None:
        start = 1 + next((place for place, each in enumerate(entries) if name_of(each) == cursor), -1)
        if not start:
            raise MCPError(types.INVALID_PARAMS, "The cursor is no longer valid. List from the start again.")
    page = entries[start : start + PAGE]
    return page, {"nextCursor": name_of(page[-1])} if start + PAGE < len(entries) else {}
