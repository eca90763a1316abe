"""Verification of JSON Web Tokens: signature, expiry, audience and issuer."""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple, cast

import jwt
from jwt.exceptions import ExpiredSignatureError, InvalidAudienceError, InvalidIssuerError, PyJWTError

from ...clock import Clock
from ...storage.api_keys import usable_name
from .config import ANY, LOCAL, IdentityConfig
from .keyset import KeySet
from .token_errors import ScopeMissing, TokenInvalid

LIFETIME = 5.0
"""Seconds for which a verified token is cached: a signature costs more than the rest of a request."""
MAX_ENTRIES = 10_000
"""Cached tokens, by their hashes."""

_LONGEST_KID = 256


class Bearer(NamedTuple):
    """The user of a token, and its expiry in seconds since 1970."""

    user_id: str
    until: float


class Tokens:
    """Verifies tokens with a key set."""

    def __init__(self, config: IdentityConfig, keys: KeySet, clock: Clock) -> None:
        self._config = config
        self._keys = keys
        self._clock = clock
        self._audience = None if ANY in config.jwt_audience else config.jwt_audience
        self._known: OrderedDict[bytes, tuple[Bearer, float]] = OrderedDict()

    async def read(self, token: str) -> Bearer:
        """Return the user of a token. Raises `TokenInvalid`, `ScopeMissing` or `KeySetUnavailable`."""
        digest, now = sha256(token.encode()).digest(), self._clock.monotonic()
        known = self._known.pop(digest, None)
        if known is None or now - known[1] >= LIFETIME or known[0].until <= self._clock.time():
            known = await self._verified(token), now
        self._known[digest] = known
        if len(self._known) > MAX_ENTRIES:
            self._known.popitem(last=False)
        return known[0]

    async def _verified(self, token: str) -> Bearer:
        try:
            kid: Any = jwt.get_unverified_header(token).get("kid")
        except (PyJWTError, ValueError, RecursionError):
            raise TokenInvalid("It is neither an API key nor a readable token.") from None
        if kid is not None and not (isinstance(kid, str) and len(kid) <= _LONGEST_KID):
            raise TokenInvalid("The key id (kid) of the token is not valid.")
        key = await self._keys.find(kid)
        if key is None:
            raise TokenInvalid("The token is signed with an unknown key.")
        return self._bearer(self._claims(token, key))

    def _claims(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        """Return the verified claims. The key determines the algorithm, and the token must name the same."""
        config = self._config
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=self._audience,
                issuer=config.jwt_issuer,
                leeway=config.jwt_leeway,
                options={
                    "require": ["exp"] + (["iss"] if config.jwt_issuer else []),
                    "verify_aud": self._audience is not None,
                    "verify_iss": config.jwt_issuer is not None,
                    "enforce_minimum_key_length": True,
                },
            )
        except ExpiredSignatureError:
            raise TokenInvalid("The token has expired. Get a new one.") from None
        except (InvalidAudienceError, InvalidIssuerError):
            raise TokenInvalid("The token has another audience, or an unknown issuer.") from None
        except (PyJWTError, ValueError, TypeError, RecursionError):
            raise TokenInvalid("The token's signature is not valid, or a required claim is missing.") from None

    def _bearer(self, claims: dict[str, Any]) -> Bearer:
        if missing := [scope for scope in self._config.jwt_scopes if scope not in _scopes(claims)]:
            raise ScopeMissing(f"The token lacks the scope {missing[0]}.")
        user_id = claims.get(self._config.jwt_user_claim)
        # only a key may name the local user
        if not isinstance(user_id, str) or not usable_name(user_id) or user_id == LOCAL:
            raise TokenInvalid(f"The token's {self._config.jwt_user_claim} is not a valid user id.")
        return Bearer(user_id, float(claims["exp"]) + self._config.jwt_leeway)


def _scopes(claims: dict[str, Any]) -> Sequence[Any]:
    """Return the scopes of a token: a text or a list, in the claim `scope` (RFC 9068) or `scp`."""
    found: Any = claims.get("scope", claims.get("scp"))
    if isinstance(found, str):
        return found.split(" ")
    return cast("list[Any]", found) if isinstance(found, list) else ()
