"""Whom a request comes from: the one person of this machine, the owner of a key, or whoever a token names."""

import math
from collections.abc import Callable
from typing import NamedTuple

from ...clock import Clock
from ...storage.keys import PREFIX, ReadKey, key_state, read_key
from ...storage.port import Keys
from .auth_problems import keys_required, rate_limited, token_invalid, token_missing, unavailable
from .config import LOCAL, IdentityConfig
from .key_cache import KeyCache
from .keyset import KeySet, KeySetUnavailable
from .rate_limits import RateLimiter
from .tokens import TokenInvalid, Tokens


class Identity(NamedTuple):
    """Who was let in, and on what grounds."""

    user_id: str
    key: ReadKey | None = None
    until: float | None = None
    """When it ends, in seconds since 1970."""


class Authenticator:
    """Decides who somebody is, and how often he may come. Raises `Problem`, or `StoreError`."""

    def __init__(self, config: IdentityConfig, store: Keys | None, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._ring = None if store is None else KeyCache(store, clock)
        self._tokens = None
        if config.jwks is not None:
            self._tokens = Tokens(config, KeySet(config.jwks, config.jwt_algorithms, clock), clock)
        self._users = RateLimiter(config.rate_limit, config.rate_burst, clock)
        self._strangers = RateLimiter(config.rate_limit, config.rate_burst, clock)
        """Apart from the users, so that strangers do not drive them out."""

    async def admit(self, token: Callable[[], str | None], address: str, here: bool) -> Identity:
        """Whom a request comes from. `here` says that it comes from this machine; `token` gives what was brought.

        Nothing is read from a token where there are no keys: it would be good for nothing.
        """
        if self._tokens is None and (self._ring is None or not await self._ring.any()):
            if here:
                return Identity(LOCAL)
            if not self._config.insecure:
                raise keys_required()
            self.count_stranger(address)
            return Identity(LOCAL)
        text = token()
        if text is None:
            self.count_stranger(address)
            raise token_missing()
        found = await (self._by_key if text.startswith(PREFIX) else self._by_token)(text, address)
        _wait(self._users.take(found.user_id))
        return found

    def count_stranger(self, address: str) -> None:
        """Count a request of somebody who is not known. Raises `Problem` where there were too many."""
        _wait(self._strangers.take(address))

    async def still_valid(self, admitted: Identity) -> bool:
        """Whether somebody who was let in may stay: his key may have been revoked, or his time be over."""
        now = self._clock.time()
        if admitted.until is not None and admitted.until <= now:
            return False
        if admitted.key is None or self._ring is None:
            return True
        row = await self._ring.find(admitted.key)
        return row is not None and key_state(row, now) == "active"

    async def _by_key(self, text: str, address: str) -> Identity:
        key = read_key(text)
        if key is None or self._ring is None:
            raise self._refused(address, "It looks like a key, but is none. Copy it whole.")
        if not self._ring.has_seen(key.id):
            _wait(self._strangers.wait(address))  # guesses shall not cost queries without end
        row = await self._ring.find(key)
        if row is None:
            raise self._refused(address, "The key is not known here.")
        now = self._clock.time()
        if (state := key_state(row, now)) != "active":
            raise self._refused(address, f"The key is {state}. Ask whoever runs the server for a new one.")
        await self._ring.note_use(row)
        return Identity(row.user_id, key, row.expires_at)

    async def _by_token(self, text: str, address: str) -> Identity:
        if self._tokens is None:
            raise self._refused(address, "It is no key of this server, and other tokens are not taken.")
        try:
            user_id, until = await self._tokens.read(text)
        except TokenInvalid as error:
            raise self._refused(address, str(error)) from None
        except KeySetUnavailable as error:
            raise unavailable(str(error)) from None
        return Identity(user_id, None, until)

    def _refused(self, address: str, detail: str) -> Exception:
        self.count_stranger(address)
        return token_invalid(detail)


def _wait(seconds: float) -> None:
    if seconds:
        raise rate_limited(math.ceil(seconds))
