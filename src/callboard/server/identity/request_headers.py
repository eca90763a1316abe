"""The headers on which identity hangs. Each may come once: two readers of two would see two different requests."""

import re
from collections.abc import Iterable

from .addresses import Authority, Origin, read_authority, read_origin
from .auth_problems import header_invalid, host_not_allowed, origin_not_allowed, token_malformed

Headers = Iterable[tuple[bytes, bytes]]

LONGEST_TOKEN = 8_192
"""Characters of a token. Key sets that sign longer ones are not known; a parser should not see them."""

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_FORWARDED = frozenset(
    {b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"}
)


def one(headers: Headers, name: bytes) -> str | None:
    """The value of a header; None where it is not there. Raises `Problem` where there are several, or for odd bytes."""
    found = [value for each, value in headers if each == name]
    if len(found) > 1:
        raise header_invalid(f"The header {name.decode()} was sent {len(found)} times. Send it once.")
    if not found:
        return None
    text = found[0].decode("latin-1").strip(" \t")
    if not (text.isascii() and text.isprintable()):
        raise header_invalid(f"The header {name.decode()} has characters that it cannot have.")
    return text


def host_of(headers: Headers) -> Authority:
    """The name under which the server was asked. Raises `Problem`."""
    text = one(headers, b"host")
    if text is None:
        raise header_invalid("The header host is missing.")
    host = read_authority(text)
    if host is None:
        raise host_not_allowed()
    return host


def origin_of(headers: Headers) -> Origin | None:
    """The origin of the page that asks; None where no page says that it does. Raises `Problem`, for `null` too."""
    text = one(headers, b"origin")
    if text is None:
        return None
    origin = read_origin(text)
    if origin is None:
        raise origin_not_allowed()
    return origin


def is_cross_site(headers: Headers) -> bool:
    """Whether a browser says that a page of another origin asks, where it sends no origin: for a picture or a link."""
    return one(headers, b"sec-fetch-site") in {"cross-site", "same-site"}


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy says that it stands between: who asks is not on this machine then, whatever the address says."""
    return any(name in _FORWARDED for name, _ in headers)


def token_of(headers: Headers) -> str | None:
    """The bearer token; None where there is none, or another way to say who one is. Raises `Problem`."""
    text = one(headers, b"authorization")
    scheme, _, token = (text or "").partition(" ")
    if scheme.lower() != "bearer":
        return None
    token = token.strip(" ")
    if len(token) > LONGEST_TOKEN:
        raise token_malformed(f"The token is longer than {LONGEST_TOKEN} characters.")
    if _TOKEN.fullmatch(token) is None:
        raise token_malformed("The token is empty, or has characters that no token has.")
    return token
