"""The port of the memory of users: notes, and the search over notes and messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..user_memory import MemoryHit, Note, NotePosition
from .errors import Conflict

CANDIDATES = 2_000
"""The number of newest entries with the words of a query that are ranked."""


class NotesFull(Conflict):
    """A user has as many notes as are allowed. Nothing was written."""

    code = "notes_full"

    def __init__(self, most: int) -> None:
        super().__init__(f"The user has {most:,} notes, which is the largest number.")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuery:
    """A search in the memory of a user."""

    user_id: str
    terms: Sequence[str]
    """Words, as `words.terms_of` returns them."""
    notes_since: float = 0.0
    """Notes that were last saved before this time are left out."""
    messages_since: float = 0.0
    """Messages from before this time are left out."""
    without_session: str | None = None
    """A session whose messages are left out."""
    limit: int = 10


class MemoryRecords(Protocol):
    """Stores notes and searches the memory of users. `Change.transcript` writes the messages.

    A method sees the notes and messages of the named user only.
    """

    async def save_note(self, user_id: str, note: Note, *, most: int) -> Note:
        """Store a note, and return it. A note with the same key is replaced, but keeps its `created_at`.

        Raises `NotesFull` if the note is new and the user has `most` notes. Processes that save at the same moment can
        exceed that number by one note each. Raises `Conflict` for a text that no store can hold.
        """
        ...

    async def note(self, user_id: str, key: str) -> Note | None:
        """Return a note; None if it does not exist."""
        ...

    async def notes(
        self, user_id: str, *, tag: str | None = None, before: NotePosition | None = None, limit: int = 100
    ) -> list[Note]:
        """Return the first `limit` notes before a position, the largest position first; with a tag, only those."""
        ...

    async def delete_note(self, user_id: str, key: str) -> bool:
        """Delete a note. Return whether it existed."""
        ...

    async def search_memory(self, query: MemoryQuery) -> list[MemoryHit]:
        """Return the notes and messages that have all terms, or any of them if none has all; the best first.

        Of more than `CANDIDATES` the newest are ranked. The texts of the hits are extracts, as `snippets.snippet` makes
        them. Deleted notes, and messages of deleted sessions, are not found.
        """
        ...
