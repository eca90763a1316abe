"""Sessions: made, listed, logged out, restored, deleted."""

import secrets
from datetime import UTC, datetime

from ...sessions.ids import check_id
from ...sessions.live_session import LiveSession
from ...storage.rows import IdempotencyRow, SessionRow
from ..app_services import AppServices
from ..endpoint import Call, Nothing, endpoint
from ..idempotency import derived_id, key_of, once, row_of
from ..models import CreateSession, Deleted, ListSessions, LogoutSession, SessionInfo, SessionList
from ..problems import Problem


async def create(call: Call[CreateSession, Nothing]) -> SessionInfo:
    """Make a session, or come back to one's own. Under an idempotency key a repeat gives the session of the first."""
    call.services.refuse_if_draining()
    wanted, key = call.body, key_of(call)
    made = f"s{secrets.token_hex(12)}" if key is None else derived_id(call.user_id, key)
    session_id = made if wanted.session_id is None else wanted.session_id
    check_id("session_id", session_id)

    async def enter(row: IdempotencyRow | None) -> SessionInfo:
        session = await call.services.runtime.sessions.open(
            session_id, call.user_id, namespaces=wanted.namespaces, channel=wanted.channel, idempotency=row
        )
        return _live(session)

    async def again(row: IdempotencyRow) -> SessionInfo:
        return _live(await call.services.find(session_id, call.user_id))

    return await once(call, session_id, row_of(call, key), enter, again)


async def listed(call: Call[Nothing, ListSessions]) -> SessionList:
    after, limit = call.query.after, call.query.limit
    if not after.isprintable():
        raise Problem(422, "invalid", "Not valid", "There is no such session to begin after.")
    rows = await call.services.runtime.store.sessions(call.user_id, after=after, limit=limit + 1)
    more = len(rows) > limit
    return SessionList(sessions=[_stored(row) for row in rows[:limit]], next=rows[limit - 1].id if more else None)


async def shown(call: Call[Nothing, Nothing]) -> SessionInfo:
    return _live(await call.services.find(call.path["session_id"], call.user_id))


async def log_out(call: Call[LogoutSession, Nothing]) -> SessionInfo:
    session = await call.services.find(call.path["session_id"], call.user_id)

    async def leave(row: IdempotencyRow | None) -> SessionInfo:
        if session.open or row is not None:
            await session.close(call.body.grace, idempotency=row)
        return _live(session)

    async def again(row: IdempotencyRow) -> SessionInfo:
        return _live(await call.services.find(session.id, call.user_id))

    return await once(call, session.id, row_of(call, key_of(call)), leave, again)


async def restore(call: Call[Nothing, Nothing]) -> SessionInfo:
    found = await call.services.find(call.path["session_id"], call.user_id)

    async def enter(row: IdempotencyRow | None) -> SessionInfo:
        if row is None:
            return _live(await call.services.open(found.id, call.user_id))
        call.services.refuse_if_draining()
        return _live(await call.services.runtime.sessions.open(found.id, call.user_id, idempotency=row))

    async def again(row: IdempotencyRow) -> SessionInfo:
        return _live(await call.services.find(found.id, call.user_id))

    return await once(call, found.id, row_of(call, key_of(call)), enter, again)


async def delete(call: Call[Nothing, Nothing]) -> Deleted:
    session = await call.services.find(call.path["session_id"], call.user_id)
    return Deleted(deleted=await _deleted(call.services, session))


async def _deleted(services: AppServices, session: LiveSession) -> bool:
    """Stop everything of a session, and remove it. False where another process did that meanwhile."""
    await session.interrupt()
    if await session.is_gone():  # whoever has its id by now keeps it
        return False
    await session.calls.cancel_all()
    services.talking.discard(session)
    services.runtime.sessions.delete(session)
    await session.settle()
    return await services.runtime.store.delete(session.id, session.created_at)


def _live(session: LiveSession) -> SessionInfo:
    view = session.toolbox.view
    return SessionInfo(
        session_id=session.id,
        open=session.open,
        namespaces=None if view.namespaces is None else sorted(view.namespaces),
        channel=view.channel,
        tools=[tool.name for tool in session.tools()],
        created_at=datetime.fromtimestamp(session.created_at, UTC),
        last_seq=session.board.last_seq,
        has_pending_work=session.has_pending_work,
    )


def _stored(row: SessionRow) -> SessionInfo:
    return SessionInfo(
        session_id=row.id,
        open=row.open,
        namespaces=None if row.namespaces is None else list(row.namespaces),
        channel=row.channel,
        tools=list(row.tools),
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        last_seq=row.last_seq,
    )


ENDPOINTS = [
    endpoint(
        "POST",
        "/api/sessions",
        create,
        "Make a session, or come back to one",
        body=CreateSession,
        answer=SessionInfo,
        status=201,
        problems=(400, 404, 409),
    ),
    endpoint("GET", "/api/sessions", listed, "One's sessions, by id", query=ListSessions, answer=SessionList),
    endpoint(
        "POST",
        "/api/sessions/{session_id:path}/logout",
        log_out,
        "Log out: wait for what runs, keep everything",
        body=LogoutSession,
        answer=SessionInfo,
        problems=(400, 404, 409),
    ),
    endpoint(
        "POST",
        "/api/sessions/{session_id:path}/restore",
        restore,
        "Log in again",
        answer=SessionInfo,
        problems=(400, 404, 409),
    ),
    endpoint("GET", "/api/sessions/{session_id:path}", shown, "One session", answer=SessionInfo, problems=(404,)),
    endpoint(
        "DELETE",
        "/api/sessions/{session_id:path}",
        delete,
        "Remove a session and all that is its own",
        answer=Deleted,
        problems=(404,),
    ),
]
