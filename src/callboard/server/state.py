"""How a session stands, as a caller is told: the answer to `GET /api/state`, and what a stream begins with."""

from datetime import UTC, datetime
from typing import Any

from pydantic_core import from_json

from ..events.board import CursorExpired
from ..events.event import Event, Events
from ..events.kinds import EventKind
from ..events.routing import Family
from ..execution.record import ExecutionRecord
from ..sessions.answers import arguments_hash
from ..sessions.session import Session
from ..sessions.snapshot import SessionSnapshot
from ..storage.rows import RequestRow
from .desk import Desk
from .frames import family_of, name_of
from .models import MAX_LIST, BoardEvent, ExecutionInfo, RequestInfo, State

PAGE = 500
LOOKS = 8
"""How often one looks for a moment at which nothing is written."""
MAX_SCANNED = 2_000
"""How many events are looked at for those of the system's family."""

_SILENT = {kind.value.encode() for kind in (EventKind.TOOL_EXECUTING, EventKind.TOOL_PROGRESS, EventKind.TOOL_PARTIAL)}


async def state_of(desk: Desk, session: Session, after: int | None = None, limit: int = 100) -> State:
    """How things stand. Of the system's events those after a cursor; the newest, where there is none."""
    snapshot, messages = await _as_one(desk, session)
    requests = [request_info(row) for row in snapshot.requests[:MAX_LIST]]
    wallet = [each for each in requests if each.kind == EventKind.WALLET_TX_REQUEST]
    if after is None:
        events, cursor = await _system_events(session, max(0, snapshot.last_seq - PAGE), snapshot.last_seq, PAGE)
        events = events[-limit:]
    else:
        events, cursor = await _system_events(session, after, snapshot.last_seq, limit)
    return State(
        session_id=session.id,
        messages=messages[-MAX_LIST:],
        is_processing=snapshot.is_processing,
        pending_wallet_tx=wallet[0] if wallet else None,
        open_requests=requests,
        executions=[execution_info(record) for record in snapshot.executions[-MAX_LIST:]],
        system_events=events,
        system_cursor=cursor,
        last_seq=snapshot.last_seq,
    )


async def _as_one(desk: Desk, session: Session) -> tuple[SessionSnapshot, list[dict[str, Any]]]:
    """How things stand, and the messages up to the same event: what follows is neither in them nor missing.

    Where something is written all the time, one stops looking for a quiet moment, and the newest may be in both.
    """
    snapshot = await session.snapshot()
    if not desk.has_model:
        return snapshot, []
    for _ in range(LOOKS):
        messages = await session.messages(waiting=True)
        if await desk.newest(session) == snapshot.last_seq or await _is_silent(session, snapshot.last_seq):
            break
        snapshot = await session.snapshot()
    else:
        messages = await session.messages(waiting=True)
    return snapshot, messages


def request_info(row: RequestRow) -> RequestInfo:
    """A request as a caller sees it."""
    return RequestInfo(
        request_id=row.id,
        session_id=row.session_id,
        execution_id=row.execution_id,
        kind=row.kind,
        tool=row.tool,
        payload=from_json(row.payload),
        answer_schema=from_json(row.schema),
        arguments_hash=arguments_hash(row),
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        expires_at=None if row.expires_at is None else datetime.fromtimestamp(row.expires_at, UTC),
    )


def execution_info(record: ExecutionRecord) -> ExecutionInfo:
    """An execution as a caller sees it."""
    return ExecutionInfo(
        execution_id=record.id,
        call_id=record.call_id,
        tool=record.tool,
        status=record.status.value,
        arguments=record.arguments,
        value=record.value,
        error=record.error,
        queued_at=record.queued_at,
        started_at=record.started_at,
        completed_at=record.completed_at,
        queued_for=record.queued_for,
        ran_for=record.ran_for,
        attempt=record.attempt,
        max_attempts=record.max_attempts,
        previous_errors=list(record.previous_errors),
        promoted=record.promoted,
        parent_id=record.parent_id,
    )


async def _system_events(session: Session, after: int, last: int, limit: int) -> tuple[list[BoardEvent], int]:
    """Events of the system's family, and up to which number they are all that there are."""
    found: list[BoardEvent] = []
    until = min(last, after + MAX_SCANNED)
    cursor = after
    while cursor < until:
        try:
            page = await _page(session, cursor)
        except CursorExpired as expired:
            if expired.first - 1 <= cursor:  # the log itself is gone
                break
            cursor, until = expired.first - 1, min(last, expired.first - 1 + MAX_SCANNED)
            continue
        for event in page:
            if event.seq > until:
                break
            if len(found) == limit:
                return found, cursor
            cursor = event.seq
            if family_of(event.encoded) is Family.SYSTEM:
                found.append(_board_event(event))
    return found, max(cursor, after)


async def _is_silent(session: Session, after: int) -> bool:
    """Whether no event after a number says or ends anything."""
    try:
        return all(name_of(line) in _SILENT for line in (await _page(session, after)).encoded)
    except CursorExpired:
        return False


async def _page(session: Session, after: int) -> Events:
    board = session.board
    return board.read(after, PAGE) if board.remembers(after) else await board.recall(after)


def _board_event(event: Event) -> BoardEvent:
    return BoardEvent(seq=event.seq, kind=str(event.kind), at=event.at, data=event.data)
