"""Pages of a user's sessions by activity. Sessions move to the front of the list while a client reads it.

A client reads from the front to the end, and then the sessions that have moved to the front meanwhile: they may have
been behind its cursor. So every session is on one of the pages, and only a session that was active after the client
read it can be on two.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable
from math import isfinite
from typing import Any, NamedTuple, Protocol, Self, cast

from ..protocols.problem import Problem
from ..sessions.ids import is_valid_id
from ..storage.session_list import ListPosition, SessionSummary


class ReadSessions(Protocol):
    """Reads sessions between two positions, newest first."""

    def __call__(
        self, before: ListPosition | None, after: ListPosition | None, limit: int
    ) -> Awaitable[list[SessionSummary]]: ...


class PageCursor(NamedTuple):
    """A part of the list: the sessions between two positions."""

    before: ListPosition | None = None
    """The last session that was read; None at the front of the list."""
    after: ListPosition | None = None
    """The front of the list as it was when the part behind was begun; None: the end of the list."""
    front: ListPosition | None = None
    """The front of the list when this part was begun; None if it is not begun."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the cursor of a client. Raises `Problem` (400)."""
        try:
            fields: Any = json.loads(urlsafe_b64decode(text.encode("ascii")))
            before, after, front = (None if each is None else _position(each) for each in fields)
        except (ValueError, TypeError, OverflowError, RecursionError):
            detail = "The query parameter after is not the `next` of a page of this list."
            raise Problem(400, "cursor_invalid", "Not valid", detail) from None
        return cls(before, after, front)

    def __str__(self) -> str:
        return urlsafe_b64encode(json.dumps(self).encode()).decode()


async def read_session_page(
    read: ReadSessions, cursor: PageCursor, limit: int
) -> tuple[list[SessionSummary], PageCursor | None]:
    """Return a page, and the cursor of the next one; None on the last page. Takes one query, or two at the end."""
    found = await read(cursor.before, cursor.after, limit + 1)
    front = cursor.front or (found[0].position if found else None)
    if len(found) > limit:
        return found[:limit], PageCursor(found[limit - 1].position, cursor.after, front)
    if cursor.before is None or front is None:  # the whole part was read at one moment
        return found, None
    room = limit - len(found)
    moved = await read(None, front, room + 1)
    page = {each.row.id: each for each in (*found, *moved[:room])}
    if len(moved) <= room:
        return list(page.values()), None
    rest = PageCursor(moved[room - 1].position, front, moved[0].position) if room else PageCursor(after=front)
    return list(page.values()), rest


def _position(fields: Any) -> ListPosition:
    active_at, session_id = cast("tuple[Any, Any]", fields)
    if not isinstance(active_at, int | float) or not isfinite(active_at) or not isinstance(session_id, str):
        raise ValueError
    if not is_valid_id(session_id):
        raise ValueError
    return ListPosition(float(active_at), session_id)
