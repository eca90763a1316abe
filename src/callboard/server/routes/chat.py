"""The conversation: what a person says, what is streamed back, how things stand, and a way to stop it."""

from starlette.types import ASGIApp

from ...events.kinds import EventKind
from ...events.routing import Family
from ...sessions.live_session import LiveSession
from ...sessions.posting import post_event
from ...storage.rows import IdempotencyRow
from ..app_services import AppServices
from ..endpoint import LARGE_BODY, Call, Nothing, endpoint
from ..idempotency import answer_of, key_of, once, row_of, seq_of
from ..models import MOST, AskMessages, AskState, Chat, Interrupted, MessageList, OfSession, Queued, State, Stream
from ..problems import Problem
from ..state import state_of
from ..stream import EventStream


async def chat(call: Call[Chat, Nothing]) -> Queued:
    """Store what the user says, and let a turn begin. The same message id again is the same message."""
    wanted = call.body
    found = await call.services.find(wanted.session_id, call.user_id)
    key = key_of(call, wanted.message_id, "message_id")

    async def say(row: IdempotencyRow | None) -> Queued:
        session = await call.services.open(wanted.session_id, call.user_id)
        if not call.services.has_model:
            detail = "This server has no model to talk to. Start it with one: callboard serve --model …"
            raise Problem(409, "no_model", "No model", detail)
        event = {"kind": EventKind.USER_INPUT, "text": wanted.message, "message_id": key}
        seq = await post_event(session, event, idempotency=row)
        call.services.talking.add(session)
        return Queued(seq=seq)

    async def again(row: IdempotencyRow) -> Queued:
        return Queued(seq=seq_of(row))

    return await once(call, found.id, row_of(call, key, "message_id"), say, again)


async def stream(call: Call[Nothing, Stream]) -> ASGIApp:
    session = await call.services.find(call.query.session_id, call.user_id)
    call.services.refuse_if_draining()
    call.services.streams.admit(session)
    after = _last_event_id(call.request.headers.get("last-event-id"), call.query.after)
    if after is not None:
        await _check(call.services, session, after)
    return EventStream(call.services, session, after, None if call.query.family is None else Family(call.query.family))


async def state(call: Call[Nothing, AskState]) -> State:
    session = await call.services.find(call.query.session_id, call.user_id)
    if call.query.after is not None:
        await _check(call.services, session, call.query.after)
    return await state_of(call.services, session, call.query.after, call.query.limit, call.query.messages)


async def messages(call: Call[Nothing, AskMessages]) -> MessageList:
    """Messages of the conversation, by pages from its end."""
    session = await call.services.find(call.query.session_id, call.user_id)
    if not call.services.has_model:
        return MessageList(messages=[], next=None)
    window = await session.conversation().window(call.query.before, call.query.limit)
    return MessageList(messages=window.messages, next=window.before)


async def interrupt(call: Call[OfSession, Nothing]) -> Interrupted:
    session = await call.services.find(call.body.session_id, call.user_id)

    async def stop(row: IdempotencyRow | None) -> Interrupted:
        return Interrupted(interrupted=await session.interrupt(idempotency=row))

    async def again(row: IdempotencyRow) -> Interrupted:
        return Interrupted(interrupted=answer_of(row).get("interrupted") is True)

    return await once(call, session.id, row_of(call, key_of(call)), stop, again)


def _last_event_id(header: str | None, after: int | None) -> int | None:
    """Where a reader stands. A client that comes back by itself says it in the header, and keeps the old address."""
    if not header:
        return after
    if not (header.isascii() and header.isdigit()) or len(header) > 16 or int(header) > MOST:
        raise Problem(400, "cursor_invalid", "Not valid", "Last-Event-ID must be the number of an event.")
    return int(header)


async def _check(services: AppServices, session: LiveSession, after: int) -> None:
    """Refuse a cursor that lies beyond the newest event: it is another session's, or another store's."""
    if after > session.board.last_seq and after > (last := await services.newest(session)):
        detail = f"The newest event is {last}; there is none after {after} to wait for. Read again without a cursor."
        raise Problem(409, "cursor_ahead", "Beyond the end", detail)


ENDPOINTS = [
    endpoint(
        "POST",
        "/api/chat",
        chat,
        "Say something to the model",
        body=Chat,
        answer=Queued,
        status=202,
        problems=(400, 404, 409),
        max_body=LARGE_BODY,
    ),
    endpoint(
        "GET",
        "/api/chat/stream",
        stream,
        "The session's events, as they come (server-sent events)",
        query=Stream,
        problems=(400, 404, 409),
        media_type="text/event-stream",
    ),
    endpoint(
        "GET",
        "/api/state",
        state,
        "How the session stands",
        query=AskState,
        answer=State,
        problems=(404, 409),
        expensive=True,
    ),
    endpoint(
        "GET",
        "/api/messages",
        messages,
        "The messages of the conversation, by pages from its end",
        query=AskMessages,
        answer=MessageList,
        problems=(404,),
        expensive=True,
    ),
    endpoint(
        "POST",
        "/api/interrupt",
        interrupt,
        "Stop the turn that runs",
        body=OfSession,
        answer=Interrupted,
        status=202,
        problems=(400, 404, 409),
    ),
]
