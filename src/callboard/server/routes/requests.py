"""What people are asked, and their answers."""

from ..desk import is_id
from ..endpoint import LARGE_BODY, Call, Nothing, endpoint
from ..models import AnswerRequest, AskRequests, Queued, RequestList
from ..problems import not_found
from ..state import request_info


async def listed(call: Call[Nothing, AskRequests]) -> RequestList:
    """Those that wait for an answer, oldest first."""
    limit = call.query.limit
    if call.query.session_id is not None:
        rows = await (await call.desk.find(call.query.session_id, call.user_id)).requests()
    else:
        now = call.desk.runtime.clock.time()
        found = await call.desk.runtime.store.requests(user_id=call.user_id, status="open", limit=limit)
        rows = [row for row in found if row.expires_at is None or row.expires_at > now]
    return RequestList(requests=[request_info(row) for row in rows[:limit]])


async def answer(call: Call[AnswerRequest, Nothing]) -> Queued:
    session = await call.desk.open(call.body.session_id, call.user_id)
    request_id = call.path["request_id"]
    if not is_id(request_id):
        raise not_found("request")
    return Queued(seq=await session.answer(request_id, call.body.answer))


ENDPOINTS = [
    endpoint(
        "GET",
        "/api/requests",
        listed,
        "What waits for a person",
        query=AskRequests,
        answer=RequestList,
        problems=(404,),
    ),
    endpoint(
        "POST",
        "/api/requests/{request_id}/answer",
        answer,
        "Answer what is asked",
        body=AnswerRequest,
        answer=Queued,
        status=202,
        problems=(404, 409),
        max_body=LARGE_BODY,
    ),
]
