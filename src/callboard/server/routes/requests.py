"""Requests to people, and their answers."""

from ...sessions.answers import CallFailure
from ...sessions.decision import decision_of
from ...sessions.ids import is_valid_id
from ...storage.brief import Brief
from ...storage.rows import IdempotencyRow, RequestRow
from ..endpoint import LARGE_BODY, WRITES, ApiCall, Nothing, endpoint
from ..idempotency import idempotency_key, queued_again, run_once
from ..models import AnswerRequest, Queued, RequestInfo, RequestList, RequestsQuery, SessionRef
from ..page_tools import declare_page_tools
from ..paging import MAX_FIELD, read_page
from ..problems import not_found
from ..session_state import request_info


async def list_requests(call: ApiCall[Nothing, RequestsQuery]) -> RequestList:
    """List requests to people: open ones, oldest first, or closed ones, newest first."""
    runtime, is_closed = call.services.runtime, call.query.status == "closed"
    now = runtime.clock.time()
    if call.query.session_id is not None:
        await (await call.services.find(call.query.session_id, call.user_id)).settle()

    async def read(last: Brief[RequestRow] | None, limit: int) -> list[Brief[RequestRow]]:
        return await runtime.store.brief_requests(
            user_id=call.user_id,
            session_id=call.query.session_id,
            status=None if is_closed else "open",
            closed=is_closed,
            after=call.query.after if last is None else last.row.id,
            limit=limit,
            longest=MAX_FIELD,
        )

    rows, more = await read_page(read, call.query.limit, _weight)
    requests = [
        request_info(row, cut, decision_of(row, runtime.registry.get(row.tool)))
        for row, cut in rows
        if is_closed or row.expires_at is None or row.expires_at > now
    ]
    return RequestList(requests=requests, next=rows[-1].row.id if more else None)


async def get_request(call: ApiCall[Nothing, SessionRef]) -> RequestInfo:
    """Get a request, open or closed."""
    session = await call.services.find(call.query.session_id, call.user_id)
    await session.settle()
    runtime, request_id = call.services.runtime, call.path["request_id"]
    row = await runtime.store.request(request_id) if is_valid_id(request_id) else None
    if row is None or (row.session_id, row.user_id) != (session.id, session.user_id):
        raise not_found("request")
    return request_info(row, decision=decision_of(row, runtime.registry.get(row.tool)))


def _weight(each: Brief[RequestRow]) -> int:
    """Estimate the bytes of a request in a page."""
    return len(each.row.payload) + len(each.row.schema) + min(len(each.row.answer or b""), MAX_FIELD) + 500


async def answer_request(call: ApiCall[AnswerRequest, Nothing]) -> Queued:
    """Answer a request. An answer with the `arguments_hash` of another request is refused.

    A client that executes a call of its own tool answers with the result or with an error.
    """
    found = await call.services.find(call.body.session_id, call.user_id)
    request_id = call.path["request_id"]
    if not is_valid_id(request_id):
        raise not_found("request")

    async def close(row: IdempotencyRow | None) -> Queued:
        session = await call.services.open(call.body.session_id, call.user_id)
        await declare_page_tools(session, call.body.tools)
        seen, error = call.body.arguments_hash, call.body.error
        answer = call.body.answer if error is None else CallFailure(error.category, error.message)
        return Queued(seq=await session.answer(request_id, answer, arguments_hash=seen, idempotency=row))

    return await run_once(call, found.id, idempotency_key(call), close, queued_again, ignored_fields=("tools",))


ENDPOINTS = [
    endpoint("GET", "/api/requests", list_requests, problems=(404,), expensive=True),
    endpoint("GET", "/api/requests/{request_id}", get_request, problems=(404,)),
    endpoint(
        "POST",
        "/api/requests/{request_id}/answer",
        answer_request,
        status=202,
        problems=WRITES,
        max_body=LARGE_BODY,
    ),
]
