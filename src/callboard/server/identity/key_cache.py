"""A cache of API keys, which saves a query per request."""

import logging
from collections import OrderedDict
from dataclasses import replace

from ...clock import Clock
from ...storage.api_keys import ReadKey, is_key
from ...storage.errors import StoreError
from ...storage.records import ApiKeyRecords
from ...storage.rows import KeyRow

log = logging.getLogger("callboard.identity")

LIFETIME = 5.0
"""Seconds for which an entry is valid, and a revoked key still works."""

USE_INTERVAL = 60.0
"""Seconds between two records of a key's use, which show unused keys at little cost."""

MAX_ENTRIES = 10_000
"""Cached keys, and cached ids without a key."""


class KeyCache:
    """Looks API keys up. Raises `StoreError` if an entry has expired and the store does not respond."""

    def __init__(self, store: ApiKeyRecords, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: OrderedDict[str, tuple[KeyRow, float]] = OrderedDict()
        self._unknown: OrderedDict[str, float] = OrderedDict()
        """Ids without a key, kept apart so that guesses do not evict known keys."""
        self._any = False
        self._checked_any: float | None = None

    async def any(self) -> bool:
        """Whether the store has a key, also a revoked one: revoking the last key must not admit all clients."""
        now = self._clock.monotonic()
        if not self._any and (self._checked_any is None or now - self._checked_any >= LIFETIME):
            self._any = bool(await self._store.keys(limit=1))
            self._checked_any = now
        return self._any

    def has_seen(self, key_id: str) -> bool:
        """Whether a key of this id is cached."""
        return key_id in self._known

    async def find(self, key: ReadKey) -> KeyRow | None:
        """Return the stored key if the secret matches. The caller checks its expiry and revocation."""
        row = await self._row(key.id)
        return row if is_key(key, row) else None

    async def record_use(self, row: KeyRow) -> None:
        """Record the use of a key, at most once a minute. A failure is logged and does not fail the request."""
        now = self._clock.time()
        if row.last_used_at is not None and now - row.last_used_at < USE_INTERVAL:
            return
        if (seen := self._known.get(row.id)) is not None:  # spares concurrent requests the write
            self._known[row.id] = replace(row, last_used_at=now), seen[1]
        try:
            await self._store.key_used(row.id, now)
        except StoreError as error:
            log.warning("cannot record the use of key %s: %s", row.id, error)

    async def _row(self, key_id: str) -> KeyRow | None:
        now = self._clock.monotonic()
        if (seen := self._known.get(key_id)) is not None and now - seen[1] < LIFETIME:
            return seen[0]
        if (missed := self._unknown.get(key_id)) is not None and now - missed < LIFETIME:
            return None
        row = await self._store.key(key_id)
        self._known.pop(key_id, None)
        self._unknown.pop(key_id, None)
        if row is None:
            self._unknown[key_id] = now
        else:
            self._known[key_id] = row, now
        for cache in (self._known, self._unknown):
            if len(cache) > MAX_ENTRIES:
                cache.popitem(last=False)
        return row
