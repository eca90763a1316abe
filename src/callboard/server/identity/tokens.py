"""JSON Web Tokens: whose a token is, if it is genuine, still valid, and made for this server."""

from collections import OrderedDict
from hashlib import sha256
from typing import Any, NamedTuple

import jwt
from jwt.exceptions import ExpiredSignatureError, InvalidAudienceError, InvalidIssuerError, PyJWTError

from ...clock import Clock
from ...errors import CallboardError
from ...storage.keys import usable_name
from .config import ANY, LOCAL, IdentityConfig
from .keyset import KeySet

LIFETIME = 5.0
"""Seconds for which a token that was verified is known again: signatures cost more than all else of a request."""
MOST = 10_000
"""How many of them are remembered, by their hashes."""

_LONGEST_KID = 256


class TokenInvalid(CallboardError):
    """A token does not open this server. The message says why as far as a stranger may know."""

    code = "invalid_token"


class Bearer(NamedTuple):
    """Whom a token speaks for, and until when (seconds since 1970)."""

    user_id: str
    until: float


class Tokens:
    """Checks tokens against a key set."""

    def __init__(self, config: IdentityConfig, keys: KeySet, clock: Clock) -> None:
        self._config = config
        self._keys = keys
        self._clock = clock
        self._audience = None if ANY in config.jwt_audience else config.jwt_audience
        self._known: OrderedDict[bytes, tuple[Bearer, float]] = OrderedDict()

    async def read(self, token: str) -> Bearer:
        """Whose a token is. Raises `TokenInvalid` or `KeySetUnavailable`."""
        digest, now = sha256(token.encode()).digest(), self._clock.monotonic()
        known = self._known.pop(digest, None)
        if known is None or now - known[1] >= LIFETIME or known[0].until <= self._clock.time():
            known = await self._verified(token), now
        self._known[digest] = known
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        return known[0]

    async def _verified(self, token: str) -> Bearer:
        try:
            kid: Any = jwt.get_unverified_header(token).get("kid")
        except (PyJWTError, ValueError, RecursionError):
            raise TokenInvalid("It is neither a key of this server nor a token that can be read.") from None
        if kid is not None and not (isinstance(kid, str) and len(kid) <= _LONGEST_KID):
            raise TokenInvalid("The token names its key in a way that cannot be.")
        key = await self._keys.find(kid)
        if key is None:
            raise TokenInvalid("The token is signed with a key that is not known here.")
        return self._bearer(self._claims(token, key))

    def _claims(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        """What the token says, once all of it is verified. The algorithm is the key's; the token's word must agree."""
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
            raise TokenInvalid("The token was made for another server, or by somebody who is not known here.") from None
        except (PyJWTError, ValueError, TypeError, RecursionError):
            raise TokenInvalid("The token is not genuine, or lacks what this server needs.") from None

    def _bearer(self, claims: dict[str, Any]) -> Bearer:
        user_id = claims.get(self._config.jwt_user_claim)
        if not isinstance(user_id, str) or not usable_name(user_id) or user_id == LOCAL:  # only a key names that one
            raise TokenInvalid(f"The token's {self._config.jwt_user_claim} cannot be a user here.")
        return Bearer(user_id, float(claims["exp"]) + self._config.jwt_leeway)
