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
        start = max(0, end - min(CHUNK, limit - len(found)))
        first, lines = await _lines(services, session, start, end)
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
) -> tuple[int, list[tuple[int, bytes]]]:
    """Return the number of the oldest stored event, and the stored events after a number."""
    if session.durable:
        page = await services.runtime.store.events(session.id, after, end - after)
        return page.first_seq, [(seq, line) for seq, line in enumerate(page.lines, page.first) if seq <= end]
    try:
        events = session.board.read(after, end - after)
    except CursorExpired as expired:
        events = session.board.read(expired.first - 1, max(0, end - expired.first + 1))
        return expired.first, list(enumerate(events.encoded, events.first))
    return 1, list(enumerate(events.encoded, events.first))
