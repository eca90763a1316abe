"""Sessions: create, list, get, rename, log out, restore, delete."""

import secrets
from datetime import UTC, datetime

from ...protocols.problem import Problem
from ...sessions.ids import MAX_ID, check_id
from ...sessions.live_session import LiveSession
from ...sessions.session_rows import session_row
from ...storage.rows import IdempotencyRow, SessionRow
from ...storage.session_list import ListPosition, SessionSummary
from ...storage.titles import clean_title
from ...turns import Usage
from ..endpoint import WRITES, ApiCall, Nothing, endpoint
from ..idempotency import derived_id, idempotency_key, run_once
from ..models import (
    CreateSession,
    Deleted,
    LogoutSession,
    RenameSession,
    SessionInfo,
    SessionList,
    SessionsQuery,
)
from ..operations_models import usage_info
from ..session_pages import PageCursor, read_session_page


async def create_session(call: ApiCall[CreateSession, Nothing]) -> SessionInfo:
    """Create or open a session. A repeated idempotency key returns the same session."""
    call.services.refuse_if_draining()
    wanted, key = call.body, idempotency_key(call)
    made = f"s{secrets.token_hex(12)}" if key is None else derived_id(call.user_id, key)
    session_id = made if wanted.session_id is None else wanted.session_id
    check_id("session_id", session_id)
    if key is not None and wanted.session_id is not None:  # before the keys of the session are read
        await call.services.check_owner(session_id, call.user_id)

    async def enter(row: IdempotencyRow | None) -> SessionInfo:
        session = await call.services.runtime.sessions.open(
            session_id, call.user_id, namespaces=wanted.namespaces, channel=wanted.channel, idempotency=row
        )
        return _live(session)

    async def again(row: IdempotencyRow) -> SessionInfo:
        return _live(await call.services.find(session_id, call.user_id))

    return await run_once(call, session_id, key, enter, again)


async def list_sessions(call: ApiCall[Nothing, SessionsQuery]) -> SessionList:
    """List your sessions."""
    after, limit = call.query.after, call.query.limit
    if call.query.order == "recent":
        return await _list_recent(call)
    if call.query.search:
        raise Problem(422, "invalid", "Not valid", "The query parameter search needs order=recent.")
    if not after.isprintable() or len(after) > MAX_ID:
        raise Problem(422, "invalid", "Not valid", "The query parameter after is not a session id.")
    rows = await call.services.runtime.store.sessions(call.user_id, after=after, limit=limit + 1)
    more = len(rows) > limit
    return SessionList(sessions=[_stored(row) for row in rows[:limit]], next=rows[limit - 1].id if more else None)


async def _list_recent(call: ApiCall[Nothing, SessionsQuery]) -> SessionList:
    """List sessions by activity."""
    sessions, search = call.services.runtime.sessions, call.query.search

    async def read(before: ListPosition | None, after: ListPosition | None, limit: int) -> list[SessionSummary]:
        return await sessions.recent(call.user_id, before, after, search=search, limit=limit)

    cursor = PageCursor.parse(call.query.after) if call.query.after else PageCursor()
    page, rest = await read_session_page(read, cursor, call.query.limit)
    return SessionList(sessions=[_listed(each) for each in page], next=None if rest is None else str(rest))


async def get_session(call: ApiCall[Nothing, Nothing]) -> SessionInfo:
    """Get a session, with the usage of its conversation."""
    session = await call.services.find(call.path["session_id"], call.user_id)
    info = _live(session)
    usage = await call.services.runtime.sessions.conversation_usage(session)
    info.usage = None if usage is None else usage_info(usage)
    return info


async def rename_session(call: ApiCall[RenameSession, Nothing]) -> SessionInfo:
    """Rename a session. A title is one line; control characters are removed from it."""
    session = await call.services.find(call.path["session_id"], call.user_id)
    title = None if call.body.title is None else clean_title(call.body.title)
    if title == "":
        raise Problem(
            422, "invalid", "Not valid", "The title has no visible characters. Send null for the automatic one."
        )
    await call.services.runtime.sessions.rename(session, title)
    return _live(session)


async def log_out(call: ApiCall[LogoutSession, Nothing]) -> SessionInfo:
    """Log out: wait for running work, keep all data."""
    session = await call.services.find(call.path["session_id"], call.user_id)

    async def leave(row: IdempotencyRow | None) -> SessionInfo:
        if session.open or row is not None:
            await session.close(call.body.grace, idempotency=row)
        return _live(session)

    async def again(row: IdempotencyRow) -> SessionInfo:
        return _live(await call.services.find(session.id, call.user_id))

    return await run_once(call, session.id, idempotency_key(call), leave, again)


async def restore_session(call: ApiCall[Nothing, Nothing]) -> SessionInfo:
    """Log in again."""
    found = await call.services.find(call.path["session_id"], call.user_id)

    async def enter(row: IdempotencyRow | None) -> SessionInfo:
        if row is None:
            return _live(await call.services.open(found.id, call.user_id))
        call.services.refuse_if_draining()
        return _live(await call.services.runtime.sessions.open(found.id, call.user_id, idempotency=row))

    async def again(row: IdempotencyRow) -> SessionInfo:
        return _live(await call.services.find(found.id, call.user_id))

    return await run_once(call, found.id, idempotency_key(call), enter, again)


async def delete_session(call: ApiCall[Nothing, Nothing]) -> Deleted:
    """Delete a session with all its data. Its work is stopped first."""
    services = call.services
    session = await services.find(call.path["session_id"], call.user_id)
    await session.interrupt()
    if await session.check_deleted():  # another process has deleted it; a new session with the same id is not deleted
        return Deleted(deleted=False)
    await session.cancellation.cancel_all()
    services.chat_sessions.discard(session)
    services.runtime.sessions.delete(session)
    await session.settle()
    return Deleted(deleted=await services.runtime.store.delete(session.id, session.created_at))


def _live(session: LiveSession) -> SessionInfo:
    info = _stored(session_row(session))
    info.last_seq, info.has_pending_work = session.board.last_seq, session.has_pending_work
    return info


def _listed(summary: SessionSummary) -> SessionInfo:
    info = _stored(summary.row)
    info.last_activity_at = datetime.fromtimestamp(summary.active_at, UTC)
    info.waiting, info.running = summary.waiting, summary.running
    info.calls = summary.calls
    info.usage = None if summary.usage is None else usage_info(Usage.decode(summary.usage))
    return info


def _stored(row: SessionRow) -> SessionInfo:
    return SessionInfo(
        session_id=row.id,
        title=row.title,
        open=row.open,
        namespaces=None if row.namespaces is None else list(row.namespaces),
        channel=row.channel,
        tools=list(row.tools),
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        last_seq=row.last_seq,
    )


ENDPOINTS = [
    endpoint("POST", "/api/sessions", create_session, status=201, problems=WRITES),
    endpoint("GET", "/api/sessions", list_sessions, problems=(400,), expensive=True),
    endpoint("POST", "/api/sessions/{session_id:path}/logout", log_out, problems=WRITES),
    endpoint("POST", "/api/sessions/{session_id:path}/restore", restore_session, problems=WRITES),
    endpoint("GET", "/api/sessions/{session_id:path}", get_session, problems=(404,)),
    endpoint("PATCH", "/api/sessions/{session_id:path}", rename_session, problems=(404,)),
    endpoint("DELETE", "/api/sessions/{session_id:path}", delete_session, problems=(404,)),
]
