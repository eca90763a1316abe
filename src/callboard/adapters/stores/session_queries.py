"""Queries of sessions: their rows, and the list of a user's sessions by activity."""

import json
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    tuple_,
)

from ...storage.rows import SessionRow
from ...storage.session_list import ListPosition, SessionSummary
from ...storage.text import is_storable
from ...storage.titles import fold_title
from ...turns import TurnStatus
from ...types import RequestPurpose, Wake
from .tables import events, executions, incomplete, is_open, requests, running, session_tool_state, sessions, turns

_active_at = (
    select(events.c.at)
    .where(events.c.session_id == sessions.c.id, events.c.seq == sessions.c.last_seq)
    .correlate(sessions)
    .scalar_subquery()
    .label("active_at")
)
SESSION = select(
    *(sessions.c[name] for name in ("id", "channel", "allow", "open", "last_seq", "first_seq", "wake", "writes")),
    *(sessions.c[name] for name in ("given_title", "auto_title")),
    *(session_tool_state.c[name] for name in ("user_id", "namespaces", "created_at", "updated_at")),
    session_tool_state.c.available_tools.label("tools"),
    session_tool_state.c.unconsumed_results.label("unconsumed"),
    _active_at,
).join(session_tool_state, session_tool_state.c.session_id == sessions.c.id)

_newest_turn = (
    select(turns.c.status)
    .where(turns.c.session_id == sessions.c.id)
    .order_by(turns.c.number.desc())
    .limit(1)
    .scalar_subquery()
)
TO_WAKE = (
    select(sessions.c.id, session_tool_state.c.user_id)
    .join(session_tool_state, session_tool_state.c.session_id == sessions.c.id)
    .where(
        session_tool_state.c.unconsumed_results != literal_column("'[]'"),
        sessions.c.last_entry > 0,
        or_(
            and_(sessions.c.open, or_(sessions.c.wake.is_(None), sessions.c.wake == Wake.WAKE.value)),
            _newest_turn == TurnStatus.PAUSED.value,
        ),
    )
    .order_by(sessions.c.id)
)
"""It reads the state of all sessions: an index of those with results would slow every late result down."""

_to_people = requests.c.purpose != literal_column(f"'{RequestPurpose.FRONT_END_TOOL.value}'")
_waiting = (
    select(func.count())
    .where(
        requests.c.session_id == sessions.c.id,
        _to_people,
        is_open,
        or_(
            requests.c.expires_at.is_(None), requests.c.expires_at > bindparam("now", type_=requests.c.expires_at.type)
        ),
    )
    .correlate(sessions)
    .scalar_subquery()
)
_asking = exists().where(
    requests.c.session_id == executions.c.session_id,
    requests.c.execution_id == executions.c.id,
    _to_people,
    is_open,
)


def _any(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return whether a session has a row that fits. PostgreSQL may evaluate `EXISTS` for all sessions at once."""
    return select(literal(1)).where(*conditions).correlate(sessions).limit(1).scalar_subquery().is_not(None)


_running = or_(
    _any(turns.c.session_id == sessions.c.id, running),
    _any(executions.c.session_id == sessions.c.id, incomplete, ~_asking),
)
_usage = (
    select(turns.c.usage)
    .where(turns.c.session_id == sessions.c.id)
    .order_by(turns.c.number.desc())
    .limit(1)
    .correlate(sessions)
    .scalar_subquery()
    .label("usage")
)
USAGE = select(sessions.c.id, _usage)
_SUMMARY = SESSION.add_columns(
    sessions.c.active_at.label("listed_at"),
    _waiting.label("waiting"),
    _running.label("running"),
    sessions.c.last_execution.label("calls"),
    _usage,
)
_position = tuple_(sessions.c.active_at, sessions.c.id)
_title = func.coalesce(sessions.c.given_title_folded, sessions.c.auto_title_folded)


def recent_sessions(
    connection: Connection,
    user_id: str,
    now: float,
    before: ListPosition | None,
    after: ListPosition | None,
    search: str,
    limit: int,
) -> list[SessionSummary]:
    """See `SessionRecords.recent_sessions`."""
    if not is_storable(search):  # no title has it, and SQLite would end the pattern there
        return []
    statement = _SUMMARY.where(sessions.c.user_id == user_id)
    if before is not None:
        statement = statement.where(_position < tuple_(*before))
    if after is not None:
        statement = statement.where(_position > tuple_(*after))
    if search:
        statement = statement.where(_title.contains(fold_title(search), autoescape=True))
    ordered = statement.order_by(sessions.c.active_at.desc(), sessions.c.id.desc()).limit(limit)
    return [_summary(**row) for row in connection.execute(ordered, {"now": now}).mappings()]


def session_row(
    *, namespaces: bytes | None, allow: bytes | None, tools: bytes, unconsumed: bytes, **fields: Any
) -> SessionRow:
    """Return a row of `SESSION` as a value."""
    return SessionRow(
        namespaces=None if namespaces is None else tuple(json.loads(namespaces)),
        allow=None if allow is None else tuple(json.loads(allow)),
        tools=tuple(json.loads(tools)),
        unconsumed=tuple(json.loads(unconsumed)),
        **fields,
    )


def _summary(
    *, listed_at: float, waiting: int, running: bool, calls: int, usage: bytes | None, **fields: Any
) -> SessionSummary:
    return SessionSummary(session_row(**fields), listed_at, waiting, bool(running), calls, usage)
