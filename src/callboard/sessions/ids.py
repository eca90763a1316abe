"""Ids that callers choose, for sessions, users and calls, and their errors."""

from ..errors import CallboardError
from ..storage.text import is_storable

MAX_ID = 200
"""Largest number of characters of an id."""


class CallIdInvalid(CallboardError, ValueError):
    """A call id cannot be used."""

    code = "call_id"


class SessionIdInvalid(CallboardError, ValueError):
    """A session id or user id cannot be used."""

    code = "session_id"


class SessionNotFound(CallboardError):
    """A session does not exist, or belongs to another user: the two look the same."""

    code = "session_not_found"


def not_found(session_id: str) -> SessionNotFound:
    """Return the error for a session that does not exist, or that belongs to another user."""
    return SessionNotFound(f"There is no session {session_id[:MAX_ID]!r}.")


def is_valid_id(text: str) -> bool:
    """Return whether a text can be the id of a session, a user or a call."""
    return text.__class__ is str and 0 < len(text) <= MAX_ID and text.isprintable()


def check_id(name: str, value: str) -> None:
    """Raise `SessionIdInvalid` for a text that cannot be the id of a session or a user."""
    if value.__class__ is not str:
        raise SessionIdInvalid(f"{name} is {value!r}; it must be a string.")
    if not is_valid_id(value):
        raise SessionIdInvalid(f"{name} must have 1 to {MAX_ID} printable characters.")


def check_channel(channel: str | None) -> None:
    """Raise `SessionIdInvalid` for a text that cannot be the channel of a session."""
    if channel is not None and channel.__class__ is not str:
        raise SessionIdInvalid(f"channel is {channel!r}; it must be a string, such as 'text'.")
    if channel is not None and not is_storable(channel):
        raise SessionIdInvalid("channel must not contain a NUL character or a lone surrogate.")
