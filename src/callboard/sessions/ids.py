"""The ids that callers choose, of sessions, users and calls, and what can be wrong with them."""

from ..errors import CallboardError

MAX_ID = 200
"""How long they may be."""


class CallIdInvalid(CallboardError, ValueError):
    """A call id cannot be used."""

    code = "call_id"


class SessionIdInvalid(CallboardError, ValueError):
    """A session id or user id cannot be used."""

    code = "session_id"


class SessionNotFound(CallboardError):
    """There is no such session, or it belongs to somebody else: the two look the same."""

    code = "session_not_found"


def not_found(session_id: str) -> SessionNotFound:
    """Return the error for a session that does not exist, or that belongs to another user."""
    return SessionNotFound(f"There is no session {session_id[:MAX_ID]!r}.")


def is_call_id(given: str) -> bool:
    """Whether a caller may choose that id for a call."""
    return 0 < len(given) <= MAX_ID and given.isprintable()


def check_id(name: str, value: str) -> None:
    """Refuse an id that cannot be one of a session or a user. Raises `SessionIdInvalid`."""
    if not is_call_id(value):
        raise SessionIdInvalid(f"{name} must have 1 to {MAX_ID} printable characters.")
