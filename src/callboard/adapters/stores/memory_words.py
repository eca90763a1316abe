"""Words in the index of memory: each after a mark of its user, so that the words of two users never meet.

The mark is a hash. If two users have the same, a search reads entries of both; the query then selects by user.
"""

from base64 import b32encode
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from ...storage.search_words import words_of
from ...storage.spoken import spoken
from ...user_memory import Note
from .statements import Row


@lru_cache(maxsize=1024)
def user_mark(user_id: str) -> str:
    """Return the mark of a user: eight letters and digits."""
    return b32encode(blake2b(user_id.encode("utf-8", "surrogatepass"), digest_size=5).digest()).decode().lower()


def marked(user_id: str, words: Sequence[str]) -> list[str]:
    """Return words with the mark of their user."""
    mark = user_mark(user_id)
    return [f"{mark}{word}" for word in words]


def index_text(user_id: str, text: str) -> str:
    """Return the words of a text as they are indexed, with spaces between them."""
    return " ".join(marked(user_id, words_of(text)))


def message_row(user_id: str, session_id: str, position: int, entry: bytes, at: float) -> Row | None:
    """Return the row of `memory_entries` for an entry of a transcript; None if it is not searched."""
    said = spoken(entry)
    return None if said is None else (user_id, session_id, position, None, at, index_text(user_id, said.text))


def note_row(user_id: str, note: Note) -> Row:
    """Return the row of `memory_entries` for a note."""
    text = " ".join((note.key, *note.tags, note.text))
    return user_id, None, None, note.key, note.updated_at, index_text(user_id, text)
