"""The port of stored idempotency keys."""

from typing import Protocol

from .rows import IdempotencyRow

MAX_KEYS = 1_000
"""The number of idempotency keys that a session keeps. A new key replaces the oldest."""


class IdempotencyRecords(Protocol):
    """Reads and expires idempotency keys. `Change.idempotency` writes them."""

    async def idempotency(self, session_id: str, key: str) -> IdempotencyRow | None:
        """Return the record of a client's key in a session; None if it is unknown or expired."""
        ...

    async def forget_keys(self, before: float) -> int:
        """Delete the idempotency keys of all sessions that are older than a time. Return their number."""
        ...
