"""Titles of sessions, and an index of the sessions of a user by activity.

A conversation from before gets the title of its first message, and a session the time of its newest event.
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from callboard.storage.titles import automatic_title, fold_title

revision = "0012"
down_revision = "0011"

PAGE = 500
"""Sessions that are read at once."""
FIRST_ENTRIES = 20
"""Entries of a transcript that are searched for the first message."""

_name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_sessions = sa.table("sessions", *(sa.column(name, sa.Text) for name in ("id", "auto_title", "auto_title_folded")))
_transcript = sa.table(
    "transcript", sa.column("session_id", sa.Text), sa.column("position", sa.BigInteger), sa.column("entry", sa.Text)
)


def upgrade() -> None:
    op.add_column("sessions", sa.Column("user_id", _name))
    op.add_column("sessions", sa.Column("active_at", sa.Double, nullable=False, server_default="0"))
    for name in ("given_title", "given_title_folded", "auto_title", "auto_title_folded"):
        op.add_column("sessions", sa.Column(name, sa.Text))
    op.execute(
        """
        UPDATE sessions SET
            user_id = (SELECT user_id FROM session_tool_state WHERE session_id = sessions.id),
            active_at = coalesce(
                (SELECT at FROM events WHERE session_id = sessions.id AND seq = sessions.last_seq),
                (SELECT created_at FROM session_tool_state WHERE session_id = sessions.id),
                0
            )
        """
    )
    _set_titles(op.get_bind())
    op.create_index("sessions_recent", "sessions", ["user_id", "active_at", "id"])
    is_open = sa.text("status = 'open'")
    op.create_index("requests_open", "requests", ["session_id"], sqlite_where=is_open, postgresql_where=is_open)


def _set_titles(connection: sa.Connection) -> None:
    """Set the automatic titles, from the first inputs in the transcripts."""
    last = ""
    while True:
        page = sa.select(_sessions.c.id).where(_sessions.c.id > last).order_by(_sessions.c.id).limit(PAGE)
        ids = list(connection.execute(page).scalars())
        if not ids:
            return
        last = ids[-1]
        entries = sa.select(_transcript.c.session_id, sa.cast(_transcript.c.entry, sa.Text)).where(
            _transcript.c.session_id.in_(ids), _transcript.c.position <= FIRST_ENTRIES
        )
        titles: dict[str, str] = {}
        for session_id, entry in connection.execute(entries.order_by(_transcript.c.session_id, _transcript.c.position)):
            if session_id not in titles and (title := _title(entry)) is not None:
                titles[session_id] = title
        for session_id, title in titles.items():
            change = sa.update(_sessions).where(_sessions.c.id == session_id)
            connection.execute(change.values(auto_title=title, auto_title_folded=fold_title(title)))


def _title(entry: str) -> str | None:
    """Return the title that an entry gives, if it is an input."""
    try:
        fields: Any = json.loads(entry)
        return automatic_title(fields["text"]) if fields["kind"] == "input" else None
    except (ValueError, TypeError, KeyError):
        return None
