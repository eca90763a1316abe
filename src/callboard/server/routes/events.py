"""Events of the board: posted by clients, as far as the routing table allows, and listed."""

from ...events.routing import Side
from ...sessions import posting
from ...storage.rows import IdempotencyRow
from ..endpoint import LARGE_BODY, WRITES, ApiCall, Nothing, endpoint
from ..history import events_before
from ..idempotency import idempotency_key, run_once
from ..models import EventPage, EventQueued, EventsQuery, PostEvent


async def post_event(call: ApiCall[PostEvent, Nothing]) -> EventQueued:
    """Post an event to the board. It is stored before the response; its consequences arrive on the stream."""
    found = await call.services.find(call.body.session_id, call.user_id)

    async def post_it(row: IdempotencyRow | None) -> EventQueued:
        session = await call.services.open(call.body.session_id, call.user_id)
        seq = await posting.post_event(session, call.body.event, side=Side.PEOPLE, idempotency=row)
        call.services.chat_sessions.add(session)
        return EventQueued(event_type=str(call.body.event["kind"]), seq=seq)

    async def again(row: IdempotencyRow) -> EventQueued:
        return EventQueued(event_type=str(call.body.event["kind"]), seq=row.seq or 0)

    return await run_once(call, found.id, idempotency_key(call), post_it, again)


async def list_events(call: ApiCall[Nothing, EventsQuery]) -> EventPage:
    """List past events, newest page first."""
    session = await call.services.find(call.query.session_id, call.user_id)
    return await events_before(call.services, session, call.query.before, call.query.limit)


ENDPOINTS = [
    endpoint("GET", "/api/events", list_events, problems=(404,)),
    endpoint("POST", "/api/system/event", post_event, status=202, problems=(*WRITES, 403, 413), max_body=LARGE_BODY),
]
