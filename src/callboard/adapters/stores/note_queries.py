"""Queries of notes. Each write is safe to repeat, as after a commit with an unknown result."""

from typing import Any

from sqlalchemy import Connection, delete, func, select, text, tuple_

from ...storage.errors import Conflict
from ...storage.memory_records import NotesFull
from ...storage.text import is_storable
from ...user_memory import Note, NotePosition
from .memory_words import note_row
from .statements import Statements
from .tables import memory_entries, notes

_NOTE = select(notes.c.key, notes.c.text, notes.c.tags, notes.c.created_at, notes.c.updated_at)
_SAVE = text(
    "INSERT INTO notes (user_id, key, text, tags, created_at, updated_at)"
    " VALUES (:user_id, :key, :text, :tags, :created_at, :updated_at)"
    " ON CONFLICT (user_id, key) DO UPDATE SET"
    " text = excluded.text, tags = excluded.tags, updated_at = excluded.updated_at"
)
_position = tuple_(notes.c.updated_at, notes.c.key)


def save(connection: Connection, statements: Statements, user_id: str, note: Note, most: int) -> Note:
    """See `MemoryRecords.save_note`."""
    if not all(map(is_storable, (user_id, note.key, note.text, *note.tags))):
        raise Conflict("The note has a character that no database can hold.")
    mine = notes.c.user_id == user_id
    count = connection.execute(select(func.count()).where(mine, notes.c.key != note.key)).scalar_one()
    if count >= most and find(connection, user_id, note.key) is None:
        raise NotesFull(most)
    connection.execute(
        _SAVE,
        {
            "user_id": user_id,
            "key": note.key,
            "text": note.text,
            "tags": joined(note.tags),
            "created_at": note.created_at,
            "updated_at": note.updated_at,
        },
    )
    of_note = memory_entries.c.user_id == user_id, memory_entries.c.note_key == note.key
    connection.execute(delete(memory_entries).where(*of_note))
    statements.write(connection, "insert_memory_entries", [note_row(user_id, note)])
    saved = find(connection, user_id, note.key)
    assert saved is not None
    return saved


def find(connection: Connection, user_id: str, key: str) -> Note | None:
    row = connection.execute(_NOTE.where(notes.c.user_id == user_id, notes.c.key == key)).mappings().one_or_none()
    return note_of(**row) if row else None


def listed(
    connection: Connection, user_id: str, tag: str | None, before: NotePosition | None, limit: int
) -> list[Note]:
    """See `MemoryRecords.notes`."""
    if tag is not None and not is_storable(tag):
        return []
    statement = _NOTE.where(notes.c.user_id == user_id)
    if tag is not None:
        statement = statement.where(notes.c.tags.contains(joined((tag,)), autoescape=True))
    if before is not None:
        statement = statement.where(_position < tuple_(*before))
    ordered = statement.order_by(notes.c.updated_at.desc(), notes.c.key.desc()).limit(limit)
    return [note_of(**row) for row in connection.execute(ordered).mappings()]


def remove(connection: Connection, user_id: str, key: str) -> bool:
    """See `MemoryRecords.delete_note`."""
    return connection.execute(delete(notes).where(notes.c.user_id == user_id, notes.c.key == key)).rowcount == 1


def note_of(*, tags: str, **fields: Any) -> Note:
    """Return a row as a value."""
    return Note(tags=split(tags), **fields)


def joined(tags: tuple[str, ...]) -> str:
    """Return tags as they are stored: each between line breaks, so that it is found with them."""
    return "".join(f"\n{tag}\n" for tag in tags)


def split(tags: str) -> tuple[str, ...]:
    """Return stored tags."""
    return tuple(tag for tag in tags.split("\n") if tag)
