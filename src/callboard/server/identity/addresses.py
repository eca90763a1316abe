"""Addresses of clients and servers: host names in headers, origins of pages, loopback addresses."""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}))(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(r"(https?)://([^/?#@\\\s]+)")
_PORTS = {"http": 80, "https": 443}
_LONGEST = 300
"""Characters of a name that is parsed and cached."""


class Authority(NamedTuple):
    """A host name and port, as in a `Host` header."""

    name: str
    """In lower case; an IPv6 address without its brackets."""
    port: int | None


class Origin(NamedTuple):
    """The origin of a page."""

    scheme: str
    name: str
    port: int


def read_authority(text: str) -> Authority | None:
    """Parse a `Host` header. Returns None if it is invalid."""
    return _authority(text) if len(text) <= _LONGEST else None


@lru_cache(1_000)
def _authority(text: str) -> Authority | None:
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    name = found[1].lower()
    if name.startswith("["):
        address = _address(name[1:-1])
        if address is None:
            return None
        name = str(address)
    port = None if found[2] is None else int(found[2])
    return None if port is not None and port > 65_535 else Authority(name.removesuffix("."), port)


def read_origin(text: str) -> Origin | None:
    """Parse an `Origin` header. Returns None if it is `null` or invalid."""
    return _origin(text) if len(text) <= _LONGEST else None


@lru_cache(1_000)
def _origin(text: str) -> Origin | None:
    found = _ORIGIN.fullmatch(text)
    authority = None if found is None else read_authority(found[2])
    if found is None or authority is None:
        return None
    return Origin(found[1], authority.name, authority.port or _PORTS[found[1]])


def is_same_origin(origin: Origin, host: Authority, scheme: str) -> bool:
    """Whether a page comes from this server.

    A proxy may terminate TLS, so an `https` page of the same name and port is the server's own.
    """
    if scheme == "https" and origin.scheme != "https":
        return False
    return origin.name == host.name and origin.port == (host.port or _PORTS[origin.scheme])


def is_loopback(name: str) -> bool:
    """Whether a name or an address always means this machine, without a DNS lookup."""
    return len(name) <= _LONGEST and _is_loopback(name)


@lru_cache(1_000)
def _is_loopback(name: str) -> bool:
    if name.lower().removesuffix(".") == "localhost":
        return True
    address = _address(name.strip("[]"))
    return address is not None and address.is_loopback


def client_network(address: str) -> str:
    """Return the rate limit's name of an address: itself, or the /64 network of an IPv6 address."""
    found = _address(address) if ":" in address else None
    if not isinstance(found, IPv6Address):
        return address if found is None else str(found)
    return f"{IPv6Address(int(found) >> 64 << 64)}/64"


@lru_cache(1_000)
def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
