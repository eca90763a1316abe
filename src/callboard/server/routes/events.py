"""What a person's side posts to the board. Which kinds it may post is the routing table's to say."""

from ...events.routing import Side
from ...sessions.posting import post_event
from ...storage.rows import IdempotencyRow
from ..endpoint import LARGE_BODY, Call, Nothing, endpoint
from ..history import events_before
from ..idempotency import key_of, once, row_of, seq_of
from ..models import AskEvents, EventPage, EventQueued, PostEvent


async def post(call: Call[PostEvent, Nothing]) -> EventQueued:
    """Post an event. It is stored when this answers; what follows from it comes over the stream."""
    found = await call.services.find(call.body.session_id, call.user_id)

    async def post_it(row: IdempotencyRow | None) -> EventQueued:
        session = await call.services.open(call.body.session_id, call.user_id)
        seq = await post_event(session, call.body.event, side=Side.PEOPLE, idempotency=row)
        call.services.talking.add(session)
        return EventQueued(event_type=str(call.body.event["kind"]), seq=seq)

    async def again(row: IdempotencyRow) -> EventQueued:
        return EventQueued(event_type=str(call.body.event["kind"]), seq=seq_of(row))

    return await once(call, found.id, row_of(call, key_of(call)), post_it, again)


async def listed(call: Call[Nothing, AskEvents]) -> EventPage:
    """Events of the past, from the newest backwards."""
    session = await call.services.find(call.query.session_id, call.user_id)
    return await events_before(call.services, session, call.query.before, call.query.limit)


ENDPOINTS = [
    endpoint(
        "GET",
        "/api/events",
        listed,
        "Events of the past, page by page from the newest backwards",
        query=AskEvents,
        answer=EventPage,
        problems=(404,),
    ),
    endpoint(
        "POST",
        "/api/system/event",
        post,
        "Post an event to the board",
        body=PostEvent,
        answer=EventQueued,
        status=202,
        problems=(400, 403, 404, 409, 413),
        max_body=LARGE_BODY,
    ),
]
