"""Sessions: made, listed, logged out, restored, deleted."""

import secrets
from datetime import UTC, datetime

from ...sessions.session import Session
from ...storage.rows import SessionRow
from ..desk import Desk
from ..endpoint import Call, Nothing, endpoint
from ..models import CreateSession, Deleted, ListSessions, LogoutSession, SessionInfo, SessionList
from ..problems import Problem


async def create(call: Call[CreateSession, Nothing]) -> SessionInfo:
    """Make a session, or come back to one's own."""
    call.desk.refuse_if_draining()
    wanted = call.body
    session_id = wanted.session_id or f"s{secrets.token_hex(12)}"
    session = await call.desk.runtime.open(session_id, call.user_id, wanted.namespaces, wanted.channel)
    return _live(session)


async def listed(call: Call[Nothing, ListSessions]) -> SessionList:
    after, limit = call.query.after, call.query.limit
    if not after.isprintable():
        raise Problem(422, "invalid", "Not valid", "There is no such session to begin after.")
    rows = await call.desk.runtime.store.sessions(call.user_id, after=after, limit=limit + 1)
    more = len(rows) > limit
    return SessionList(sessions=[_stored(row) for row in rows[:limit]], next=rows[limit - 1].id if more else None)


async def shown(call: Call[Nothing, Nothing]) -> SessionInfo:
    return _live(await call.desk.find(call.path["session_id"], call.user_id))


async def log_out(call: Call[LogoutSession, Nothing]) -> SessionInfo:
    session = await call.desk.find(call.path["session_id"], call.user_id)
    if session.open:
        await session.close(call.body.grace)
    return _live(session)


async def restore(call: Call[Nothing, Nothing]) -> SessionInfo:
    return _live(await call.desk.open(call.path["session_id"], call.user_id))


async def delete(call: Call[Nothing, Nothing]) -> Deleted:
    session = await call.desk.find(call.path["session_id"], call.user_id)
    return Deleted(deleted=await _deleted(call.desk, session))


async def _deleted(desk: Desk, session: Session) -> bool:
    """Stop everything of a session, and remove it. False where another process did that meanwhile."""
    await session.interrupt()
    if await session.is_gone():  # whoever has its id by now keeps it
        return False
    await session.cancel_all()
    desk.talking.discard(session)
    desk.runtime.sessions.close(session)
    await session.settle()
    return await desk.runtime.store.delete(session.id, session.created_at)


def _live(session: Session) -> SessionInfo:
    view = session.view
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
        problems=(404,),
    ),
    endpoint("GET", "/api/sessions", listed, "One's sessions, by id", query=ListSessions, answer=SessionList),
    endpoint(
        "POST",
        "/api/sessions/{session_id:path}/logout",
        log_out,
        "Log out: wait for what runs, keep everything",
        body=LogoutSession,
        answer=SessionInfo,
        problems=(404,),
    ),
    endpoint(
        "POST", "/api/sessions/{session_id:path}/restore", restore, "Log in again", answer=SessionInfo, problems=(404,)
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
