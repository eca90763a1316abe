"""The list of a user's sessions by activity, for sessions that exist in memory only.

Their events, turns and calls are not in the store, which lists all other sessions (`SessionRecords.recent_sessions`).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ..storage.rows import RequestRow
from ..storage.session_list import ListPosition, SessionSummary
from ..storage.titles import fold_title
from .live_session import LiveSession
from .session_rows import session_row


def list_live_sessions(
    sessions: Iterable[LiveSession],
    requests: Iterable[RequestRow],
    *,
    now: float,
    before: ListPosition | None,
    after: ListPosition | None,
    search: str,
    limit: int,
) -> list[SessionSummary]:
    """Return the newest `limit` of these sessions between two positions, newest first. `requests` are the open ones."""
    wanted = fold_title(search)
    found = {
        ListPosition(_active_at(session), session.id): session
        for session in sessions
        if wanted in fold_title(session.title.shown or "")
    }
    page = [
        position
        for position in sorted(found, reverse=True)
        if (before is None or position < before) and (after is None or position > after)
    ][:limit]
    asking = (each for each in requests if each.asks_person)
    waiting = Counter(each.session_id for each in asking if each.expires_at is None or each.expires_at > now)
    return [_summary(found[position], position.active_at, waiting[position.session_id]) for position in page]


def _active_at(session: LiveSession) -> float:
    board = session.board
    if board.last_seq < board.first_seq:
        return session.created_at
    return board.read(board.last_seq - 1)[0].at.timestamp()


def _summary(session: LiveSession, active_at: float, waiting: int) -> SessionSummary:
    calls = session.calls.unfinished
    is_running = session.is_processing or any(each.request is None or not each.request.asks_person for each in calls)
    row = replace(session_row(session), last_seq=session.board.last_seq)
    usage = None if session.current_conversation is None else session.current_conversation.usage
    stored = None if usage is None else usage.encode()
    return SessionSummary(row, active_at, waiting, is_running, len(session.index.entries), stored)
