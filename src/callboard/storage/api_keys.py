"""Creates and verifies API keys.

A key is `cb_<id>_<secret>`. Its id is public; its secret is 256 random bits, of which the store has only the SHA-256
hash. A slow hash, as passwords need it, would gain nothing: 2²⁵⁶ secrets cannot be tried at any speed.
"""

import re
import secrets
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from ..errors import CallboardError
from .rows import KeyRow

PREFIX = "cb_"
"""The prefix of every key, by which people and secret scanners recognize it."""

LONGEST_NAME = 200
"""The largest number of characters of a user's id or of a key's name."""

_KEY = re.compile(r"cb_([0-9a-f]{16})_([0-9a-f]{64})")
_NO_DIGEST = "0" * 64


class KeyNameError(CallboardError):
    """The name of a user or of a key is not valid."""

    code = "key_name"


class NewKey(NamedTuple):
    """A new key. Its text is not stored and cannot be read again."""

    row: KeyRow
    text: str


class ReadKey(NamedTuple):
    """A parsed key, with the hash of its secret."""

    id: str
    digest: str


def new_key(user_id: str, now: float, *, name: str | None = None, expires_at: float | None = None) -> NewKey:
    """Create a key for a user. Raises `KeyNameError`."""
    _require_name("user", user_id)
    if name is not None:
        _require_name("name of a key", name)
    key_id, secret = secrets.token_hex(8), secrets.token_hex(32)
    row = KeyRow(id=key_id, user_id=user_id, name=name, digest=_digest(secret), created_at=now, expires_at=expires_at)
    return NewKey(row, f"{PREFIX}{key_id}_{secret}")


def read_key(text: str) -> ReadKey | None:
    """Parse a key; None if the text is not a key."""
    found = _KEY.fullmatch(text)
    return None if found is None else ReadKey(found[1], _digest(found[2]))


def is_key(key: ReadKey, row: KeyRow | None) -> bool:
    """Return whether a key is that of a stored row. Takes the same time for any key, also if none is stored."""
    return compare_digest(key.digest, _NO_DIGEST if row is None else row.digest) and row is not None


def key_state(row: KeyRow, now: float) -> str:
    """Return the state of a key: `active`, `revoked` or `expired`."""
    if row.revoked_at is not None:
        return "revoked"
    return "expired" if row.expires_at is not None and row.expires_at <= now else "active"


def usable_name(text: str) -> bool:
    """Return whether a name is valid: printable, without spaces at its ends, and not too long."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()


def _require_name(what: str, text: str) -> None:
    if not usable_name(text):
        raise KeyNameError(
            f"The {what} must have 1 to {LONGEST_NAME} printable characters, without spaces at its ends."
        )


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
