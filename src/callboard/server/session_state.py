"""The state of a session for clients: the response of `GET /api/state`, and the snapshot that starts a stream."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from pydantic import BaseModel

from ..events.board import CursorExpired
from ..events.kinds import EventKind
from ..events.routing import Family
from ..execution.record import ExecutionRecord
from ..sessions.conversation_port import Messages
from ..sessions.decision import Decision
from ..sessions.live_session import LiveSession
from ..sessions.open_request import request_fields
from ..sessions.snapshot import BriefSnapshot, take_brief_snapshot
from ..storage.brief import Cut
from ..storage.rows import RequestRow
from .app_services import AppServices
from .models import BoardEvent, CutInfo, DecisionInfo, ExecutionInfo, RequestInfo, State
from .paging import MAX_FIELD, take_fitting
from .problems import decision_info
from .sse import family_of, name_of

PAGE = 500
SNAPSHOT_ATTEMPTS = 8
"""Attempts to read a state and the messages without a write between them."""
MAX_SCANNED = 2_000
"""Events that are scanned for those of the system family."""

MAX_ENTRIES = 100
"""Requests and executions in a state."""
LIST_BYTES = 262_144
"""The approximate size of each list of a state, except messages."""

_SILENT = {kind.value.encode() for kind in (EventKind.TOOL_EXECUTING, EventKind.TOOL_PROGRESS, EventKind.TOOL_PARTIAL)}


async def read_state(
    services: AppServices, session: LiveSession, after: int | None = None, limit: int = 100, messages: int = 100
) -> State:
    """Read the state of a session, with the system events after a cursor, or the newest without one."""
    snapshot, window = await _consistent(services, session, messages)
    requests = take_fitting([request_info(each.row, each.cut) for each in snapshot.requests], _weight, LIST_BYTES)
    executions = take_fitting([execution_info(*each) for each in reversed(snapshot.executions)], _weight, LIST_BYTES)
    more = len(requests) < len(snapshot.requests) or len(snapshot.requests) == MAX_ENTRIES
    wallet = [each for each in requests if each.kind == EventKind.WALLET_TX_REQUEST]
    if after is None:
        events, cursor = await _system_events(session, max(0, snapshot.last_seq - PAGE), snapshot.last_seq, PAGE)
        events = take_fitting(reversed(events[-limit:]), _weight, LIST_BYTES)[::-1]
    else:
        events, cursor = await _system_events(session, after, snapshot.last_seq, limit, bounded=True)
    return State(
        session_id=session.id,
        messages=[] if window is None else window.messages,
        messages_next=None if window is None else window.before,
        is_processing=snapshot.is_processing,
        pending_wallet_tx=wallet[0] if wallet else None,
        open_requests=requests,
        requests_next=requests[-1].request_id if requests and more else None,
        executions=executions[::-1],
        system_events=events,
        system_cursor=cursor,
        last_seq=snapshot.last_seq,
    )


async def _consistent(services: AppServices, session: LiveSession, most: int) -> tuple[BriefSnapshot, Messages | None]:
    """Read a snapshot and the newest messages as of the same event, so that later events complete them.

    If events are written all the time, the last attempt may contain the newest messages twice.
    """
    snapshot = await take_brief_snapshot(session, MAX_ENTRIES, MAX_FIELD)
    if not services.has_model:
        return snapshot, None
    for _ in range(SNAPSHOT_ATTEMPTS):
        window = await session.conversation().window(most=most)
        if await services.newest_seq(session) == snapshot.last_seq or await _is_silent(session, snapshot.last_seq):
            break
        snapshot = await take_brief_snapshot(session, MAX_ENTRIES, MAX_FIELD)
    else:
        window = await session.conversation().window(most=most)
    return snapshot, window


def request_info(
    row: RequestRow, cut: Mapping[str, Cut] | None = None, decision: Decision | None = None
) -> RequestInfo:
    """Return the API's form of a request, with the decision that closed it."""
    left_out = _cut_info(cut, f"/api/requests/{quote(row.id, safe='')}", row.session_id)
    closed = None if decision is None else DecisionInfo.model_validate(decision_info(decision))
    fields = request_fields(row)
    if cut and "payload" in cut:  # nothing that was shown could be hashed
        fields["arguments_hash"] = None
    return RequestInfo(request_id=row.id, session_id=row.session_id, decision=closed, cut=left_out, **fields)


def execution_info(record: ExecutionRecord, cut: Mapping[str, Cut] | None = None) -> ExecutionInfo:
    """Return the API's form of an execution."""
    info = ExecutionInfo.model_validate(record)
    info.cut = _cut_info(cut, f"/api/executions/{quote(record.id, safe='')}", record.session_id)
    return info


def _cut_info(cut: Mapping[str, Cut] | None, path: str, session_id: str) -> dict[str, CutInfo] | None:
    if not cut:
        return None
    href = f"{path}?{urlencode({'session_id': session_id})}"
    return {
        _NAMES.get(name, name): CutInfo(length=each.length, excerpt=each.excerpt, href=href)
        for name, each in cut.items()
    }


_NAMES = {"display_arguments": "arguments"}


def _weight(entry: BaseModel) -> int:
    return len(entry.__pydantic_serializer__.to_json(entry))


async def _system_events(
    session: LiveSession, after: int, last: int, limit: int, *, bounded: bool = False
) -> tuple[list[BoardEvent], int]:
    """Return events of the system family, and the number up to which they are complete.

    If they are `bounded`, they stop at `LIST_BYTES`.
    """
    found: list[BoardEvent] = []
    room = LIST_BYTES
    until = min(last, after + MAX_SCANNED)
    cursor = after
    while cursor < until and (page := await session.board.kept_page(cursor)):
        if page.first > cursor + 1:  # the events before are no longer kept
            cursor, until = page.first - 1, min(last, page.first - 1 + MAX_SCANNED)
        for event in page:
            if event.seq > until:
                break
            if len(found) == limit:
                return found, cursor
            if family_of(event.encoded) is Family.SYSTEM:
                room -= len(event.encoded)
                if room < 0 and found and bounded:
                    return found, cursor
                found.append(BoardEvent.model_validate(event))
            cursor = event.seq
    return found, max(cursor, after)


async def _is_silent(session: LiveSession, after: int) -> bool:
    """Whether no event after a number changes messages or requests."""
    try:
        return all(name_of(line) in _SILENT for line in (await session.board.page(after)).encoded)
    except CursorExpired:
        return False
