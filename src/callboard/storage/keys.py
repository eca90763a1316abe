"""API keys: how one is made, and how one is known again.

A key is `cb_<id>_<secret>`. Its id may be shown; its secret is 256 random bits, of which the store has only the SHA-256
hash. A slow hash, as passwords want it, would gain nothing: nobody can try out 2²⁵⁶ secrets at any speed.
"""

import re
import secrets
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from ..errors import CallboardError
from .rows import KeyRow

PREFIX = "cb_"
"""What every key begins with, so that people and scanners of code know one when they see it."""

LONGEST_NAME = 200
"""Characters of a user's id or of a key's name."""

_KEY = re.compile(r"cb_([0-9a-f]{16})_([0-9a-f]{64})")
_NOBODY = "0" * 64


class KeyNameError(CallboardError):
    """A user or a key cannot have this name."""

    code = "key_name"


class NewKey(NamedTuple):
    """A key that was made now: the only moment at which it can be read."""

    row: KeyRow
    text: str


class ReadKey(NamedTuple):
    """A key that somebody brought, taken apart. The secret itself is not kept."""

    id: str
    digest: str


def new_key(user_id: str, now: float, *, name: str | None = None, expires_at: float | None = None) -> NewKey:
    """A new key of a user. Raises `KeyNameError`."""
    _require_name("user", user_id)
    if name is not None:
        _require_name("name of a key", name)
    key_id, secret = secrets.token_hex(8), secrets.token_hex(32)
    row = KeyRow(id=key_id, user_id=user_id, name=name, digest=_digest(secret), created_at=now, expires_at=expires_at)
    return NewKey(row, f"{PREFIX}{key_id}_{secret}")


def read_key(text: str) -> ReadKey | None:
    """The parts of a key; None where the text is none."""
    found = _KEY.fullmatch(text)
    return None if found is None else ReadKey(found[1], _digest(found[2]))


def is_key(key: ReadKey, row: KeyRow | None) -> bool:
    """Whether it is the stored one, in the same time whatever they have in common, and also where none is stored."""
    return compare_digest(key.digest, _NOBODY if row is None else row.digest) and row is not None


def key_state(row: KeyRow, now: float) -> str:
    """`active`, `revoked` or `expired`."""
    if row.revoked_at is not None:
        return "revoked"
    return "expired" if row.expires_at is not None and row.expires_at <= now else "active"


def usable_name(text: str) -> bool:
    """Whether a user can be called so: printable, without spaces at its ends, and not too long."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()


def _require_name(what: str, text: str) -> None:
    if not usable_name(text):
        raise KeyNameError(
            f"The {what} must have 1 to {LONGEST_NAME} printable characters, without spaces at its ends."
        )


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
