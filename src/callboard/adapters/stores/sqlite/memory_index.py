"""Finds entries of memory with SQLite's full-text index (FTS5), ranked by BM25."""

from collections.abc import Sequence

from sqlalchemy import Connection

from ....storage.memory_records import CANDIDATES, MemoryQuery
from ....storage.search_words import is_prefix
from ..memory_search import Found
from ..memory_words import marked
from ..statements import driver
from .statements import TEXTS


def find_entries(connection: Connection, query: MemoryQuery, every: bool) -> Sequence[Found]:
    """See `memory_search.FindEntries`."""
    match = (" AND " if every else " OR ").join(
        f'"{word}"{" *" if is_prefix(term) else ""}'  # words are letters and digits only
        for word, term in zip(marked(query.user_id, query.terms), query.terms, strict=True)
    )
    rows = driver(connection).execute(
        TEXTS["find_memory"],
        (
            match,
            CANDIDATES,
            query.user_id,
            query.notes_since,
            query.messages_since,
            query.without_session,
            query.limit,
        ),
    )
    return [Found(number, -score) for number, score in rows]
