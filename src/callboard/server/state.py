"""How a session stands, as a caller is told: the answer to `GET /api/state`, and what a stream begins with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import BaseModel
from pydantic_core import from_json

from ..events.board import CursorExpired
from ..events.event import Event, Events
from ..events.kinds import EventKind
from ..events.routing import Family
from ..execution.record import ExecutionRecord
from ..sessions.answers import arguments_hash
from ..sessions.conversation_port import Messages
from ..sessions.live_session import LiveSession
from ..sessions.snapshot import BriefSnapshot, take_brief_snapshot
from ..storage.brief import Cut
from ..storage.rows import RequestRow
from ..types import RequestPurpose
from .app_services import AppServices
from .frames import family_of, name_of
from .models import BoardEvent, CutInfo, ExecutionInfo, RequestInfo, State
from .pages import LONGEST, fits

PAGE = 500
LOOKS = 8
"""How often one looks for a moment at which nothing is written."""
MAX_SCANNED = 2_000
"""How many events are looked at for those of the system's family."""

MAX_SHOWN = 100
"""How many requests and executions there are in a state."""
LIST_BYTES = 262_144
"""About how many bytes each list of a state has, the messages aside."""

_SILENT = {kind.value.encode() for kind in (EventKind.TOOL_EXECUTING, EventKind.TOOL_PROGRESS, EventKind.TOOL_PARTIAL)}


async def state_of(
    services: AppServices, session: LiveSession, after: int | None = None, limit: int = 100, messages: int = 100
) -> State:
    """How things stand. Of the system's events those after a cursor; the newest, where there is none."""
    snapshot, window = await _as_one(services, session, messages)
    requests = fits([request_info(each.row, each.cut) for each in snapshot.requests], _weight, LIST_BYTES)
    executions = fits([execution_info(*each) for each in reversed(snapshot.executions)], _weight, LIST_BYTES)
    more = len(requests) < len(snapshot.requests) or len(snapshot.requests) == MAX_SHOWN
    wallet = [each for each in requests if each.kind == EventKind.WALLET_TX_REQUEST]
    if after is None:
        events, cursor = await _system_events(session, max(0, snapshot.last_seq - PAGE), snapshot.last_seq, PAGE)
        events = fits(reversed(events[-limit:]), _weight, LIST_BYTES)[::-1]
    else:
        events, cursor = await _system_events(session, after, snapshot.last_seq, limit, bounded=True)
    return State(
        session_id=session.id,
        messages=window.messages,
        messages_next=window.before,
        is_processing=snapshot.is_processing,
        pending_wallet_tx=wallet[0] if wallet else None,
        open_requests=requests,
        requests_next=requests[-1].request_id if requests and more else None,
        executions=executions[::-1],
        system_events=events,
        system_cursor=cursor,
        last_seq=snapshot.last_seq,
    )


async def _as_one(services: AppServices, session: LiveSession, most: int) -> tuple[BriefSnapshot, Messages]:
    """How things stand, and the newest messages up to the same event: what follows is neither in them nor missing.

    Where something is written all the time, one stops looking for a quiet moment, and the newest may be in both.
    """
    snapshot = await take_brief_snapshot(session, MAX_SHOWN, LONGEST)
    if not services.has_model:
        return snapshot, _NoMessages()
    for _ in range(LOOKS):
        window = await session.conversation().window(most=most)
        if await services.newest(session) == snapshot.last_seq or await _is_silent(session, snapshot.last_seq):
            break
        snapshot = await take_brief_snapshot(session, MAX_SHOWN, LONGEST)
    else:
        window = await session.conversation().window(most=most)
    return snapshot, window


@dataclass(frozen=True, slots=True)
class _NoMessages:
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    before: int | None = None


def request_info(row: RequestRow, cut: Mapping[str, Cut] | None = None) -> RequestInfo:
    """A request as a caller sees it."""
    return RequestInfo(
        request_id=row.id,
        session_id=row.session_id,
        execution_id=row.execution_id,
        kind=row.kind,
        purpose=RequestPurpose(row.purpose),
        tool=row.tool,
        payload=from_json(row.payload),
        answer_schema=from_json(row.schema),
        arguments_hash=arguments_hash(row),
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        expires_at=None if row.expires_at is None else datetime.fromtimestamp(row.expires_at, UTC),
        cut=_cut_info(cut, f"/api/requests/{quote(row.id, safe='')}", row.session_id),
    )


def execution_info(record: ExecutionRecord, cut: Mapping[str, Cut] | None = None) -> ExecutionInfo:
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
        cut=_cut_info(cut, f"/api/executions/{quote(record.id, safe='')}", record.session_id),
    )


def _cut_info(cut: Mapping[str, Cut] | None, path: str, session_id: str) -> dict[str, CutInfo] | None:
    if not cut:
        return None
    href = f"{path}?{urlencode({'session_id': session_id})}"
    return {
        _NAMES.get(name, name): CutInfo(length=each.length, excerpt=each.excerpt, href=href)
        for name, each in cut.items()
    }


_NAMES = {"shown": "arguments"}


def _weight(entry: BaseModel) -> int:
    return len(entry.__pydantic_serializer__.to_json(entry))


async def _system_events(
    session: LiveSession, after: int, last: int, limit: int, *, bounded: bool = False
) -> tuple[list[BoardEvent], int]:
    """Events of the system's family, and up to which number they are all that there are.

    Where they are `bounded`, they end when they have too many bytes.
    """
    found: list[BoardEvent] = []
    room = LIST_BYTES
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
            if family_of(event.encoded) is Family.SYSTEM:
                room -= len(event.encoded)
                if room < 0 and found and bounded:
                    return found, cursor
                found.append(_board_event(event))
            cursor = event.seq
    return found, max(cursor, after)


async def _is_silent(session: LiveSession, after: int) -> bool:
    """Whether no event after a number says or ends anything."""
    try:
        return all(name_of(line) in _SILENT for line in (await _page(session, after)).encoded)
    except CursorExpired:
        return False


async def _page(session: LiveSession, after: int) -> Events:
    board = session.board
    return board.read(after, PAGE) if board.remembers(after) else await board.recall(after)


def _board_event(event: Event) -> BoardEvent:
    return BoardEvent(seq=event.seq, kind=str(event.kind), at=event.at, data=event.data)
