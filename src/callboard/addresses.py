"""Addresses of stores, engines and servers. They may have passwords, so that errors and logs do not repeat them."""

import re
from urllib.parse import SplitResult, unquote, urlsplit

from .errors import CallboardError

_USER_PASSWORD = re.compile(r"[^:/?#@]*:(.*)@", re.DOTALL)
"""A user and a password, also one with characters that should be in percent form."""
_NATS_TOKEN = re.compile(r"(?:(?:nats|tls|wss?)://)?([^:/?#@]+)@")
"""A user without a password, which NATS takes for a token. Later servers of an address may have no scheme."""
_PASSWORD_OPTION = re.compile(r"[?&](?:ssl)?password=([^&#]+)")


def split_address(address: str, what: str, error: type[CallboardError]) -> SplitResult:
    """Split an address into its parts. Raises an error that names only what it is the address of."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises too
    except ValueError:
        raise error(
            f"{what} cannot be read. Its port must be a number, and special characters of a password must be in "
            "percent form, such as %40 for @."
        ) from None
    return parts


def passwords(*addresses: str) -> list[str]:
    """Return the passwords and tokens in addresses, as they are written and as they are meant."""
    found: list[str] = []
    for address in addresses:
        written = _PASSWORD_OPTION.findall(address)
        if user := _USER_PASSWORD.match(address.partition("://")[2] or address):
            written.append(user[1])
        elif token := _NATS_TOKEN.match(address):
            written.append(token[1])
        found += dict.fromkeys(form for each in written for form in (each, unquote(each)) if form)
    return found


def without_password(address: str) -> str:
    """Return an address without its user, its password and its options."""
    scheme, separator, rest = address.partition("://") if "://" in address else ("", "", address)
    return f"{scheme}{separator}{rest.rpartition('@')[2].partition('?')[0]}"
