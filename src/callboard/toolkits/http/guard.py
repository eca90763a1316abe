"""The guard: which addresses may be reached, and a network backend that reaches no others.

The decision is made where the socket is opened, not where the URL is read. A host is resolved once, every address of
the answer is vetted, and the connection goes to one of those very addresses, so a name that changes its mind between
the check and the connection gains nothing. TLS and HTTP above still see the host's name.

This is not a URL parser and knows nothing of HTTP; `fetch` stands above it, sockets below.
"""

import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import cast

import anyio
import httpcore2

from callboard import ToolError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host name for a port, as text. Raises `socket.gaierror` when it cannot."""

# The special-purpose registry of IANA, and what cloud providers keep inside public space for their own hosts.
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

# Only this part of IPv6 is global unicast. What lies outside (loopback, unique-local, link-local, site-local,
# multicast, IPv4-compatible, local-use NAT64) is refused without being listed.
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


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver."""
    # As bytes, for the name is in its ASCII form already and must not be transformed again.
    found = await anyio.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    return [entry[4][0] for entry in found]


def embedded(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for, if it is a mapped or a translated (NAT64) one."""
    if isinstance(address, IPv4Address):
        return None
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, by itself and by what it embeds."""
    inner = embedded(address)
    if inner is not None:
        return is_public(inner)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in BLOCKED_V4)
    if (int(address) >> 32) & 0xFFFFFFFF in ISATAP_MARKS and not is_public(IPv4Address(int(address) & 0xFFFFFFFF)):
        return False
    return address in GLOBAL_V6 and not any(address in network for network in BLOCKED_V6)


def blocked(host: str) -> ToolError:
    """The refusal of a host. It names the host and never what the host resolved to."""
    return ToolError(
        f"The host {host!r} may not be reached: it is not on the public internet. Use a public address.",
        category="permission",
    )


class Guard:
    """Decides which addresses may be reached: the public internet, and the networks that its owner allows beside it.

    `allow` opens networks which would otherwise be refused, for example `["10.1.0.0/16"]`; it never closes anything.
    Instances hold no state and may be shared.
    """

    def __init__(self, *, allow: Iterable[Network | str] = (), resolve: Resolver = resolve) -> None:
        self._allow = tuple(ip_network(network) for network in allow)
        self._resolve = resolve

    def permits(self, address: Address) -> bool:
        """Whether a connection to this address may be opened."""
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            return False
        meant = embedded(address) or address
        return is_public(address) or any(meant in network for network in self._allow)

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """Every address of a host, all of them vetted.

        One blocked address among them blocks the host: a public name has no business with private addresses. Raises
        `ToolError`: `permission` for a blocked host, `validation` for a malformed one, `not_found` for a name without
        addresses, `transient` when the resolver itself failed.
        """
        addresses: list[Address] = []
        for text in await self._spelled(host, port):
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

    async def _spelled(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host as text: its own if it is an address, the resolver's otherwise."""
        if ":" in host:
            return [host]
        name = host.removesuffix(".")
        labels = name.split(".")
        if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
            raise ToolError(f"The host {host!r} is not a valid host name.", category="validation")
        # A last label that is a number makes an IPv4 address (no top-level domain is one). Only the plain spelling is
        # parsed later on; the system would also take 2130706433, 0x7f.1 and 0177.0.0.1, and must not see them.
        if _NUMBER.fullmatch(labels[-1]):
            return [name]
        if labels[-1].lower() == "localhost":
            return LOOPBACK
        try:
            return await self._resolve(name, port)
        except socket.gaierror as error:
            if error.errno == socket.EAI_AGAIN:
                raise ToolError(f"The name {host!r} could not be looked up now.", category="transient") from error
            raise ToolError(f"The host {host!r} was not found. Check the spelling.", category="not_found") from error
        except OSError as error:
            raise ToolError(f"The name {host!r} could not be looked up now.", category="transient") from error


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Opens TCP connections to addresses that its guard permits, and nothing else.

    Refusals are the guard's `ToolError`; failures of the network are httpcore2's own errors.
    """

    def __init__(self, guard: Guard, inner: httpcore2.AsyncNetworkBackend | None = None) -> None:
        self._guard = guard
        # The library declares a placeholder of the same name for where AnyIO is missing.
        self._inner = inner or cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first of the host's vetted addresses that answers. `timeout` spans look-up and all tries."""
        options = list(socket_options or ())
        with anyio.CancelScope() as scope:
            if timeout is not None:
                scope.deadline = anyio.current_time() + timeout
            addresses = (await self._guard.addresses(host, port))[:MAX_ATTEMPTS]
            failure: Exception = httpcore2.ConnectError("no attempt was made")
            for tried, address in enumerate(addresses):
                # A share of what is left, so that one address which never answers leaves time for the others.
                left = (scope.deadline - anyio.current_time()) / (len(addresses) - tried)
                try:
                    return await self._inner.connect_tcp(
                        str(address),
                        port,
                        timeout=None if timeout is None else max(left, 0.0),
                        local_address=local_address,
                        socket_options=options,
                    )
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
        """Refuse: a socket of this machine is never on the public internet."""
        raise ToolError("Unix sockets may not be reached.", category="permission")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
