"""CORS headers for pages of configured origins. Cookies are not used: tokens are sent in headers."""

from starlette.responses import Response

from .request_headers import Headers

METHODS = "GET, POST, PATCH, DELETE"
ALLOWED_HEADERS = (
    "authorization, content-type, idempotency-key, last-event-id, "
    "mcp-method, mcp-name, mcp-protocol-version, mcp-session-id"
)
EXPOSED_HEADERS = "retry-after, www-authenticate, mcp-session-id"
MAX_AGE = "600"
"""Seconds for which a browser caches a preflight response."""


def is_preflight(method: str, headers: Headers) -> bool:
    """Whether a request is a CORS preflight."""
    return method == "OPTIONS" and any(name == b"access-control-request-method" for name, _ in headers)


def preflight_response() -> Response:
    """Create the response to a preflight. Add `allow_origin_headers`, as to every response to such a page."""
    return Response(
        status_code=204,
        headers={
            "access-control-allow-methods": METHODS,
            "access-control-allow-headers": ALLOWED_HEADERS,
            "access-control-max-age": MAX_AGE,
        },
    )


def allow_origin_headers(origin: str) -> list[tuple[bytes, bytes]]:
    """Return the headers that let a page read a response."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", EXPOSED_HEADERS.encode()),
    ]
