"""The request headers that authentication reads. Each may occur once, or two parsers could read different values."""

import re
from collections.abc import Iterable

from .addresses import Authority, Origin, read_authority, read_origin
from .auth_problems import header_invalid, host_not_allowed, origin_not_allowed, token_malformed

Headers = Iterable[tuple[bytes, bytes]]

LONGEST_TOKEN = 8_192
"""Characters of a token; a longer one is not parsed."""

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_FORWARDED = frozenset(
    {b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"}
)


def single(headers: Headers, name: bytes) -> str | None:
    """Return the value of a header, or None. Raises `Problem` if it is repeated or not printable ASCII."""
    found = [value for each, value in headers if each == name]
    if len(found) > 1:
        raise header_invalid(f"The header {name.decode()} was sent {len(found)} times. Send it once.")
    if not found:
        return None
    text = found[0].decode("latin-1").strip(" \t")
    if not (text.isascii() and text.isprintable()):
        raise header_invalid(f"The header {name.decode()} has invalid characters.")
    return text


def host_of(headers: Headers) -> Authority:
    """Return the host name and port of a request. Raises `Problem`."""
    text = single(headers, b"host")
    if text is None:
        raise header_invalid("The header host is missing.")
    host = read_authority(text)
    if host is None:
        raise host_not_allowed()
    return host


def origin_of(headers: Headers) -> Origin | None:
    """Return the origin of a request, or None without the header. Raises `Problem`, also for `null`."""
    text = single(headers, b"origin")
    if text is None:
        return None
    origin = read_origin(text)
    if origin is None:
        raise origin_not_allowed()
    return origin


def is_cross_site(headers: Headers) -> bool:
    """Whether a browser reports a page of another origin. It sends no `Origin` for an image or a link."""
    return single(headers, b"sec-fetch-site") in {"cross-site", "same-site"}


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy has forwarded the request, so that the client's address is not its own."""
    return not _FORWARDED.isdisjoint([name for name, _ in headers])


def token_of(headers: Headers) -> str | None:
    """Return the bearer token, or None without one. Raises `Problem`."""
    text = single(headers, b"authorization")
    scheme, _, token = (text or "").partition(" ")
    if scheme.lower() != "bearer":
        return None
    token = token.strip(" ")
    if len(token) > LONGEST_TOKEN:
        raise token_malformed(f"The token is longer than {LONGEST_TOKEN} characters.")
    if _TOKEN.fullmatch(token) is None:
        raise token_malformed("The token is empty or has invalid characters.")
    return token
