"""Why a request is not let in: every answer that the guard gives itself."""

from ...protocols.problem import Problem

CHALLENGE = 'Bearer realm="callboard"'


def header_invalid(detail: str) -> Problem:
    """A header is not what it should be."""
    return Problem(400, "bad_header", "A header cannot be used", detail)


def token_malformed(detail: str) -> Problem:
    """What follows `Bearer` cannot be a token."""
    headers = {"www-authenticate": f'{CHALLENGE}, error="invalid_request"'}
    return Problem(400, "bad_header", "A header cannot be used", detail, headers)


def host_not_allowed() -> Problem:
    return Problem(
        421,
        "host_not_allowed",
        "The server is not known under this name",
        "The Host header names a server that this one is not. Whoever runs it can add the name to CALLBOARD_HOSTS.",
    )


def origin_not_allowed() -> Problem:
    return Problem(
        403,
        "origin_not_allowed",
        "This page may not use the server",
        "The request comes from a page of another origin. Whoever runs the server can add it to CALLBOARD_ORIGINS.",
    )


def token_missing() -> Problem:
    return _unauthorized(
        "unauthenticated", "Say who you are", "Send a key or a token in the header: Authorization: Bearer …", ""
    )


def token_invalid(detail: str) -> Problem:
    return _unauthorized("invalid_token", "The token is not valid", detail, ', error="invalid_token"')


def keys_required() -> Problem:
    return _unauthorized(
        "unauthenticated",
        "Nobody is known here",
        "Without keys, the server is only for the machine that it runs on. Make a key with: callboard keys create",
        "",
    )


def rate_limited(seconds: int) -> Problem:
    return Problem(
        429,
        "rate_limited",
        "Too many requests",
        f"Nothing was done. Try again after {seconds} s.",
        {"retry-after": str(seconds)},
    )


def unavailable(detail: str) -> Problem:
    return Problem(503, "unavailable", "Nobody can be known at the moment", detail, {"retry-after": "5"})


def _unauthorized(code: str, title: str, detail: str, error: str) -> Problem:
    return Problem(401, code, title, detail, {"www-authenticate": CHALLENGE + error})
