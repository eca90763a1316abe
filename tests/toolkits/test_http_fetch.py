"""Fetching from real servers on loopback, including hostile ones, with `Fetcher` and with the tools."""

import gzip
import socket
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import httpcore2
import pytest

from callboard import Registry, ToolError
from callboard.execution.breaker import BreakerOpen
from callboard.testing import Harness
from callboard.toolkits.http import Fetcher, FetchResult, Guard, Limits, fetch_tools, http_fetch, http_post, tools
from callboard.toolkits.http.guard import Resolver
from callboard.toolkits.web import web_fetch

pytestmark = pytest.mark.anyio

Answer = bytes | Callable[[anyio.abc.SocketStream], Awaitable[None]]


@dataclass
class Server:
    """A server that answers each path with raw bytes, or with a function that writes to the connection."""

    port: int
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    requests: list[bytes] = field(default_factory=list[bytes])

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        return [request.split(b" ")[1].decode() for request in self.requests]

    def header(self, name: str, of: int = -1) -> str | None:
        """Return a header of a received request."""
        for line in self.requests[of].split(b"\r\n\r\n")[0].split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.decode().lower() == name:
                return value.decode().strip()
        return None

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            try:
                request = b""
                while b"\r\n\r\n" not in request:
                    request += await stream.receive()
                head, _, body = request.partition(b"\r\n\r\n")
                length = next(
                    (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
                )
                while len(body) < length:
                    body += await stream.receive()
                self.requests.append(head + b"\r\n\r\n" + body)
                answer = self.answers[self.paths[-1]]
                if isinstance(answer, bytes):
                    await stream.send(answer)
                else:
                    await answer(stream)
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                pass


def reply(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Make a complete response, after which the connection is closed."""
    data = body.encode() if isinstance(body, str) else body
    named = {"content-type": "text/plain", **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {len(data)}\r\n{lines}\r\n".encode() + data


def redirect(location: str, status: str = "302 Found") -> bytes:
    return reply(status=status, location=location)


@asynccontextmanager
async def serving() -> AsyncGenerator[Server, None]:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        server = Server(listener.extra(anyio.abc.SocketAttribute.local_port))
        tasks.start_soon(listener.serve, server.serve)
        yield server
        tasks.cancel_scope.cancel()


@pytest.fixture
async def server() -> AsyncGenerator[Server, None]:
    async with serving() as server:
        yield server


def always(address: str) -> Resolver:
    """Make a resolver that resolves every name to one address."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        return [address]

    return resolve


def local(resolve: Resolver | None = None) -> Guard:
    """Make a guard that permits the tests' own server, and by default resolves every name to it."""
    return Guard(allow=["127.0.0.1/32"], resolve=resolve or always("127.0.0.1"))


async def fetch(url: str, *, limits: Limits | None = None, guard: Guard | None = None, **options: Any) -> FetchResult:
    async with Fetcher(guard=guard or local(), limits=limits) as fetcher:
        return await fetcher.fetch(url, **options)


async def refused(url: str, **options: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await fetch(url, **options)
    return caught.value


# Responses


async def test_a_page_is_returned_with_its_text_and_headers(server: Server) -> None:
    server.answers["/a?b=c"] = reply("grüß dich", etag='"x"', x_secret="no", set_cookie="a=b", x_ratelimit_left="3")
    result = await fetch(server.url("/a?b=c#part"))
    assert (result.status, result.text, result.truncated, result.note) == (200, "grüß dich", False, None)
    assert result.url == server.url("/a?b=c")
    assert result.bytes_received == len("grüß dich".encode())
    assert result.redirects == []
    assert result.headers == {
        "content-length": "11", "content-type": "text/plain", "etag": '"x"', "x-ratelimit-left": "3"
    }  # fmt: skip


@pytest.mark.parametrize("status", ["404 Not Found", "500 Internal Server Error", "304 Not Modified", "418 Teapot"])
async def test_an_error_status_is_a_result(server: Server, status: str) -> None:
    server.answers["/"] = reply("" if status.startswith("304") else "sorry", status=status)
    result = await fetch(server.url())
    assert result.status == int(status[:3])


async def test_head_returns_no_body(server: Server) -> None:
    server.answers["/"] = b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 9000\r\n\r\n"
    result = await fetch(server.url(), method="HEAD")
    assert (result.text, result.note, result.headers["content-length"]) == ("", None, "9000")
    assert server.requests[0].startswith(b"HEAD / ")


async def test_post_sends_its_body_once(server: Server) -> None:
    server.answers["/"] = reply("done", status="201 Created")
    result = await fetch(server.url(), method="POST", body="größer", headers={"Content-Type": "text/plain"})
    assert (result.status, result.text) == (201, "done")
    assert server.requests[0].endswith("\r\n\r\ngrößer".encode())
    assert server.header("content-type") == "text/plain"


async def test_a_body_needs_post() -> None:
    assert (await refused("http://127.0.0.1/", body="x")).category == "validation"


async def test_the_host_header_stays_the_name(server: Server) -> None:
    server.answers["/"] = reply("ok")
    await fetch(server.url(host="Example.COM."))
    assert server.header("host") == f"example.com:{server.port}"


async def test_no_cookie_is_kept_between_fetches(server: Server) -> None:
    server.answers["/"] = reply("ok", set_cookie="id=1")
    async with Fetcher(guard=local()) as fetcher:
        await fetcher.fetch(server.url())
        await fetcher.fetch(server.url())
    assert server.header("cookie") is None


async def test_no_proxy_is_taken_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.answers["/"] = reply("direct")
    assert (await fetch(server.url())).text == "direct"


# Requests that are refused before they are sent


@pytest.mark.parametrize(
    ("url", "category"),
    [
        ("file:///etc/passwd", "permission"),
        ("ftp://example.com/", "permission"),
        ("gopher://example.com/", "permission"),
        ("unix:///run/a.sock", "permission"),
        ("javascript:alert(1)", "permission"),
        ("example.com", "validation"),
        ("//example.com", "validation"),
        ("", "validation"),
        ("http://", "validation"),
        ("http:///path", "validation"),
        ("http://exa\nmple.com/", "validation"),
        ("http://example.com/\ud800", "validation"),
        ("http://example.com:0/", "validation"),
        ("http://example.com:65536/", "validation"),
        ("http://example.com:-1/", "validation"),
        ("http://example.com/" + "a" * 9000, "validation"),
        ("http://user:hunter2@example.com/", "permission"),
        ("http://hunter2@example.com/", "permission"),
        ("http://example.com\\@hunter2/", "permission"),
    ],
)
async def test_a_url_that_is_not_plain_http_is_refused(url: str, category: str) -> None:
    error = await refused(url)
    assert error.category == category
    assert "hunter2" not in error.message


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "localhost.", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]",
        "[fe80::1%25eth0]", "169.254.169.254", "10.0.0.1", "0.0.0.0", "[::]", "127。0。0。1",
    ],
)  # fmt: skip
async def test_a_private_host_is_refused_by_default(server: Server, host: str) -> None:
    error = await refused(server.url(host=host), guard=Guard())
    assert error.category == "permission"
    assert server.requests == []


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "a\r\nX-B: b"}, {"X-A": "a\nb"}, {"X-A": "a\0b"}, {"X-A\r\nX-B": "b"}, {"X A": "b"}, {"": "b"},
        {"X-A:": "b"}, {"X-A": "ü"}, {"X-A": "a" * 20_000}, {f"x-{n}": "a" for n in range(40)},
    ],
)  # fmt: skip
async def test_a_header_that_could_break_the_message_is_refused(server: Server, headers: dict[str, str]) -> None:
    assert (await refused(server.url(), headers=headers)).category == "validation"
    assert server.requests == []


@pytest.mark.parametrize(
    "name",
    ["Host", "connection", "Content-Length", "Transfer-Encoding", "TE", "Upgrade", "Proxy-Authorization", "Expect"],
)
async def test_a_header_that_controls_the_connection_is_refused(server: Server, name: str) -> None:
    assert (await refused(server.url(), headers={name: "x"})).category == "permission"
    assert server.requests == []


# Redirects


async def test_redirects_are_followed_and_listed(server: Server) -> None:
    server.answers |= {"/1": redirect("/2"), "/2": redirect("3", "308 Permanent Redirect"), "/3": reply("here")}
    result = await fetch(server.url("/1"))
    assert (result.text, result.url) == ("here", server.url("/3"))
    assert result.redirects == [server.url("/1"), server.url("/2")]


async def test_more_than_five_redirects_are_refused(server: Server) -> None:
    server.answers["/"] = redirect("/")
    assert (await refused(server.url())).category == "permanent"
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("location", "category"),
    [
        ("http://169.254.169.254/latest/meta-data/", "permission"),
        ("http://localhost:1/", "permission"),
        ("http://2130706433/", "permission"),
        ("//10.0.0.1/", "permission"),
        ("http://[::ffff:10.0.0.1]/", "permission"),
        ("file:///etc/passwd", "permission"),
        ("http://a:b@127.0.0.1/", "permission"),
        ("http://[half/", "permanent"),
        ("http://a:b:c/", "permanent"),
        ("http://a:99999/", "permanent"),
    ],
)
async def test_a_redirect_is_validated_like_the_first_url(server: Server, location: str, category: str) -> None:
    server.answers["/"] = redirect(location)
    error = await refused(server.url())
    assert error.category == category
    assert len(server.requests) == 1


async def test_a_name_that_becomes_private_during_a_redirect_is_refused(server: Server) -> None:
    answers = iter([["127.0.0.1"], ["127.0.0.2"]])

    async def rebind(host: str, port: int) -> Sequence[str]:
        return next(answers)

    server.answers |= {"/1": redirect("/2"), "/2": reply("secret")}
    error = await refused(server.url("/1", host="rebind.example"), guard=local(rebind))
    assert error.category == "permission"
    assert "127.0.0.2" not in error.message
    assert server.paths == ["/1"]


async def test_credentials_stay_with_their_origin(server: Server) -> None:
    server.answers |= {
        "/1": redirect("/2"), "/2": redirect(server.url("/3", host="other.example")), "/3": reply("ok")
    }  # fmt: skip
    sent = {"Authorization": "Bearer s", "Cookie": "a=b", "X-Api-Key": "k", "Accept": "text/plain"}
    await fetch(server.url("/1", host="one.example"), headers=sent)
    assert [server.header("authorization", n) for n in range(3)] == ["Bearer s", "Bearer s", None]
    assert [server.header("x-api-key", n) for n in range(3)] == ["k", "k", None]
    assert [server.header("cookie", n) for n in range(3)] == ["a=b", "a=b", None]
    assert server.header("accept", 2) == "text/plain"


async def test_a_redirect_from_https_to_http_is_refused() -> None:
    network = httpcore2.AsyncMockBackend([redirect("http://example.com/")])
    guard = Guard(resolve=always("8.8.8.8"))
    async with Fetcher(guard=guard, network=network) as fetcher:
        with pytest.raises(ToolError) as caught:
            await fetcher.fetch("https://example.com/")
    assert caught.value.category == "permission"
    assert "https to http" in caught.value.message


async def test_another_port_is_another_origin(server: Server) -> None:
    async with serving() as second:
        second.answers["/"] = reply("ok")
        server.answers["/"] = redirect(second.url())
        await fetch(server.url(), headers={"Authorization": "Bearer s"})
        assert second.header("authorization") is None


@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
async def test_a_redirected_post_keeps_its_body(server: Server, status: str) -> None:
    server.answers |= {"/1": redirect("/2", status), "/2": reply("ok")}
    await fetch(server.url("/1"), method="POST", body="payload", headers={"content-type": "text/x"})
    assert server.requests[1].startswith(b"POST /2 ")
    assert server.requests[1].endswith(b"payload")
    assert server.header("content-type") == "text/x"


@pytest.mark.parametrize(
    ("method", "status"),
    [("POST", "301 Moved"), ("POST", "302 Found"), ("POST", "303 See Other"), ("DELETE", "303 See Other")],
)
async def test_k1_a_redirect_that_would_lose_the_request_is_the_result(
    server: Server, method: str, status: str
) -> None:
    server.answers |= {"/1": redirect("/2", status), "/2": reply("ok")}
    result = await fetch(server.url("/1"), method=method, body="payload")
    assert server.paths == ["/1"]
    assert (result.status, result.url, result.redirects) == (int(status[:3]), server.url("/1"), [])
    assert result.headers["location"] == "/2"
    assert "was not followed" in str(result.note)
    server.answers["/1"] = reply("made", status)
    assert (await fetch(server.url("/1"), method=method, body="payload")).note is None


async def test_a_body_is_not_forwarded_to_another_origin(server: Server) -> None:
    server.answers |= {"/1": redirect(server.url("/2", host="other.example"), "307 Kept"), "/2": reply("ok")}
    error = await refused(server.url("/1"), method="POST", body="payload")
    assert error.category == "permission"
    assert server.paths == ["/1"]


# Limits of size and time


async def test_a_body_is_truncated_at_the_size_limit(server: Server) -> None:
    server.answers["/"] = reply("x" * 1000)
    result = await fetch(server.url(), max_bytes=100)
    assert (result.text, result.truncated, result.bytes_received) == ("x" * 100, True, 100)
    assert "100" in str(result.note)


async def test_a_body_of_exactly_the_limit_is_complete(server: Server) -> None:
    server.answers["/"] = reply("x" * 100)
    assert not (await fetch(server.url(), max_bytes=100)).truncated


async def test_a_caller_cannot_raise_the_limit(server: Server) -> None:
    server.answers["/"] = reply("x" * 1000)
    assert (await fetch(server.url(), max_bytes=10_000, limits=Limits(max_bytes=10))).bytes_received == 10


async def test_a_partial_last_character_is_dropped(server: Server) -> None:
    server.answers["/"] = reply("aü")
    assert (await fetch(server.url(), max_bytes=2)).text == "a"


async def test_gzip_is_decompressed(server: Server) -> None:
    server.answers["/"] = reply(gzip.compress(b"hello"), content_encoding="gzip")
    assert (await fetch(server.url())).text == "hello"


async def test_a_gzip_bomb_is_truncated(server: Server) -> None:
    server.answers["/"] = reply(gzip.compress(bytes(50_000_000)), content_encoding="gzip")
    result = await fetch(server.url(), max_bytes=1000)
    assert (result.truncated, result.bytes_received, result.text) == (True, 1000, "")


@pytest.mark.parametrize("coding", ["gzip, gzip", "gzip, deflate, gzip", "br", "zstd", "compress", "gzip, x"])
async def test_nested_or_unrequested_encodings_are_not_decoded(server: Server, coding: str) -> None:
    server.answers["/"] = reply(gzip.compress(gzip.compress(b"hello")), content_encoding=coding)
    result = await fetch(server.url())
    assert (result.status, result.text, result.truncated, result.bytes_received) == (200, "", True, 0)
    assert result.note


async def test_bytes_without_decompressed_output_are_limited(server: Server) -> None:
    """Data after the end of a gzip stream gives no output, and must be limited too."""
    sent = 0

    async def endless(stream: anyio.abc.SocketStream) -> None:
        nonlocal sent
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\n\r\n")
        await stream.send(gzip.compress(b"hello"))
        while True:
            await stream.send(bytes(65_536))
            sent += 65_536

    server.answers["/"] = endless
    result = await fetch(server.url(), max_bytes=1000)
    assert (result.text, result.truncated) == ("hello", True)
    assert sent < 50_000_000


async def test_a_damaged_body_is_returned_up_to_the_damage(server: Server) -> None:
    packed = zlib.compressobj(wbits=31)
    good = packed.compress(b"hello") + packed.flush(zlib.Z_FULL_FLUSH)
    server.answers["/"] = reply(good + b"\xff" * 100, content_encoding="gzip")
    result = await fetch(server.url())
    assert (result.status, result.truncated) == (200, True)
    assert "hello".startswith(result.text)


async def test_an_incomplete_body_is_returned_as_far_as_received(server: Server) -> None:
    server.answers["/"] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nhello"
    result = await fetch(server.url())
    assert (result.text, result.truncated) == ("hello", True)


async def test_a_slow_body_is_truncated_at_the_total_time(server: Server) -> None:
    async def drip(stream: anyio.abc.SocketStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        while True:
            await stream.send(b"x")
            await anyio.sleep(0.02)

    server.answers["/"] = drip
    with anyio.fail_after(90):
        result = await fetch(server.url(), limits=Limits(total_seconds=1.0))
    assert result.truncated
    assert set(result.text) == {"x"}


async def test_slow_headers_time_out(server: Server) -> None:
    async def drip(stream: anyio.abc.SocketStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\nx-a: ")
        while True:
            await stream.send(b"x")
            await anyio.sleep(0.02)

    server.answers["/"] = drip
    with anyio.fail_after(90):
        assert (await refused(server.url(), limits=Limits(total_seconds=1.0))).category == "timeout"


async def test_the_total_time_includes_all_redirects(server: Server) -> None:
    async def slow(stream: anyio.abc.SocketStream) -> None:
        await anyio.sleep(0.15)
        await stream.send(redirect("/"))

    server.answers["/"] = slow
    with anyio.fail_after(90):
        error = await refused(server.url(), limits=Limits(total_seconds=0.4))
    assert error.category == "timeout"
    assert len(server.requests) < 5


async def test_endless_headers_are_refused(server: Server) -> None:
    server.answers["/"] = b"HTTP/1.1 200 OK\r\n" + b"x-a: aaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 20_000
    assert (await refused(server.url())).category == "permanent"


CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"


async def test_h5_a_body_in_pieces_of_one_byte_is_truncated_early(server: Server) -> None:
    server.answers["/"] = CHUNKED + b"1\r\na\r\n" * 60_000 + b"0\r\n\r\n"
    result = await fetch(server.url(), max_bytes=100_000)
    assert (result.status, result.truncated) == (200, True)
    assert result.bytes_received < 10_000


async def test_h5_a_body_in_ordinary_pieces_is_complete(server: Server) -> None:
    server.answers["/"] = CHUNKED + b"28\r\n" + b"a" * 40 + b"\r\n" + b"28\r\n" + b"b" * 40 + b"\r\n0\r\n\r\n"
    assert (await fetch(server.url(), max_bytes=80)).text == "a" * 40 + "b" * 40
    server.answers["/"] = CHUNKED + (b"28\r\n" + b"a" * 40 + b"\r\n") * 2_500 + b"0\r\n\r\n"
    result = await fetch(server.url(), max_bytes=100_000)
    assert (result.truncated, result.bytes_received) == (False, 100_000)


async def test_h5_other_tasks_run_while_many_pieces_are_read() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    network = httpcore2.AsyncMockBackend([CHUNKED + b"1\r\na\r\n" * 10_000 + b"0\r\n\r\n"])
    guard = Guard(resolve=always("8.8.8.8"))
    async with Fetcher(guard=guard, network=network) as fetcher, anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        assert (await fetcher.fetch("http://example.com/")).bytes_received == 10_000
        tasks.cancel_scope.cancel()
    assert turns >= 100


@pytest.mark.parametrize("flood", [b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10_000, b"HTTP/1.1 100 \r\n\r\n" * 20_000])
async def test_h5_endless_answers_before_the_answer_are_refused(server: Server, flood: bytes) -> None:
    server.answers["/"] = flood + reply("here")
    assert (await refused(server.url())).category == "permanent"


async def test_h5_bytes_that_are_not_of_the_body_are_limited(server: Server) -> None:
    server.answers["/"] = CHUNKED + (b"1;x=" + b"y" * 1_000 + b"\r\na\r\n") * 1_000 + b"0\r\n\r\n"
    result = await fetch(server.url(), max_bytes=2_000)
    assert result.truncated
    assert result.bytes_received < 300


# Text and binary content


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "image/png"),
        (b"hello", "video/mp4"),
        (bytes(range(256)) * 4, "text/plain"),
        (bytes(100), "application/octet-stream"),
        (b"%PDF-1.7\n" + bytes(range(128, 256)) * 4, "application/pdf"),
    ],
)
async def test_binary_content_is_described_and_not_returned(server: Server, data: bytes, content_type: str) -> None:
    server.answers["/"] = reply(data, content_type=content_type)
    result = await fetch(server.url())
    assert result.text == ""
    assert f"{content_type}, {len(data)} bytes" in str(result.note)
    assert (result.bytes_received, result.truncated) == (len(data), False)


META = '<html><head><meta http-equiv="Content-Type" content="text/html; charset=EUC-JP"></head>日本</html>'
XML = '<?xml version="1.0" encoding="ISO-8859-1"?><title>grüß</title>'


@pytest.mark.parametrize(
    ("data", "content_type", "text"),
    [
        ("grüß".encode("latin-1"), "text/html; charset=ISO-8859-1", "grüß"),
        ("grüß".encode("utf-16"), "text/plain", "grüß"),
        ("\ufeffgrüß".encode(), "text/plain; charset=utf-8", "grüß"),
        ("日本".encode("shift_jis"), 'text/plain; charset="Shift_JIS"', "日本"),
        ("<meta charset=windows-1251>Привет".encode("cp1251"), "text/html", "<meta charset=windows-1251>Привет"),
        (META.encode("euc-jp"), "text/html", META),
        (META.encode(), "text/html; charset=utf-8", META),
        (XML.encode("latin-1"), "application/rss+xml", XML),
        (b"<meta charset=utf-16>plain", "text/html", "<meta charset=utf-16>plain"),
        (b"plain", "text/plain; charset=no-such", "plain"),
        (b"plain", "text/plain; charset=idna", "plain"),
        (b"plain", "text/plain; charset=iso-8859-99", "plain"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (b"<svg/>", "image/svg+xml", "<svg/>"),
        (b"plain", "application/octet-stream", "plain"),
    ],
)
async def test_text_is_decoded_by_its_charset(server: Server, data: bytes, content_type: str, text: str) -> None:
    server.answers["/"] = reply(data, content_type=content_type)
    assert (await fetch(server.url())).text == text


# Requests without a response


async def test_a_refused_connection_is_transient() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        error = await refused(f"http://down.example:{unused.getsockname()[1]}/")
    assert error.category == "transient"
    assert "down.example" in error.message
    assert "127.0.0.1" not in error.message


async def test_an_unknown_name_is_not_found() -> None:
    async def unknown(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    assert (await refused("http://no.example/", guard=local(unknown))).category == "not_found"


async def test_a_connection_closed_without_an_answer_is_transient(server: Server) -> None:
    server.answers["/"] = b""
    assert (await refused(server.url())).category == "transient"


async def test_an_answer_that_is_not_http_is_permanent(server: Server) -> None:
    server.answers["/"] = b"SSH-2.0-OpenSSH_9.0\r\n\r\n"
    assert (await refused(server.url())).category == "permanent"


async def test_tls_to_a_plain_server_is_permanent(server: Server) -> None:
    async def plain(stream: anyio.abc.SocketStream) -> None:
        await stream.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def hello(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await plain(stream)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, hello)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        assert (await refused(f"https://plain.example:{port}/")).category == "permanent"
        tasks.cancel_scope.cancel()


async def test_a_cancelled_fetch_closes_its_connection(server: Server) -> None:
    gone = anyio.Event()

    async def wait(stream: anyio.abc.SocketStream) -> None:
        fetching.cancel_scope.cancel()
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            gone.set()

    server.answers["/"] = wait
    async with anyio.create_task_group() as fetching:
        fetching.start_soon(fetch, server.url())
    with anyio.fail_after(90):
        await gone.wait()


# The tools


async def test_the_tool_returns_json_data(server: Server) -> None:
    server.answers["/"] = reply("hello")
    registry = Registry(fetch_tools(guard=local()))
    result = await registry.call("http_fetch", {"url": server.url(), "headers": [{"name": "X-A", "value": "b"}]})
    assert (result["status"], result["text"], result["truncated"]) == (200, "hello", False)
    assert server.header("x-a") == "b"


async def test_the_tool_truncates_long_pages_by_default(server: Server) -> None:
    server.answers["/"] = reply("x" * 150_000)
    registry = Registry(fetch_tools(guard=local()))
    assert (await registry.call("http_fetch", {"url": server.url()}))["bytes_received"] == 100_000


async def test_the_tool_refuses_private_addresses_by_default(server: Server) -> None:
    with pytest.raises(ToolError) as caught:
        await Registry(tools).call("http_fetch", {"url": server.url()})
    assert caught.value.category == "permission"
    assert server.requests == []


async def test_the_post_tool_sends_json_by_default(server: Server) -> None:
    server.answers["/"] = reply("stored", status="201 Created")
    registry = Registry(fetch_tools(guard=local()))
    result = await registry.call("http_post", {"url": server.url(), "body": '{"a": 1}'})
    assert result["status"] == 201
    assert server.header("content-type") == "application/json"
    assert server.requests[0].endswith(b'{"a": 1}')


@pytest.mark.parametrize("dialect", ["claude", "openai", "openai-responses", "openai-strict", "gemini", "mcp", "ag-ui"])
def test_every_dialect_has_the_schemas(dialect: str) -> None:
    for each in tools:
        assert each.schema(dialect)


def test_only_http_fetch_is_idempotent() -> None:
    assert tools == (http_fetch, http_post)
    assert (http_fetch.idempotent, http_post.idempotent) == (True, False)


async def test_k1_a_failing_host_opens_the_breaker_of_that_user_and_host_only(server: Server) -> None:
    server.answers["/"] = reply("here")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        refusing = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        async with Harness(*fetch_tools(guard=local())) as harness:
            other = await harness.runtime.open("other", "bob")
            for _ in range(5):
                call = await harness.start("http_post", {"url": refusing, "body": ""})
                error = (await call).error
                assert error is not None
                assert "does not accept the connection" in error.message
            refused = (await harness.session.call("http_post", {"url": refusing, "body": ""})).error
            assert isinstance(refused, BreakerOpen)
            assert (await harness.session.call("http_post", {"url": server.url(), "body": ""})).status == "succeeded"
            assert (await other.call("http_post", {"url": server.url(), "body": ""})).status == "succeeded"
            assert not isinstance((await other.call("http_post", {"url": refusing, "body": ""})).error, BreakerOpen)


def test_k1_breakers_of_fetches_are_per_host_and_port() -> None:
    for each in (*tools, web_fetch):
        assert each.breaker is not None
        assert each.breaker.scope == "user_target"
        assert each.breaker.target is not None
        assert each.breaker.target({"url": "https://Example.COM./a?b#c"}) == "example.com:443"
        assert each.breaker.target({"url": "http://[::1]:8080/"}) == "::1:8080"
        assert each.breaker.target({"url": "nonsense"}) is None
