"""The stored row of a live session: made from its state, and applied to it."""

from ..storage.rows import SessionRow
from ..tools.view import View
from ..types import Wake
from .live_session import LiveSession
from .session_title import SessionTitle


def session_row(session: LiveSession) -> SessionRow:
    """Return the row to store for a session now."""
    view = session.toolbox.view
    return SessionRow(
        id=session.id,
        user_id=session.user_id,
        namespaces=None if view.namespaces is None else tuple(sorted(view.namespaces)),
        channel=view.channel,
        allow=None if view.allow is None else tuple(sorted(view.allow)),
        tools=tuple(tool.name for tool in session.tools()),
        open=session.open,
        wake=session.wake,
        created_at=session.created_at,
        updated_at=session.services.clock.time(),
        given_title=session.title.given,
        auto_title=session.title.automatic,
    )


def apply_row(session: LiveSession, row: SessionRow) -> None:
    """Apply a stored row to a live session."""
    session.toolbox.view = View.of(row.namespaces, row.channel, row.allow)
    session.open, session.writes = row.open, row.writes
    session.wake = None if row.wake is None else Wake(row.wake)
    session.title = SessionTitle(row.given_title, row.auto_title)
