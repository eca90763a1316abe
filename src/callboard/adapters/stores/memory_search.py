"""Reads what a search of memory found. Which entries fit, and how well, the two databases answer in their own ways."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Connection, and_, select

from ...storage.memory_records import MemoryQuery
from ...storage.snippets import snippet
from ...storage.spoken import spoken
from ...storage.text import is_storable
from ...user_memory import MemoryHit, MemorySource
from .note_queries import split
from .tables import memory_entries, notes, sessions, transcript


class Found(NamedTuple):
    """An entry of `memory_entries` that fits a query."""

    id: int
    score: float


FindEntries: TypeAlias = Callable[[Connection, MemoryQuery, bool], Sequence[Found]]
"""Returns the best entries with any of the terms, or with all of them if the last argument is true, the best first."""

_of_note = and_(notes.c.user_id == memory_entries.c.user_id, notes.c.key == memory_entries.c.note_key)
_of_message = and_(
    transcript.c.session_id == memory_entries.c.session_id, transcript.c.position == memory_entries.c.position
)
_ENTRY = (
    select(
        *(memory_entries.c[name] for name in ("id", "session_id", "note_key", "at")),
        *(notes.c[name] for name in ("text", "tags")),
        *(sessions.c[name] for name in ("given_title", "auto_title")),
        transcript.c.entry,
    )
    .outerjoin(notes, _of_note)
    .outerjoin(sessions, sessions.c.id == memory_entries.c.session_id)
    .outerjoin(transcript, _of_message)
)


def search(connection: Connection, query: MemoryQuery, find_entries: FindEntries) -> list[MemoryHit]:
    """See `MemoryRecords.search_memory`."""
    if not query.terms or not is_storable(query.user_id) or not is_storable(query.without_session or ""):
        return []
    found = find_entries(connection, query, True)
    if not found and len(query.terms) > 1:
        found = find_entries(connection, query, False)
    chosen = _ENTRY.where(
        memory_entries.c.id.in_([each.id for each in found]), memory_entries.c.user_id == query.user_id
    )
    rows = {row["id"]: row for row in connection.execute(chosen).mappings()}
    hits = (_hit(each.score, query.terms, **rows[each.id]) for each in found if each.id in rows)
    return [hit for hit in hits if hit is not None]


def _hit(
    score: float,
    terms: Sequence[str],
    *,
    session_id: str | None,
    note_key: str | None,
    at: float,
    text: str | None,
    tags: str | None,
    given_title: str | None,
    auto_title: str | None,
    entry: bytes | None,
    **_: Any,
) -> MemoryHit | None:
    """Return a hit; None if its note or message was deleted meanwhile."""
    if note_key is not None and text is not None:
        return MemoryHit(
            source=MemorySource.NOTE,
            text=snippet(text, terms),
            at=at,
            score=score,
            key=note_key,
            tags=split(tags or ""),
        )
    said = None if entry is None else spoken(entry)
    if said is None:
        return None
    return MemoryHit(
        source=MemorySource.CONVERSATION,
        text=snippet(said.text, terms),
        at=at,
        score=score,
        session_id=session_id,
        title=given_title or auto_title,
        role=said.role,
    )
