"""The problems with which the guard refuses a request."""

from ...protocols.problem import Problem

CHALLENGE = 'Bearer realm="callboard"'


def header_invalid(detail: str) -> Problem:
    """Return the problem of a header that is repeated or has invalid characters."""
    return Problem(400, "bad_header", "Invalid header", detail)


def token_malformed(detail: str) -> Problem:
    """Return the problem of a bearer token that cannot be one."""
    headers = {"www-authenticate": f'{CHALLENGE}, error="invalid_request"'}
    return Problem(400, "bad_header", "Invalid header", detail, headers)


def host_not_allowed() -> Problem:
    detail = "The Host header names another server. The server's operator can add the name to CALLBOARD_HOSTS."
    return Problem(421, "host_not_allowed", "Unknown host name", detail)


def origin_not_allowed() -> Problem:
    detail = "The request comes from a page of another origin. The server's operator can add it to CALLBOARD_ORIGINS."
    return Problem(403, "origin_not_allowed", "Origin not allowed", detail)


def token_missing() -> Problem:
    detail = "Send an API key or a token in the header: Authorization: Bearer …"
    return _unauthorized("unauthenticated", "Not authenticated", detail, "")


def token_invalid(detail: str) -> Problem:
    return _unauthorized("invalid_token", "Invalid token", detail, ', error="invalid_token"')


def scope_missing(detail: str) -> Problem:
    headers = {"www-authenticate": f'{CHALLENGE}, error="insufficient_scope"'}
    return Problem(403, "insufficient_scope", "Missing scope", detail, headers)


def keys_required() -> Problem:
    detail = "Without API keys, only requests from this machine are accepted. Create a key: callboard keys create"
    return _unauthorized("unauthenticated", "Not authenticated", detail, "")


def rate_limited(seconds: int) -> Problem:
    detail = f"Nothing was done. Try again after {seconds} s."
    return Problem(429, "rate_limited", "Too many requests", detail, {"retry-after": str(seconds)})


def unavailable(detail: str) -> Problem:
    return Problem(503, "unavailable", "Authentication not available", detail, {"retry-after": "5"})


def _unauthorized(code: str, title: str, detail: str, error: str) -> Problem:
    return Problem(401, code, title, detail, {"www-authenticate": CHALLENGE + error})
