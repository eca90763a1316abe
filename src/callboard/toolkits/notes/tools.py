"""The tools `save_note`, `read_notes`, `delete_note` and `search_memory`."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from math import isfinite
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import from_json, to_json

from callboard import ToolContext, ToolError, tool

from .results import Deleted, FoundMemory, ListedNotes, MemorySearch, SavedNote, utc

DEFAULT_HOURS = 168
MAX_HOURS = 87_600
"""Ten years."""

Key = Annotated[str, Field(min_length=1, max_length=200, description="Short title of the note, which identifies it")]
TagText = Annotated[str, Field(min_length=1, max_length=50)]


@tool(
    namespace="notes",
    group="memory",
    tags=("memory",),
    idempotent=True,
    timeout=15.0,
    usage="Save what the user asks you to remember. Save the same key again to change a note.",
)
async def save_note(
    ctx: ToolContext,
    key: Key,
    text: Annotated[str, Field(min_length=1, max_length=16_384, description="The whole text of the note")],
    tags: Annotated[list[TagText], Field(max_length=10, description="Words to group notes")] = [],  # noqa: B006
) -> SavedNote:
    """Save a note for the user. A note with the same key is replaced."""
    return _saved(await ctx.memory.save(key, text, tags))


@tool(namespace="notes", group="memory", tags=("memory",), idempotent=True, timeout=15.0)
async def read_notes(
    ctx: ToolContext,
    key: Annotated[str | None, Field(max_length=200, description="Read only the note with this key")] = None,
    tag: Annotated[str | None, Field(max_length=50, description="List only notes with this tag")] = None,
    limit: Annotated[int, Field(ge=1, le=50, description="Number of notes")] = 10,
    cursor: Annotated[str | None, Field(max_length=2_000, description="The next_cursor of the page before")] = None,
) -> ListedNotes:
    """Read the notes of the user, the last saved first, or one note by its key."""
    if key is not None:
        note = await ctx.memory.note(key)
        if note is None:
            raise ToolError("There is no note with this key. List the notes without a key.", category="not_found")
        return ListedNotes(notes=[_saved(note)])
    before = None if cursor is None else _position(cursor)
    found = await ctx.memory.notes(tag=tag, before=before, limit=limit + 1)
    page = found[:limit]
    following = _cursor(page[-1].position) if len(found) > limit else None
    return ListedNotes(notes=[_saved(note) for note in page], next_cursor=following)


@tool(namespace="notes", group="memory", tags=("memory",), idempotent=True, timeout=15.0)
async def delete_note(ctx: ToolContext, key: Key) -> Deleted:
    """Delete a note of the user."""
    return Deleted(key=key, deleted=await ctx.memory.delete(key))


@tool(
    namespace="notes",
    group="memory",
    tags=("memory",),
    idempotent=True,
    timeout=15.0,
    usage="Search when the user refers to something from before. If nothing is found, try other words or more hours.",
)
async def search_memory(
    ctx: ToolContext,
    query: Annotated[
        str, Field(min_length=1, max_length=1_000, description="Words to find; the beginning of a word is enough")
    ],
    hours_back: Annotated[
        int, Field(ge=1, le=MAX_HOURS, description="Search texts that are at most this many hours old")
    ] = DEFAULT_HOURS,
    limit: Annotated[int, Field(ge=1, le=20, description="Number of hits")] = 10,
    include_current: Annotated[
        bool, Field(description="Also search the messages of this conversation, which you can see anyway")
    ] = False,
) -> MemorySearch:
    """Search the notes of the user, and what was said in the user's other conversations."""
    hits = await ctx.memory.search(
        query, seconds_back=hours_back * 3600.0, include_current=include_current, limit=limit
    )
    return MemorySearch(
        query=query,
        hours_back=hours_back,
        hits=[
            FoundMemory(
                source=hit.source.value,
                text=hit.text,
                at=utc(hit.at),
                key=hit.key,
                tags=list(hit.tags),
                session_id=hit.session_id,
                title=hit.title,
                role=hit.role,
            )
            for hit in hits
        ],
    )


def _saved(note: Any) -> SavedNote:
    return SavedNote(
        key=note.key,
        text=note.text,
        tags=list(note.tags),
        created_at=utc(note.created_at),
        updated_at=utc(note.updated_at),
    )


def _cursor(position: tuple[float, str]) -> str:
    return urlsafe_b64encode(to_json(position)).decode()


def _position(cursor: str) -> tuple[float, str]:
    """Read a cursor. Raises `ToolError` (validation)."""
    try:
        match from_json(urlsafe_b64decode(cursor)):
            case [int() | float() as at, str() as key] if isfinite(at):
                return float(at), key
            case _:
                raise ValueError
    except (ValueError, OverflowError) as error:
        raise ToolError(
            "cursor: this is not a next_cursor of read_notes. Leave it out to begin again.", category="validation"
        ) from error


tools = (save_note, read_notes, delete_note, search_memory)
