"""Authentication of requests: the local user, the owner of an API key, or the subject of a token."""

import math
from collections.abc import Callable
from typing import NamedTuple

from ...clock import Clock
from ...storage.api_keys import PREFIX, ReadKey, key_state, read_key
from ...storage.records import ApiKeyRecords
from .auth_problems import keys_required, rate_limited, scope_missing, token_invalid, token_missing, unavailable
from .config import LOCAL, IdentityConfig
from .key_cache import KeyCache
from .rate_limits import RateLimiter
from .token_errors import KeySetUnavailable, ScopeMissing, TokenInvalid


class Identity(NamedTuple):
    """An authenticated user, and the credential."""

    user_id: str
    key: ReadKey | None = None
    until: float | None = None
    """The expiry, in seconds since 1970."""

    @property
    def is_unauthenticated(self) -> bool:
        """Whether it is the only user of a server without keys and tokens."""
        return self.key is None and self.until is None


class Authenticator:
    """Authenticates requests and applies rate limits. Raises `Problem` or `StoreError`."""

    def __init__(
        self,
        config: IdentityConfig,
        store: ApiKeyRecords | None,
        clock: Clock,
        sharing: Callable[[], int] = lambda: 1,
    ) -> None:
        self._config = config
        self._clock = clock
        self._keys = None if store is None else KeyCache(store, clock)
        self._tokens = None
        if config.jwks is not None:
            from .keyset import KeySet  # with the packages for signatures, which take a while to load
            from .tokens import Tokens

            self._tokens = Tokens(config, KeySet(config.jwks, config.jwt_algorithms, clock), clock)
        self._users = RateLimiter(config.rate_limit, config.rate_burst, clock, sharing=sharing)
        self._unauthenticated = RateLimiter(config.rate_limit, config.rate_burst, clock, sharing=sharing)
        """Limits of unauthenticated addresses, kept apart so that they do not evict users."""

    async def authenticate(self, token: Callable[[], str | None], address: str, is_local: bool) -> Identity:
        """Return the identity of a request. `is_local` is whether it comes from this machine; `token` reads its token.

        The token is not read while there are no keys, because it could not be valid.
        """
        if self._tokens is None and (self._keys is None or not await self._keys.any()):
            if is_local:
                return Identity(LOCAL)
            if not self._config.insecure:
                raise keys_required()
            self.count_unauthenticated(address)
            return Identity(LOCAL)
        text = token()
        if text is None:
            self.count_unauthenticated(address)
            raise token_missing()
        found = await (self._by_key if text.startswith(PREFIX) else self._by_token)(text, address)
        _refuse_for(self._users.take(found.user_id))
        return found

    def count_unauthenticated(self, address: str) -> None:
        """Count an unauthenticated request. Raises `Problem` if the address has sent too many."""
        _refuse_for(self._unauthenticated.take(address))

    async def still_valid(self, admitted: Identity) -> bool:
        """Whether an identity is still valid: its key may have been revoked, or its token may have expired."""
        now = self._clock.time()
        if admitted.until is not None and admitted.until <= now:
            return False
        if admitted.key is None or self._keys is None:
            return True
        row = await self._keys.find(admitted.key)
        return row is not None and key_state(row, now) == "active"

    async def _by_key(self, text: str, address: str) -> Identity:
        key = read_key(text)
        if key is None or self._keys is None:
            raise self._refused(address, "The API key is malformed. Copy all of it.")
        if not self._keys.has_seen(key.id):
            _refuse_for(self._unauthenticated.wait(address))  # limits the queries for guessed keys
        row = await self._keys.find(key)
        if row is None:
            raise self._refused(address, "The API key is unknown.")
        now = self._clock.time()
        if (state := key_state(row, now)) != "active":
            raise self._refused(address, f"The API key is {state}. Ask the server's operator for a new one.")
        await self._keys.record_use(row)
        return Identity(row.user_id, key, row.expires_at)

    async def _by_token(self, text: str, address: str) -> Identity:
        if self._tokens is None:
            raise self._refused(address, "The token is not an API key, and this server accepts no other tokens.")
        try:
            user_id, until = await self._tokens.read(text)
        except TokenInvalid as error:
            raise self._refused(address, str(error)) from None
        except ScopeMissing as error:
            self.count_unauthenticated(address)
            raise scope_missing(str(error)) from None
        except KeySetUnavailable as error:
            raise unavailable(str(error)) from None
        return Identity(user_id, None, until)

    def _refused(self, address: str, detail: str) -> Exception:
        self.count_unauthenticated(address)
        return token_invalid(detail)


def _refuse_for(seconds: float) -> None:
    if seconds:
        raise rate_limited(math.ceil(seconds))
