"""The port of stored sessions and their transcripts."""

from typing import Protocol

from .rows import SessionRow


class SessionRecords(Protocol):
    """Reads and deletes sessions. `Change.session` writes them, `Change.transcript` appends to a transcript."""

    async def session(self, session_id: str) -> SessionRow | None:
        """Return a session; None if it does not exist."""
        ...

    async def sessions(self, user_id: str | None = None, *, after: str = "", limit: int = 100) -> list[SessionRow]:
        """Return sessions of all users or of one, in the order of their ids, beginning after an id."""
        ...

    async def delete(self, session_id: str, made_at: float | None = None) -> bool:
        """Delete a session with all its records, unless it was created at another time than `made_at`.

        Return whether it was deleted.
        """
        ...

    async def transcript(self, session_id: str, after: int = 0, limit: int | None = None) -> list[bytes]:
        """Return entries of a transcript after a position, oldest first; the first entry is at position 1."""
        ...

    async def transcript_before(self, session_id: str, before: int | None, limit: int) -> tuple[int, list[bytes]]:
        """Return the newest `limit` entries, or those before a position, oldest first, and the first one's position."""
        ...
