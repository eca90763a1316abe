"""The memory of a user, in the store: checks what is saved and asked, and translates errors for the model.

`ToolContext.memory` returns it. Below it is the port `storage.memory_records`.
"""

from collections.abc import Sequence
from typing import Any

from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from ..shortening import shorten
from ..storage.errors import Conflict
from ..storage.memory_records import MemoryQuery, MemoryRecords, NotesFull
from ..storage.search_words import terms_of
from ..storage.text import storable
from ..storage.titles import clean_title
from ..user_memory import MemoryHit, Note, NotePosition
from .store_availability import available

MAX_NOTES = 1_000
"""The number of notes that a user can have."""
MAX_NOTE_BYTES = 16_384
"""The number of bytes of a note's text, in UTF-8."""
MAX_KEY = 200
"""The number of characters of a key."""
MAX_TAGS, MAX_TAG = 10, 50
"""The number of tags of a note, and of characters of a tag."""
MAX_LIMIT = 100
"""The number of notes or hits that are returned at once."""


class StoredMemory:
    """The memory of one user. See `UserMemory`."""

    def __init__(
        self, records: MemoryRecords, clock: Clock, user_id: str, session_id: str, keep_for: float | None
    ) -> None:
        self._records = records
        self._clock = clock
        self._user_id = user_id
        self._session_id = session_id
        self._keep_for = keep_for

    async def save(self, key: str, text: str, tags: Sequence[str] = ()) -> Note:
        key, text = _line("key", key, MAX_KEY), storable(_text("text", text))
        if not text.strip():
            raise _invalid("text", "is empty. To remove a note, delete it.")
        if (size := len(text.encode())) > MAX_NOTE_BYTES:
            raise _invalid("text", f"has {size:,} bytes; at most {MAX_NOTE_BYTES:,} are allowed. Split the note.")
        if isinstance(tags, str):
            raise _invalid("tags", f"is the string {shorten(tags, 80)!r}; it must be a list of strings.")
        if len(tags) > MAX_TAGS:
            raise _invalid("tags", f"has {len(tags)} tags; at most {MAX_TAGS} are allowed.")
        lines = tuple(dict.fromkeys(_line(f"tags[{place}]", tag, MAX_TAG) for place, tag in enumerate(tags)))
        now = self._clock.time()
        note = Note(key=key, text=text, tags=lines, created_at=now, updated_at=now)
        try:
            with available("The memory is"):
                return await self._records.save_note(self._user_id, note, most=MAX_NOTES)
        except NotesFull as error:
            raise ToolError(
                f"There are {MAX_NOTES:,} notes, which is the largest number. Delete one, or add to one that exists.",
                category=ErrorCategory.RESOURCE,
            ) from error
        except Conflict as error:
            raise ToolError("The note cannot be stored.", report=str(error)) from error

    async def note(self, key: str) -> Note | None:
        with available("The memory is"):
            return await self._records.note(self._user_id, clean_title(_text("key", key)))

    async def notes(
        self, *, tag: str | None = None, before: tuple[float, str] | None = None, limit: int = 20
    ) -> list[Note]:
        wanted = None if tag is None else clean_title(_text("tag", tag))
        position = None if before is None else NotePosition(before[0], storable(before[1]))
        with available("The memory is"):
            return await self._records.notes(self._user_id, tag=wanted, before=position, limit=_bounded(limit))

    async def delete(self, key: str) -> bool:
        with available("The memory is"):
            return await self._records.delete_note(self._user_id, clean_title(_text("key", key)))

    async def search(
        self, query: str, *, seconds_back: float | None = None, include_current: bool = False, limit: int = 10
    ) -> list[MemoryHit]:
        terms = terms_of(_text("query", query))
        if not terms:
            raise _invalid("query", "has no letters and digits. Give words to search for.")
        now = self._clock.time()
        since = 0.0 if seconds_back is None else now - seconds_back
        wanted = MemoryQuery(
            user_id=self._user_id,
            terms=terms,
            notes_since=since,
            messages_since=since if self._keep_for is None else max(since, now - self._keep_for),
            without_session=None if include_current else self._session_id,
            limit=_bounded(limit),
        )
        with available("The memory is"):
            return await self._records.search_memory(wanted)


def _line(name: str, text: str, longest: int) -> str:
    """Return a key or a tag as one line of visible text."""
    line = clean_title(_text(name, text))
    if not line:
        raise _invalid(name, "is empty.")
    if len(line) > longest:
        raise _invalid(name, f"has {len(line):,} characters; at most {longest} are allowed.")
    return line


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _invalid(name, f"is {shorten(repr(value), 80)}; it must be a string.")
    return value


def _bounded(limit: Any) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise _invalid("limit", f"is {shorten(repr(limit), 80)}; it must be a whole number.")
    return max(0, min(limit, MAX_LIMIT))


def _invalid(name: str, problem: str) -> ToolError:
    return ToolError(f"{name} {problem}", category=ErrorCategory.VALIDATION)
