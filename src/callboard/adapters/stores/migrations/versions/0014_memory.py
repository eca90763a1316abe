"""Notes, and the full-text index over notes and messages.

Messages from before are indexed with the time at which their session was last active: entries have no time.
"""

import sqlite3
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import OperationalError

from callboard.adapters.stores.memory_words import message_row
from callboard.adapters.stores.postgres.jsonb import unwrapped
from callboard.adapters.stores.postgres.tsvector import tsvector_text
from callboard.storage.errors import StoreError

revision = "0014"
down_revision = "0013"

PAGE = 500
"""Entries that are read at once."""

_name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_sessions = sa.table("sessions", sa.column("id", sa.Text), sa.column("user_id", sa.Text), sa.column("active_at"))
_transcript = sa.table(
    "transcript", sa.column("session_id", sa.Text), sa.column("position", sa.BigInteger), sa.column("entry", sa.Text)
)

_NAMES = ("user_id", "session_id", "position", "note_key", "at")
_words = sa.column("words", sa.Text().with_variant(postgresql.TSVECTOR(), "postgresql"))
_entries = sa.table("memory_entries", *map(sa.column, _NAMES), _words)

_SQLITE_INDEX = (
    "CREATE VIRTUAL TABLE memory_words USING fts5("
    "words, content='memory_entries', content_rowid='id', tokenize='ascii')",
    "CREATE TRIGGER memory_entries_added AFTER INSERT ON memory_entries BEGIN"
    " INSERT INTO memory_words (rowid, words) VALUES (new.id, new.words); END",
    "CREATE TRIGGER memory_entries_removed AFTER DELETE ON memory_entries BEGIN"
    " INSERT INTO memory_words (memory_words, rowid, words) VALUES ('delete', old.id, old.words); END",
)
"""Words have a space between them; the tokenizer `ascii` leaves all other characters but ASCII signs as they are."""


def upgrade() -> None:
    op.create_table(
        "notes",
        sa.Column("user_id", _name, primary_key=True),
        sa.Column("key", _name, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("tags", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
    )
    op.create_index("notes_recent", "notes", ["user_id", "updated_at", "key"])
    op.create_table(
        "memory_entries",
        sa.Column("id", _number, sa.Identity(), primary_key=True),
        sa.Column("user_id", _name, nullable=False),
        sa.Column("session_id", _name, sa.ForeignKey("sessions.id", ondelete="CASCADE")),
        sa.Column("position", sa.BigInteger),
        sa.Column("note_key", _name),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("words", sa.Text().with_variant(postgresql.TSVECTOR(), "postgresql"), nullable=False),
        sa.ForeignKeyConstraint(["user_id", "note_key"], ["notes.user_id", "notes.key"], ondelete="CASCADE"),
    )
    of_session, of_note = sa.text("session_id IS NOT NULL"), sa.text("note_key IS NOT NULL")
    _index("memory_entries_session", ["session_id"], of_session)
    _index("memory_entries_note", ["user_id", "note_key"], of_note)
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        _create_sqlite_index(connection)
        _add_messages(connection)
    else:
        _add_messages(connection)
        op.create_index("memory_entries_words", "memory_entries", ["words"], postgresql_using="gin")


def _index(name: str, columns: list[str], where: sa.TextClause) -> None:
    op.create_index(name, "memory_entries", columns, sqlite_where=where, postgresql_where=where)


def _create_sqlite_index(connection: sa.Connection) -> None:
    try:
        for statement in _SQLITE_INDEX:
            connection.exec_driver_sql(statement)
    except OperationalError as error:
        if isinstance(error.orig, sqlite3.OperationalError) and "no such module" in str(error.orig):
            raise StoreError(
                "The SQLite of this Python has no full-text search (FTS5). Use a Python whose SQLite has it, or "
                "PostgreSQL."
            ) from error
        raise


def _add_messages(connection: sa.Connection) -> None:
    """Index the messages of all transcripts, in pages by session and position."""
    postgres = connection.dialect.name == "postgresql"
    to_text = tsvector_text if postgres else str
    entries = (
        sa.select(
            _transcript.c.session_id,
            _transcript.c.position,
            sa.cast(_transcript.c.entry, sa.Text),
            _sessions.c.user_id,
            _sessions.c.active_at,
        )
        .join(_sessions, _sessions.c.id == _transcript.c.session_id)
        .order_by(_transcript.c.session_id, _transcript.c.position)
        .limit(PAGE)
    )
    place = sa.tuple_(_transcript.c.session_id, _transcript.c.position)
    last: tuple[str, int] = ("", 0)
    while rows := connection.execute(entries.where(place > sa.tuple_(*last))).all():
        last = rows[-1][0], rows[-1][1]
        added: list[dict[str, Any]] = []
        for session_id, position, entry, user_id, active_at in rows:
            document = unwrapped(entry) if postgres else entry.encode()
            if (row := message_row(user_id or "", session_id, position, document, active_at)) is not None:
                *values, words = row
                added.append({**dict(zip(_NAMES, values, strict=True)), "words": to_text(words)})
        if added:
            connection.execute(sa.insert(_entries), added)
