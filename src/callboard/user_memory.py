"""The memory of a user: notes, and what was said in conversations. Values, and the port that a handler uses.

A handler gets the port as `ToolContext.memory`, bound to the user of its call. Stores keep the values; see
`storage.memory_records`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol


class MemorySource(StrEnum):
    """Where a hit was found."""

    NOTE = "note"
    CONVERSATION = "conversation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note of a user."""

    key: str
    """The title, by which the note is saved, read and deleted."""
    text: str
    tags: tuple[str, ...] = ()
    created_at: float
    """When the note was first saved, in seconds since 1970."""
    updated_at: float
    """When the note was last saved."""

    @property
    def position(self) -> "NotePosition":
        return NotePosition(self.updated_at, self.key)


class NotePosition(NamedTuple):
    """A position in the list of notes, which is sorted by the time of the last save and then by key."""

    updated_at: float
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit:
    """A note or a message that a search found."""

    source: MemorySource
    text: str
    """The text around the words that were found."""
    at: float
    """When it was said or last saved, in seconds since 1970."""
    score: float
    """How well it fits. Comparable only within one search."""
    key: str | None = None
    """The key of a note."""
    tags: tuple[str, ...] = ()
    session_id: str | None = None
    """The session of a message."""
    title: str | None = None
    """The title of that session."""
    role: str | None = None
    """The author of a message: `user` or `assistant`."""


class UserMemory(Protocol):
    """Notes and search for one user. Every method raises `ToolError`, with a message for the model."""

    async def save(self, key: str, text: str, tags: Sequence[str] = ()) -> Note:
        """Save a note. A note with the same key is replaced, and keeps the time of its creation.

        The category of the error is `validation` for a key, text or tag that cannot be saved, and `resource` if the
        user has too many notes.
        """
        ...

    async def note(self, key: str) -> Note | None:
        """Return a note; None if it does not exist."""
        ...

    async def notes(
        self, *, tag: str | None = None, before: tuple[float, str] | None = None, limit: int = 20
    ) -> list[Note]:
        """Return notes, all or those with a tag, the last saved first.

        `before` is the `position` of a note: those that follow it in this order are returned.
        """
        ...

    async def delete(self, key: str) -> bool:
        """Delete a note. Return whether it existed."""
        ...

    async def search(
        self, query: str, *, seconds_back: float | None = None, include_current: bool = False, limit: int = 10
    ) -> list[MemoryHit]:
        """Find notes and messages with all words of a query, or with any of them if none has all; the best first.

        A word of three or more characters also finds longer words that begin with it. `seconds_back` limits the age.
        The messages of the session that the call is made in are left out unless `include_current` is set.
        """
        ...
