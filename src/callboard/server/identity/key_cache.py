"""The API keys as a server knows them: remembered for a few seconds, so that a request does not cost a query."""

import logging
from collections import OrderedDict
from dataclasses import replace

from ...clock import Clock
from ...storage.keys import ReadKey, is_key
from ...storage.port import Keys, StoreError
from ...storage.rows import KeyRow

log = logging.getLogger("callboard.identity")

LIFETIME = 5.0
"""Seconds for which a look-up holds. A key that is revoked works no longer than that."""

NOTED = 60.0
"""Seconds between two notes of a key's use. Enough to see which keys nobody needs, and few enough to cost nothing."""

MOST = 10_000
"""How many keys, and how many ids that are none, are remembered."""


class KeyCache:
    """Looks keys up. Raises `StoreError` where the store cannot say: nobody is let in on an old answer."""

    def __init__(self, store: Keys, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: OrderedDict[str, tuple[KeyRow, float]] = OrderedDict()
        self._unknown: OrderedDict[str, float] = OrderedDict()
        """Apart from those that are known, so that guesses do not drive them out."""
        self._any = False
        self._looked: float | None = None

    async def any(self) -> bool:
        """Whether there was ever a key. One that is revoked counts: the last one to go must not open the door."""
        now = self._clock.monotonic()
        if not self._any and (self._looked is None or now - self._looked >= LIFETIME):
            self._any = bool(await self._store.keys(limit=1))
            self._looked = now
        return self._any

    def has_seen(self, key_id: str) -> bool:
        """Whether a key of this id was found not long ago."""
        return key_id in self._known

    async def find(self, key: ReadKey) -> KeyRow | None:
        """The stored key, if it is this one. Whether it is still valid is the caller's to see."""
        row = await self._row(key.id)
        return row if is_key(key, row) else None

    async def note_use(self, row: KeyRow) -> None:
        """Note that a key is used, where that was not done within a minute. What fails here stops nobody."""
        now = self._clock.time()
        if row.last_used_at is not None and now - row.last_used_at < NOTED:
            return
        if (seen := self._known.get(row.id)) is not None:  # others who come now need not do it too
            self._known[row.id] = replace(row, last_used_at=now), seen[1]
        try:
            await self._store.key_used(row.id, now)
        except StoreError as error:
            log.warning("the use of key %s is not noted: %s", row.id, error)

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
            if len(cache) > MOST:
                cache.popitem(last=False)
        return row
