"""Notes, and the search over notes and messages, in memory."""

from dataclasses import replace

from ....storage.errors import Conflict
from ....storage.memory_records import CANDIDATES, MemoryQuery
from ....storage.snippets import snippet
from ....storage.text import is_storable
from ....user_memory import MemoryHit, Note, NotePosition
from .state import MemoryState
from .word_list import matching, ranked


class MemoryNotes:
    """`MemoryRecords` in memory."""

    _state: MemoryState

    async def save_note(self, user_id: str, note: Note, *, most: int) -> Note:
        if not all(map(is_storable, (user_id, note.key, note.text, *note.tags))):
            raise Conflict("The note has a character that no database can hold.")
        return self._state.save_note(user_id, note, most)

    async def note(self, user_id: str, key: str) -> Note | None:
        known = self._state.notes.get(user_id, {}).get(key)
        return None if known is None else known[0]

    async def notes(
        self, user_id: str, *, tag: str | None = None, before: NotePosition | None = None, limit: int = 100
    ) -> list[Note]:
        found = [
            note
            for note, _ in self._state.notes.get(user_id, {}).values()
            if (tag is None or tag in note.tags) and (before is None or note.position < before)
        ]
        return sorted(found, key=lambda note: note.position, reverse=True)[:limit]

    async def delete_note(self, user_id: str, key: str) -> bool:
        return self._state.notes.get(user_id, {}).pop(key, None) is not None

    async def search_memory(self, query: MemoryQuery) -> list[MemoryHit]:
        if not query.terms:
            return []
        found = matching(self._state.memory_of(query), query.terms, CANDIDATES)
        best = ranked(found, query.terms)[: query.limit]
        return [replace(hit, text=snippet(hit.text, query.terms)) for hit in best]
