"""What a person's side posts to the board. Which kinds it may post is the routing table's to say."""

from ...events.routing import Side
from ..endpoint import LARGE_BODY, Call, Nothing, endpoint
from ..models import EventQueued, PostEvent


async def post(call: Call[PostEvent, Nothing]) -> EventQueued:
    """Post an event. It is stored when this answers; what follows from it comes over the stream."""
    session = await call.desk.open(call.body.session_id, call.user_id)
    seq = await session.post(call.body.event, side=Side.PEOPLE)
    call.desk.talking.add(session)
    return EventQueued(event_type=str(call.body.event["kind"]), seq=seq)


ENDPOINTS = [
    endpoint(
        "POST",
        "/api/system/event",
        post,
        "Post an event to the board",
        body=PostEvent,
        answer=EventQueued,
        status=202,
        problems=(403, 404, 409, 413),
        max_body=LARGE_BODY,
    ),
]
