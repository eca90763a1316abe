"""The conversation: messages of the user, the stream of events, the session's state, and interruption."""

from starlette.types import ASGIApp

from ...events.kinds import EventKind
from ...events.routing import Family
from ...protocols.problem import Problem
from ...sessions.live_session import LiveSession
from ...sessions.posting import post_event
from ...storage.rows import IdempotencyRow
from ..app_services import AppServices
from ..endpoint import LARGE_BODY, WRITES, ApiCall, Nothing, endpoint
from ..event_stream import EventStream
from ..idempotency import idempotency_key, queued_again, run_once, stored_answer
from ..models import (
    MAX_SAFE_INTEGER,
    ChatMessage,
    Interrupted,
    MessageList,
    MessagesQuery,
    Queued,
    Retried,
    SessionRef,
    State,
    StateQuery,
    StreamQuery,
)
from ..page_tools import declare_page_tools
from ..session_state import read_state


async def send_message(call: ApiCall[ChatMessage, Nothing]) -> Queued:
    """Send a message to the model. It is stored, and starts a turn; a repeated message id is the same message."""
    wanted = call.body
    found = await call.services.find(wanted.session_id, call.user_id)
    key = idempotency_key(call, wanted.message_id, "message_id")

    async def say(row: IdempotencyRow | None) -> Queued:
        session = await call.services.open(wanted.session_id, call.user_id)
        if not call.services.has_model:
            detail = "This server has no model. Start it with one: callboard serve --model …"
            raise Problem(409, "no_model", "No model", detail)
        await declare_page_tools(session, wanted.tools)
        event = {"kind": EventKind.USER_INPUT, "text": wanted.message, "message_id": key}
        seq = await post_event(session, event, idempotency=row)
        call.services.chat_sessions.add(session)
        return Queued(seq=seq)

    async def again(row: IdempotencyRow) -> Queued:
        await declare_page_tools(found, wanted.tools)  # the process that stored the message may be gone
        return await queued_again(row)

    return await run_once(call, found.id, key, say, again, ignored_fields=("message_id", "tools"))


async def stream_events(call: ApiCall[Nothing, StreamQuery]) -> ASGIApp:
    """Stream the session's events (server-sent events)."""
    session = await call.services.find(call.query.session_id, call.user_id)
    call.services.refuse_if_draining()
    call.services.streams.admit(session)
    after = _last_event_id(call.request.headers.get("last-event-id"), call.query.after)
    if after is not None:
        await _check(call.services, session, after)
    return EventStream(call.services, session, after, None if call.query.family is None else Family(call.query.family))


async def get_state(call: ApiCall[Nothing, StateQuery]) -> State:
    """Get the session's state."""
    session = await call.services.find(call.query.session_id, call.user_id)
    if call.query.after is not None:
        await _check(call.services, session, call.query.after)
    return await read_state(call.services, session, call.query.after, call.query.limit, call.query.messages)


async def list_messages(call: ApiCall[Nothing, MessagesQuery]) -> MessageList:
    """List messages of the conversation, newest page first."""
    session = await call.services.find(call.query.session_id, call.user_id)
    if not call.services.has_model:
        return MessageList(messages=[], next=None)
    window = await session.conversation().window(call.query.before, call.query.limit)
    return MessageList(messages=window.messages, next=window.before)


async def retry_turn(call: ApiCall[SessionRef, Nothing]) -> Retried:
    """Let the model respond to the messages that a failed turn left without a response, without a new message."""
    found = await call.services.find(call.body.session_id, call.user_id)

    async def retry(row: IdempotencyRow | None) -> Retried:
        session = await call.services.open(call.body.session_id, call.user_id)
        if not await session.retry(row):
            detail = "The model has responded to every message. Send a new one."
            raise Problem(409, "nothing_to_retry", "Nothing to retry", detail)
        call.services.chat_sessions.add(session)
        return Retried()

    async def again(_: IdempotencyRow) -> Retried:
        return Retried()

    return await run_once(call, found.id, idempotency_key(call), retry, again)


async def interrupt_turn(call: ApiCall[SessionRef, Nothing]) -> Interrupted:
    """Interrupt the running turn."""
    session = await call.services.find(call.body.session_id, call.user_id)

    async def stop(row: IdempotencyRow | None) -> Interrupted:
        return Interrupted(interrupted=await session.interrupt(idempotency=row))

    async def again(row: IdempotencyRow) -> Interrupted:
        return Interrupted(interrupted=stored_answer(row).get("interrupted") is True)

    return await run_once(call, session.id, idempotency_key(call), stop, again)


def _last_event_id(header: str | None, after: int | None) -> int | None:
    """Return the cursor of a stream. A client that reconnects sends the header, with an outdated query."""
    if not header:
        return after
    if not (header.isascii() and header.isdigit()) or len(header) > 16 or int(header) > MAX_SAFE_INTEGER:
        raise Problem(400, "cursor_invalid", "Not valid", "Last-Event-ID must be the number of an event.")
    return int(header)


async def _check(services: AppServices, session: LiveSession, after: int) -> None:
    """Refuse a cursor after the newest event, which belongs to another session or store."""
    if after > session.board.last_seq and after > (last := await services.newest_seq(session)):
        detail = f"The newest event is {last}, so there is nothing after {after}. Read again without a cursor."
        raise Problem(409, "cursor_ahead", "Cursor after the newest event", detail)


ENDPOINTS = [
    endpoint("POST", "/api/chat", send_message, status=202, problems=WRITES, max_body=LARGE_BODY),
    endpoint("GET", "/api/chat/stream", stream_events, problems=WRITES, media_type="text/event-stream"),
    endpoint("GET", "/api/state", get_state, problems=(404, 409), expensive=True),
    endpoint("GET", "/api/messages", list_messages, problems=(404,), expensive=True),
    endpoint("POST", "/api/chat/retry", retry_turn, status=202, problems=WRITES),
    endpoint("POST", "/api/interrupt", interrupt_turn, status=202, problems=WRITES),
]
