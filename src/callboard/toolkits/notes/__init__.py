"""The `notes` toolkit: notes of a user, and a search over the user's notes and past conversations.

It needs no extra: notes and messages are in the store of the runtime. Everything belongs to the user of the session.
"""

from .results import Deleted, FoundMemory, ListedNotes, MemorySearch, SavedNote
from .tools import delete_note, read_notes, save_note, search_memory, tools

__all__ = [
    "Deleted",
    "FoundMemory",
    "ListedNotes",
    "MemorySearch",
    "SavedNote",
    "delete_note",
    "read_notes",
    "save_note",
    "search_memory",
    "tools",
]
