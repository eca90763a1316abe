"""The port of the stored events of sessions."""

from collections.abc import Collection
from typing import NamedTuple, Protocol

PAGE_BYTES = 4 * 1024 * 1024
"""The approximate size in bytes at which a page of events ends, even if it has fewer events than its limit."""


class Head(NamedTuple):
    """The end of a board."""

    last_seq: int
    """The number of the newest event."""
    made_at: float
    """The creation time of the session: a session that was deleted and created again has another board."""


class Page(NamedTuple):
    """Consecutive events of a board, and the range of numbers that the board keeps."""

    first: int
    """The number of the first line: `after` + 1, or the oldest kept number if that is greater."""
    lines: list[bytes]
    """Encoded events, as they were committed; their numbers are consecutive."""
    first_seq: int
    """The number of the oldest kept event of the board."""
    last_seq: int
    """The number of the newest event of the board."""
    made_at: float = 0.0
    """When the session was created; 0 if there is none."""


class EventLog(Protocol):
    """Reads and trims the events of sessions."""

    async def events(self, session_id: str, after: int, limit: int, *, max_bytes: int = PAGE_BYTES) -> Page:
        """Return the events after a number, oldest first. An unknown session has an empty board.

        A page may have fewer than `limit` events, but at least one if there are any: it ends with the event that makes
        it `max_bytes` long. `last_seq` says whether there are more.
        """
        ...

    async def heads(self, session_ids: Collection[str]) -> dict[str, Head]:
        """Return the ends of the boards of those sessions that exist."""
        ...

    async def sessions_to_trim(self, session_ids: Collection[str], *, keep: int, before: float) -> list[str]:
        """Return those of these sessions, by id, that have more than `keep` events or whose oldest event is too old.

        It reads no more than one event of each session.
        """
        ...

    async def trim(self, session_id: str, *, keep: int, before: float) -> int:
        """Delete events beyond the newest `keep`, and events older than a time. Return the first kept number.

        Kept numbers have no gaps: an older event stays if a newer event precedes it. An input (`input_id` in the data
        of its event) that is not delivered stays too, with all events after it.
        """
        ...
