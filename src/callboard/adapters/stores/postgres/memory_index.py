"""Finds entries of memory with PostgreSQL's full-text index.

`ts_rank` does not know how rare a word is. So the number of entries with each word is read first, and the ranks of
rare words weigh more.
"""

from collections.abc import Sequence
from math import log

from sqlalchemy import Connection

from ....storage.memory_records import CANDIDATES, MemoryQuery
from ....storage.search_words import is_prefix
from ..memory_search import Found
from ..memory_words import marked
from ..statements import driver
from .statements import TEXTS

COUNTED = 1_000
"""The number from which on a word counts as frequent, whatever the exact number is."""


def find_entries(connection: Connection, query: MemoryQuery, every: bool) -> Sequence[Found]:
    """See `memory_search.FindEntries`."""
    lexemes = [
        f"'{word}'{':*' if is_prefix(term) else ''}"  # words are letters and digits only
        for word, term in zip(marked(query.user_id, query.terms), query.terms, strict=True)
    ]
    parameters = {"user_id": query.user_id, "lexemes": lexemes, "counted": COUNTED}
    counts = dict(driver(connection).execute(TEXTS["count_memory"], parameters).fetchall())
    if not any(counts.values()) or (every and not all(counts.values())):
        return []
    weights = [log(1 + COUNTED / max(1, counts[each])) for each in lexemes]
    rows = driver(connection).execute(
        TEXTS["find_memory"],
        {
            **parameters,
            "match": (" & " if every else " | ").join(lexemes),
            "weights": weights,
            "candidates": CANDIDATES,
            "notes_since": query.notes_since,
            "messages_since": query.messages_since,
            "without_session": query.without_session,
            "limit": query.limit,
        },
    )
    return [Found(number, score) for number, score in rows]
