"""The guard against requests to private networks: a policy for addresses, and a network backend that enforces it.

The decision is made when the socket is opened, not when the URL is parsed. A host is resolved once, all its addresses
are checked, and the connection goes to one of them, so a DNS answer that changes after the check (rebinding) has no
effect. TLS and HTTP above still use the host's name.

This is not a URL parser and does not know HTTP; `fetch` is above it, sockets are below.
"""

import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import cast

import anyio
import httpcore2

from callboard import ToolError

from .lookups import Lookups
from .metered_stream import MeteredStream

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host name for a port to addresses, as text. Raises `socket.gaierror`."""

# IANA's registry of special-purpose addresses, and public addresses that cloud providers use internally.
BLOCKED_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network, unspecified
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # Azure's host agent
            "169.254.0.0/16",  # link-local, cloud metadata
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)

# Only this part of IPv6 is global unicast. All others (loopback, unique-local, link-local, site-local, multicast,
# IPv4-compatible, local-use NAT64) are refused.
GLOBAL_V6 = IPv6Network("2000::/3")
BLOCKED_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, with Teredo and ORCHID
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4
            "3fff::/20",  # documentation
        ),
    )
)
NAT64 = IPv6Network("64:ff9b::/96")
ISATAP_MARKS = (0x00005EFE, 0x02005EFE)  # bits 64 to 95 of an address whose last 32 are IPv4

LOOPBACK = ("127.0.0.1", "::1")
MAX_ATTEMPTS = 8

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE | re.ASCII)
_LOOKUPS = Lookups()


def embedded(address: Address) -> IPv4Address | None:
    """The IPv4 address in a mapped or translated (NAT64) IPv6 address."""
    if isinstance(address, IPv4Address):
        return None
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


def is_public(address: Address) -> bool:
    """Whether an address, and any IPv4 address that it embeds, is on the public internet."""
    inner = embedded(address)
    if inner is not None:
        return is_public(inner)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in BLOCKED_V4)
    if (int(address) >> 32) & 0xFFFFFFFF in ISATAP_MARKS and not is_public(IPv4Address(int(address) & 0xFFFFFFFF)):
        return False
    return address in GLOBAL_V6 and not any(address in network for network in BLOCKED_V6)


def blocked(host: str) -> ToolError:
    """Make the error for a refused host. It names the host and never its addresses."""
    return ToolError(
        f"The host {host!r} may not be reached: it is not on the public internet. Use a public address.",
        category="permission",
    )


class Guard:
    """Decides which addresses may be reached: the public internet, and the networks in `allow`.

    `allow` permits networks that are refused otherwise, for example `["10.1.0.0/16"]`. Instances hold no state and may
    be shared.
    """

    def __init__(self, *, allow: Iterable[Network | str] = (), resolve: Resolver | None = None) -> None:
        """`resolve` replaces the system's resolver, and its limits for each user."""
        self._allow = tuple(ip_network(network) for network in allow)
        self._resolve = resolve

    def permits(self, address: Address) -> bool:
        """Whether a connection to this address may be opened."""
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            return False
        effective = embedded(address) or address
        return is_public(address) or any(effective in network for network in self._allow)

    async def addresses(self, host: str, port: int, user_id: str | None = None) -> Sequence[Address]:
        """Resolve a host for a user, and check all its addresses.

        One blocked address blocks the host: a public name must not resolve to private addresses. Raises `ToolError`:
        `permission` for a blocked host, `validation` for a malformed one, `not_found` for a name without addresses,
        `transient` if the resolver failed, `rate_limited` if it is busy with other names of the user.
        """
        addresses: list[Address] = []
        for text in await self._lookup(host, port, user_id):
            try:
                address = ip_address(text)
            except ValueError:
                raise blocked(host) from None
            if not self.permits(address):
                raise blocked(host)
            addresses.append(address)
        if not addresses:
            raise ToolError(f"The host {host!r} has no address. Check the spelling.", category="not_found")
        return addresses

    async def _lookup(self, host: str, port: int, user_id: str | None) -> Sequence[str]:
        """The addresses of a host as text: the host itself if it is an address, otherwise from the resolver."""
        if ":" in host:
            return [host]
        name = host.removesuffix(".")
        labels = name.split(".")
        if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
            raise ToolError(f"The host {host!r} is not a valid host name.", category="validation")
        # A host whose last label is a number is an IPv4 address. Only the dotted form is parsed later; the resolver
        # would also accept 2130706433, 0x7f.1 and 0177.0.0.1, and must not get them.
        if _NUMBER.fullmatch(labels[-1]):
            return [name]
        if labels[-1].lower() == "localhost":
            return LOOPBACK
        try:
            if self._resolve is None:
                return await _LOOKUPS.find(name, port, user_id)
            return await self._resolve(name, port)
        except socket.gaierror as error:
            if error.errno == socket.EAI_AGAIN:
                raise ToolError(f"The name {host!r} could not be resolved now.", category="transient") from error
            raise ToolError(f"The host {host!r} was not found. Check the spelling.", category="not_found") from error
        except OSError as error:
            raise ToolError(f"The name {host!r} could not be resolved now.", category="transient") from error


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Opens TCP connections only to addresses that its guard permits.

    Refusals raise the guard's `ToolError`; network failures raise httpcore2's own errors.
    """

    def __init__(
        self, guard: Guard, inner: httpcore2.AsyncNetworkBackend | None = None, user_id: str | None = None
    ) -> None:
        self._guard = guard
        self._user_id = user_id
        # The library declares a placeholder of the same name, for installations without AnyIO.
        self._inner = inner or cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first checked address that answers. `timeout` covers the look-up and all attempts."""
        options = list(socket_options or ())
        with anyio.CancelScope() as scope:
            if timeout is not None:
                scope.deadline = anyio.current_time() + timeout
            addresses = (await self._guard.addresses(host, port, self._user_id))[:MAX_ATTEMPTS]
            failure: Exception = httpcore2.ConnectError("no attempt was made")
            for index, address in enumerate(addresses):
                # A share of the remaining time, so that one dead address leaves time for the others.
                share = (scope.deadline - anyio.current_time()) / (len(addresses) - index)
                try:
                    stream = await self._inner.connect_tcp(
                        str(address),
                        port,
                        timeout=None if timeout is None else max(share, 0.0),
                        local_address=local_address,
                        socket_options=options,
                    )
                    return MeteredStream(stream)
                except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                    failure = error
            raise failure
        raise httpcore2.ConnectTimeout("timed out")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse: a Unix socket is never on the public internet."""
        raise ToolError("Unix sockets are refused.", category="permission")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
