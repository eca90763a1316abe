"""The errors of token verification, without the packages that it needs."""

from ...errors import CallboardError


class KeySetUnavailable(CallboardError):
    """The key set cannot be loaded, so no token can be verified."""

    code = "key_set"


class TokenInvalid(CallboardError):
    """A token is not accepted. The message is safe to show to any client."""

    code = "invalid_token"


class ScopeMissing(CallboardError):
    """A valid token lacks a scope. The message is safe to show to any client."""

    code = "insufficient_scope"
