"""What people are asked, and their answers."""

from ...storage.rows import IdempotencyRow
from ..desk import is_id
from ..endpoint import Call, Nothing, endpoint
from ..idempotency import key_of, once, row_of, seq_of
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
    """Answer a request. An answer that names the `arguments_hash` of another one is refused."""
    found = await call.desk.find(call.body.session_id, call.user_id)
    request_id = call.path["request_id"]
    if not is_id(request_id):
        raise not_found("request")

    async def close(row: IdempotencyRow | None) -> Queued:
        session = await call.desk.open(call.body.session_id, call.user_id)
        seen = call.body.arguments_hash
        return Queued(seq=await session.answer(request_id, call.body.answer, arguments_hash=seen, idempotency=row))

    async def again(row: IdempotencyRow) -> Queued:
        return Queued(seq=seq_of(row))

    return await once(call, found.id, row_of(call, key_of(call)), close, again)


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
        problems=(400, 404, 409),
    ),
]
