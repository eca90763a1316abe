"""Past events in pages, from the newest backwards, for clients that start from a snapshot."""

from ..events.board import CursorExpired
from ..events.event import Event
from ..sessions.live_session import LiveSession
from .app_services import AppServices
from .models import BoardEvent, EventPage

CHUNK = 50
"""Events per read."""
MAX_BYTES = 1 << 20
"""Bytes of a page, unless its first event alone is larger."""


async def events_before(services: AppServices, session: LiveSession, before: int | None, limit: int) -> EventPage:
    """Return the newest events before a number, oldest first, and the cursor of the next page."""
    end = await services.newest_seq(session)
    if before is not None:
        end = min(end, before - 1)
    found: list[BoardEvent] = []
    size, first = 0, 1
    while end >= first and len(found) < limit:
        start, first, lines = await _lines(services, session, max(0, end - min(CHUNK, limit - len(found))), end)
        for seq, line in reversed(lines):
            size += len(line)
            if found and size > MAX_BYTES:
                return _page(found)
            found.append(BoardEvent.model_validate(Event(seq, line)))
        end = start
    return _page(found, more=end >= first)


def _page(found: list[BoardEvent], *, more: bool = True) -> EventPage:
    return EventPage(events=found[::-1], next=found[-1].seq if found and more else None)


async def _lines(
    services: AppServices, session: LiveSession, after: int, end: int
) -> tuple[int, int, list[tuple[int, bytes]]]:
    """Return the events between two numbers: the number that they follow, the oldest stored number, and the events.

    If they are too large for one read, only the newest of them are returned.
    """
    if session.durable:
        while True:
            page = await services.runtime.store.events(session.id, after, end - after)
            if end - after == 1 or page.first + len(page.lines) > min(end, page.last_seq):
                lines = [(seq, line) for seq, line in enumerate(page.lines, page.first) if seq <= end]
                return after, page.first_seq, lines
            after = (after + end) // 2
    try:
        events = session.board.read(after, end - after)
    except CursorExpired as expired:
        events = session.board.read(expired.first - 1, max(0, end - expired.first + 1))
        return after, expired.first, list(enumerate(events.encoded, events.first))
    return after, 1, list(enumerate(events.encoded, events.first))
