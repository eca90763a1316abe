"""Validation of requests: URLs, headers, and redirects. No I/O."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2
from pydantic import BaseModel, ConfigDict, Field

from callboard import ToolError

MAX_URL = 8_192
MAX_HEADERS = 32
MAX_HEADER_BYTES = 16_384

# The HTTP library sets these: they frame the message or control the connection.
REFUSED_HEADERS = frozenset(
    {
        "accept-encoding", "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "te",
        "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
# Headers that follow a redirect to another origin. Any other could hold a credential.
CARRIED_HEADERS = frozenset({"accept", "accept-language", "user-agent"})

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


# Every schema dialect can express a list of these, but not an object with arbitrary keys.
class Header(BaseModel):
    """One request header."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="Name of the header, such as Accept-Language")
    value: str = Field(description="Value of the header, one line of ASCII")


@dataclass(frozen=True, slots=True)
class Hop:
    """One request of a chain of redirects."""

    method: str
    url: httpx2.URL
    headers: Mapping[str, str]
    body: bytes | None = None


def read_url(text: str) -> httpx2.URL:
    """Parse and validate a URL, except the address of its host. Raises `ToolError`."""
    try:
        url = httpx2.URL(text.strip())
    except (httpx2.InvalidURL, UnicodeError):
        raise ToolError(
            "This is not a valid URL. Give one like https://example.com/page.", category="validation"
        ) from None
    if not url.scheme:
        raise ToolError("The URL has no scheme. It must begin with https:// or http://.", category="validation")
    if url.scheme not in ("http", "https"):
        raise ToolError(f"Only http and https can be fetched, not {url.scheme[:40]!r}.", category="permission")
    if url.userinfo:
        raise ToolError("A URL with a user name or password is refused. Leave them out.", category="permission")
    if not url.raw_host or len(str(url)) > MAX_URL or not (url.port is None or 0 < url.port < 65536):
        raise ToolError("The URL has no host, a port out of range, or is too long.", category="validation")
    # A trailing dot is valid in DNS, but not in the names of TLS certificates.
    return url.copy_with(host=url.raw_host.decode("ascii").removesuffix("."), fragment=None)


def read_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Validate request headers, and return them with lower-case names. Raises `ToolError`."""
    read: dict[str, str] = {}
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ToolError(
                f"The header {name[:40]!r} is refused: names are tokens, values one line of ASCII.",
                category="validation",
            )
        lower = name.lower()
        if lower in REFUSED_HEADERS or lower.startswith("proxy-"):
            raise ToolError(f"The header {name[:40]!r} cannot be set. Leave it out.", category="permission")
        read[lower] = value.strip()
    if len(read) > MAX_HEADERS or sum(len(name) + len(value) for name, value in read.items()) > MAX_HEADER_BYTES:
        raise ToolError("There are too many headers, or they are too long.", category="validation")
    return read


def origin(url: httpx2.URL) -> tuple[str, bytes, int]:
    """Scheme, host and port, which delimit the use of a credential."""
    return url.scheme, url.raw_host, url.port or (443 if url.scheme == "https" else 80)


def becomes_get(method: str, status: int) -> bool:
    """Whether a client that follows a redirect sends a GET without the body, so that the request itself is lost."""
    return (method == "POST" and status in (301, 302)) or (method not in ("GET", "HEAD") and status == 303)


def redirected(hop: Hop, location: str) -> Hop:
    """Make the same request to the target of a redirect. Raises `ToolError` if following it is unsafe."""
    try:
        url = read_url(str(hop.url.join(location)))
    except (httpx2.InvalidURL, ValueError):
        raise ToolError("The new URL is not valid.", category="permanent") from None
    if hop.url.scheme == "https" and url.scheme == "http":
        raise ToolError(
            "A redirect from https to http is refused. If that is acceptable, fetch the http address directly.",
            category="permission",
        )
    headers = dict(hop.headers)
    if origin(url) != origin(hop.url):
        if hop.body is not None:
            raise ToolError(
                f"Forwarding the body to {url.host!r} is refused. If that is intended, send it there directly.",
                category="permission",
            )
        headers = {name: value for name, value in headers.items() if name in CARRIED_HEADERS}
    return Hop(hop.method, url, headers, hop.body)
