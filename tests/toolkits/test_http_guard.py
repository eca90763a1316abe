"""The guard refuses addresses that are neither public nor allowed, in every notation."""

import socket
import ssl
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import anyio
import httpcore2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard import ToolError
from callboard.toolkits.http import Guard
from callboard.toolkits.http.guard import GuardedBackend, embedded

pytestmark = pytest.mark.anyio

PRIVATE_V4 = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
    "240.0.0.0/4", "168.63.129.16/32",
]  # fmt: skip
PRIVATE_V6 = [
    "::/96", "::1/128", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:2::/48", "2001:10::/28", "2001:db8::/32",
    "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]  # fmt: skip


def inside(network: IPv4Network | IPv6Network) -> st.SearchStrategy[int]:
    """Generate addresses of a network as numbers, often its first or last one."""
    first, last = int(network.network_address), int(network.broadcast_address)
    return st.one_of(st.sampled_from([first, last]), st.integers(first, last))


blocked_v4 = st.sampled_from(PRIVATE_V4).map(IPv4Network).flatmap(inside).map(IPv4Address)
blocked_v6 = st.sampled_from(PRIVATE_V6).map(IPv6Network).flatmap(inside).map(IPv6Address)


def notations(address: IPv4Address) -> list[str]:
    """Return an IPv4 address in every notation that some system accepts."""
    number = int(address)
    a, b, c, d = address.packed
    high, low = number >> 16, number & 0xFFFF
    return [
        str(address), f"{address}.", f"{number}", f"{number:#x}", f"{number:#X}", f"0{number:o}", f"{number}.",
        f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{low}", f"{a:#x}.{b:#x}.{c:#x}.{d:#x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a:03}.{b:03}.{c:03}.{d:03}", f"{a:#x}.{b}.0{c:o}.{d}",
        f"::ffff:{address}", f"::ffff:{high:x}:{low:x}", f"0:0:0:0:0:FFFF:{address}", f"::{address}",
        f"::ffff:0:{address}", f"64:ff9b::{address}", f"64:ff9b:1::{address}", f"2002:{high:x}:{low:x}::1",
        f"2001:0:{high:x}:{low:x}::1", f"2001::{~high & 0xFFFF:x}:{~low & 0xFFFF:x}", f"2600::5efe:{address}",
        f"2600::200:5efe:{address}",
    ]  # fmt: skip


class Resolver:
    """Returns prepared answers in turn, the last one repeatedly, and records the requested hosts."""

    def __init__(self, *answers: Sequence[str] | Exception) -> None:
        self.answers = list(answers)
        self.requested: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.requested.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Network(httpcore2.AsyncNetworkBackend):
    """Records the addresses of connections. Those in `dead` refuse."""

    def __init__(self, dead: Iterable[str] = ()) -> None:
        self.connected: list[str] = []
        self.dead = set(dead)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        self.connected.append(host)
        if host in self.dead:
            raise httpcore2.ConnectError("refused")
        return httpcore2.AsyncMockStream([])


def category(guard: Guard, host: str) -> str:
    """Return the category of the guard's error for a host, or `permitted`."""

    async def ask() -> str:
        try:
            await guard.addresses(host, 80)
        except ToolError as error:
            return error.category
        return "permitted"

    return anyio.run(ask)


@given(address=blocked_v4, data=st.data())
def test_a_blocked_ipv4_address_is_refused_in_every_notation(address: IPv4Address, data: st.DataObject) -> None:
    host = data.draw(st.sampled_from(notations(address)))
    resolver = Resolver([str(address)])
    assert category(Guard(resolve=resolver), host) == "permission"
    assert resolver.requested == []


@given(address=blocked_v6, form=st.sampled_from(["{0.compressed}", "{0.exploded}", "{0.compressed}%eth0"]))
def test_a_blocked_ipv6_address_is_refused_in_every_notation(address: IPv6Address, form: str) -> None:
    assert category(Guard(resolve=Resolver([])), form.format(address)) == "permission"


@given(address=st.one_of(blocked_v4, blocked_v6), before=st.lists(st.sampled_from(["8.8.8.8", "2606:4700::1111"])))
def test_one_blocked_address_among_public_ones_blocks_the_name(
    address: IPv4Address | IPv6Address, before: list[str]
) -> None:
    assert category(Guard(resolve=Resolver([*before, str(address)])), "example.com") == "permission"
    assert category(Guard(resolve=Resolver([str(address), *before])), "example.com") == "permission"


@given(address=st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_permitted_addresses_are_global_for_the_standard_library(address: IPv4Address | IPv6Address) -> None:
    if Guard().permits(address):
        effective = embedded(address) or address
        assert effective.is_global
        assert not any((effective.is_private, effective.is_multicast, effective.is_reserved, effective.is_link_local))


@pytest.mark.parametrize("text", ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::1"])
def test_public_addresses_are_permitted(text: str) -> None:
    assert Guard().permits(ip_address(text))
    assert category(Guard(resolve=Resolver([text])), "example.com") == "permitted"
    assert category(Guard(resolve=Resolver([])), text) == "permitted"


@pytest.mark.parametrize("text", ["::ffff:8.8.8.8", "64:ff9b::8.8.8.8"])
def test_a_public_address_embedded_in_ipv6_is_permitted(text: str) -> None:
    assert Guard().permits(ip_address(text))


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.localhost.", "127.0.0.1.", "[::1]", "::1"]
)
def test_local_names_are_refused_without_a_look_up(host: str) -> None:
    resolver = Resolver(["8.8.8.8"])
    assert category(Guard(resolve=resolver), host) in ("permission", "validation")
    assert resolver.requested == []


@pytest.mark.parametrize(
    "host",
    [
        "",
        ".",
        "a..b",
        "example.com..",
        "a b",
        "a%2eb",
        "%31%32%37.0.0.1",
        "a/b",
        "a@b",
        "-a.com",
        "\u017f.com",
        "a" * 254,
    ],
)
def test_a_malformed_host_is_refused_without_a_look_up(host: str) -> None:
    resolver = Resolver(["8.8.8.8"])
    assert category(Guard(resolve=resolver), host) == "validation"
    assert resolver.requested == []


@pytest.mark.parametrize("answer", ["not an address", "2130706433", "fe80::1%2", "2606:4700::1%2", ""])
def test_an_invalid_answer_of_the_resolver_blocks(answer: str) -> None:
    assert category(Guard(resolve=Resolver([answer])), "example.com") == "permission"


def test_the_allow_list_permits_only_its_networks() -> None:
    guard = Guard(allow=["127.0.0.1/32", IPv6Network("fd00::/8")])
    assert guard.permits(ip_address("127.0.0.1"))
    assert guard.permits(ip_address("::ffff:127.0.0.1"))
    assert guard.permits(ip_address("fd00::1"))
    for text in ("127.0.0.2", "10.0.0.1", "::1", "fc00::1", "2600::5efe:127.0.0.2", "fe80::5efe:127.0.0.1"):
        assert not guard.permits(ip_address(text)), text


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "not_found"),
        (socket.gaierror(socket.EAI_AGAIN, "later"), "transient"),
        (OSError("no resolver"), "transient"),
        ([], "not_found"),
    ],
)
def test_a_failed_look_up_has_a_category_that_decides_on_retries(failure: list[str] | Exception, expected: str) -> None:
    assert category(Guard(resolve=Resolver(failure)), "example.com") == expected


async def test_the_error_names_the_host_and_not_its_address() -> None:
    with pytest.raises(ToolError) as caught:
        await Guard(resolve=Resolver(["10.11.12.13"])).addresses("inside.example", 80)
    assert "inside.example" in caught.value.message
    assert "10.11.12.13" not in caught.value.message


async def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    resolver, network = Resolver(["8.8.8.8"], ["127.0.0.1"]), Network()
    await GuardedBackend(Guard(resolve=resolver), network).connect_tcp("rebind.example", 80)
    assert network.connected == ["8.8.8.8"]
    assert resolver.requested == ["rebind.example"]


async def test_a_name_that_changes_to_loopback_is_refused_at_the_next_connection() -> None:
    resolver, network = Resolver(["8.8.8.8"], ["127.0.0.1"]), Network()
    backend = GuardedBackend(Guard(resolve=resolver), network)
    await backend.connect_tcp("rebind.example", 80)
    with pytest.raises(ToolError):
        await backend.connect_tcp("rebind.example", 80)
    assert network.connected == ["8.8.8.8"]


async def test_the_next_address_is_tried_when_one_refuses() -> None:
    network = Network(dead=["2606:4700::1"])
    guard = Guard(resolve=Resolver(["2606:4700::1", "8.8.8.8"]))
    await GuardedBackend(guard, network).connect_tcp("example.com", 80, timeout=5)
    assert network.connected == ["2606:4700::1", "8.8.8.8"]


async def test_the_number_of_attempts_is_bounded() -> None:
    many = [f"8.8.8.{n}" for n in range(200)]
    network = Network(dead=many)
    with pytest.raises(httpcore2.ConnectError):
        await GuardedBackend(Guard(resolve=Resolver(many)), network).connect_tcp("example.com", 80)
    assert len(network.connected) == 8


async def test_a_resolver_that_never_answers_times_out() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await anyio.sleep_forever()
        return []

    with pytest.raises(httpcore2.ConnectTimeout):
        await GuardedBackend(Guard(resolve=never), Network()).connect_tcp("example.com", 80, timeout=0.01)


async def test_unix_sockets_are_refused() -> None:
    with pytest.raises(ToolError) as caught:
        await GuardedBackend(Guard(), Network()).connect_unix_socket("/run/any.sock")
    assert caught.value.category == "permission"
    assert "any.sock" not in caught.value.message


async def test_tls_uses_the_name_of_the_host() -> None:
    names: list[str | None] = []

    class Stream(httpcore2.AsyncMockStream):
        async def start_tls(
            self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
        ) -> httpcore2.AsyncNetworkStream:
            names.append(server_hostname)
            return self

    class Secure(Network):
        async def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,
            local_address: str | None = None,
            socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
        ) -> httpcore2.AsyncNetworkStream:
            self.connected.append(host)
            return Stream([b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"])

    network = Secure()
    backend = GuardedBackend(Guard(resolve=Resolver(["8.8.8.8"])), network)
    async with httpcore2.AsyncConnectionPool(network_backend=backend) as pool:
        assert (await pool.request("GET", "https://example.com/")).status == 200
    assert (network.connected, names) == (["8.8.8.8"], ["example.com"])
