"""The port of stored API keys."""

from typing import Protocol

from .rows import KeyRow


class KeyRecords(Protocol):
    """Stores API keys. No key is ever deleted: a revoked key still names its user."""

    async def add_key(self, row: KeyRow) -> None:
        """Store a new key. Raises `Conflict` if another key has its id."""
        ...

    async def key(self, key_id: str) -> KeyRow | None:
        """Return a key; None if it does not exist."""
        ...

    async def keys(self, user_id: str | None = None, *, limit: int = 1000) -> list[KeyRow]:
        """Return the first `limit` keys of all users or of one, oldest first."""
        ...

    async def revoke_key(self, key_id: str, at: float) -> KeyRow | None:
        """Revoke a key and return it; None if it does not exist. A key that is revoked already keeps its time."""
        ...

    async def key_used(self, key_id: str, at: float) -> None:
        """Store the time at which a key was last used. An earlier time and an unknown key are ignored."""
        ...
