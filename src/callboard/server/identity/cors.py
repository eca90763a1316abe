"""Which pages of other origins may use the server, told to their browsers. Cookies play no part: tokens are headers."""

from collections.abc import Iterable

from starlette.responses import Response

METHODS = "GET, POST, DELETE"
SENT = "authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id"
READ = "retry-after, www-authenticate, mcp-session-id"
REMEMBERED = "600"
"""Seconds for which a browser need not ask again."""

Headers = Iterable[tuple[bytes, bytes]]


def is_preflight(method: str, headers: Headers) -> bool:
    """Whether a browser asks what a page may do, before it does it."""
    return method == "OPTIONS" and any(name == b"access-control-request-method" for name, _ in headers)


def preflight_answer() -> Response:
    """What pages of configured origins may send. `allowing` goes with it, as with every answer to them."""
    return Response(
        status_code=204,
        headers={
            "access-control-allow-methods": METHODS,
            "access-control-allow-headers": SENT,
            "access-control-max-age": REMEMBERED,
        },
    )


def allowing(origin: str) -> list[tuple[bytes, bytes]]:
    """Headers that let a page read an answer."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", READ.encode()),
    ]
