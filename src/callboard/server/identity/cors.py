"""CORS headers for pages of configured origins. Cookies are not used: tokens are sent in headers."""

from collections.abc import Sequence

from starlette.responses import Response

from ...protocols.mount import ProtocolMount
from .request_headers import Headers

METHODS = "GET, POST, PATCH, DELETE"
REQUEST_HEADERS = ("authorization", "content-type", "idempotency-key", "last-event-id")
RESPONSE_HEADERS = ("retry-after", "www-authenticate")
MAX_AGE = "600"
"""Seconds for which a browser caches a preflight response."""


def is_preflight(method: str, headers: Headers) -> bool:
    """Whether a request is a CORS preflight."""
    return method == "OPTIONS" and any(name == b"access-control-request-method" for name, _ in headers)


class CorsHeaders:
    """The headers that pages of other origins may send and read: those of the API and of the mounted protocols."""

    def __init__(self, mounts: Sequence[ProtocolMount]) -> None:
        sent = [*REQUEST_HEADERS, *(name for mount in mounts for name in mount.request_headers)]
        read = [*RESPONSE_HEADERS, *(name for mount in mounts for name in mount.response_headers)]
        self._allowed = ", ".join(dict.fromkeys(sent))
        self._exposed = ", ".join(dict.fromkeys(read)).encode()

    def preflight_response(self) -> Response:
        """Create the response to a preflight. Add `allow_origin`, as to every response to such a page."""
        return Response(
            status_code=204,
            headers={
                "access-control-allow-methods": METHODS,
                "access-control-allow-headers": self._allowed,
                "access-control-max-age": MAX_AGE,
            },
        )

    def allow_origin(self, origin: str) -> list[tuple[bytes, bytes]]:
        """Return the headers that let a page read a response."""
        return [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", self._exposed),
        ]
