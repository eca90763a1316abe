"""The guard: host names, origins, headers, paths and rate limits (H5)."""

from dataclasses import replace
from typing import Any

import pytest
from starlette.types import Message

from callboard.server.identity import IdentityConfig, may_listen
from callboard.server.identity.addresses import client_network, is_loopback, read_authority, read_origin
from callboard.server.identity.rate_limits import RateLimiter
from callboard.testing import ManualClock

from .callers import CONFIG, ELSEWHERE, Server

pytestmark = pytest.mark.anyio

APP = "https://app.example.com"


# Host names: a page under a foreign name that resolves to this machine is refused


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "localhost.", "127.0.0.1:8000", "127.1.2.3", "[::1]"])
async def test_h5_loopback_names_are_accepted(host: str) -> None:
    assert (await Server().ask(host=host)).user == "local"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil-localhost",
        "192.168.1.5",
        "0.0.0.0",
        "[::]",
        "localhost@evil.example",
        "localhost/..",
        "localhost:99999",
        "localhost:",
        "[::1",
        "local host",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/api/state", "/", "/metrics"])
async def test_h5_other_host_names_are_refused(host: str, path: str) -> None:
    reply = await Server().ask(path, host=host)
    assert (reply.status, reply.code) == (421, "host_not_allowed")


@pytest.mark.parametrize(
    ("configured", "host", "known"),
    [
        ("board.example.com", "board.example.com", True),
        ("Board.Example.com", "BOARD.example.COM:443", True),
        ("board.example.com", "example.com", False),
        ("board.example.com", "board.example.com.evil.example", False),
        ("board.example.com:8443", "board.example.com:8443", True),
        ("board.example.com:8443", "board.example.com", False),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "evilexample.com", False),
        ("*", "anything", True),
        ("192.168.1.5", "192.168.1.5:8000", True),
        ("[fe80::1]", "[FE80:0::1]:80", True),
    ],
)
async def test_h5_configured_host_names_are_accepted(configured: str, host: str, known: bool) -> None:
    server = Server(replace(CONFIG, hosts=(configured,)))
    reply = await server.ask(token=await server.key(), host=host)
    assert reply.status == (200 if known else 421)


async def test_h5_probes_are_answered_under_any_host_name() -> None:
    server = Server()
    await server.key()
    for path in ("/healthz", "/readyz"):
        reply = await server.ask(path, host="10.0.0.7:8000", client=ELSEWHERE)
        assert reply.user == ""
    assert (await server.ask("/healthz", "POST", client=ELSEWHERE)).status == 401


async def test_h5_repeated_host_header_is_refused() -> None:
    reply = await Server().ask(headers=[("host", "evil.example")])
    assert (reply.status, reply.code) == (400, "bad_header")
    assert (await Server().ask(host=None)).status == 400


# Origins


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://localhost",
        "http://localhost:3000",
        "http://127.0.0.1:8000",
        "https://localhost.evil.example:8000",
        "http://localhost:8000@evil.example",
        "http://localhost:8000/",
        "chrome-extension://abcdef",
        "file://",
        "null",
        "*",
    ],
)
async def test_h5_pages_of_other_origins_are_refused(origin: str, method: str) -> None:
    asks = {"access-control-request-method": "POST"} if method == "OPTIONS" else {}
    reply = await Server().ask(method=method, headers={"origin": origin, **asks})
    assert (reply.status, reply.code) == (403, "origin_not_allowed")
    assert reply.header("access-control-allow-origin") is None


@pytest.mark.parametrize(
    ("origin", "host", "scheme", "same"),
    [
        ("http://localhost:8000", "localhost:8000", "http", True),
        ("http://[::1]:8000", "[::1]:8000", "http", True),
        ("http://localhost", "localhost", "http", True),
        ("http://localhost:80", "localhost", "http", True),
        ("https://localhost", "localhost", "http", True),
        ("https://localhost", "localhost:443", "https", True),
        ("http://localhost", "localhost", "https", False),
        ("https://localhost:8000", "localhost", "https", False),
    ],
)
async def test_h5_page_of_the_server_is_accepted(origin: str, host: str, scheme: str, same: bool) -> None:
    reply = await Server().ask(method="POST", headers={"origin": origin}, host=host, scheme=scheme)
    assert reply.status == (200 if same else 403)
    assert reply.header("access-control-allow-origin") is None


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_h5_cross_site_request_without_an_origin_is_refused(site: str) -> None:
    server = Server()
    assert (await server.ask(headers={"sec-fetch-site": site})).status == 403
    assert (await server.ask("/", headers={"sec-fetch-site": site})).user == "", "a link to the page is allowed"
    for own in ("same-origin", "none"):
        assert (await server.ask(headers={"sec-fetch-site": own})).user == "local"


async def test_h5_cors_is_off_unless_it_is_configured() -> None:
    reply = await Server().ask()
    assert not [name for name, _ in reply.headers if name.startswith("access-control") or name == "vary"]


async def test_h5_page_of_a_configured_origin_may_send_requests_and_read_responses() -> None:
    server = Server(replace(CONFIG, origins=(APP,)))
    text = await server.key()
    asked = {
        "origin": APP,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    before = await server.ask("/api/chat", "OPTIONS", headers=asked)
    assert (before.status, before.body) == (204, b"")
    assert before.header("access-control-allow-origin") == APP
    assert "POST" in (before.header("access-control-allow-methods") or "")
    allowed = (before.header("access-control-allow-headers") or "").split(", ")
    assert {"authorization", "content-type", "last-event-id"} <= set(allowed)
    assert before.header("access-control-allow-credentials") is None
    reply = await server.ask("/api/chat", "POST", token=text, headers={"origin": APP})
    assert (reply.user, reply.header("access-control-allow-origin"), reply.header("vary")) == ("ann", APP, "origin")
    refused = await server.ask("/api/chat", "POST", headers={"origin": APP})
    assert (refused.status, refused.header("access-control-allow-origin")) == (401, APP), (
        "the page may read the reason too"
    )


async def test_h5_page_of_a_configured_origin_may_use_the_headers_of_mounted_protocols() -> None:
    asked = {"origin": APP, "access-control-request-method": "POST"}
    config = replace(CONFIG, origins=(APP,))
    for server, is_mounted in ((Server(config), True), (Server(config, mounts=()), False)):
        reply = await server.ask("/mcp", "OPTIONS", headers=asked)
        allowed = (reply.header("access-control-allow-headers") or "").split(", ")
        exposed = (reply.header("access-control-expose-headers") or "").split(", ")
        assert ({"mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"} <= set(allowed)) is is_mounted
        assert ("mcp-session-id" in exposed) is is_mounted
        assert {"retry-after", "www-authenticate"} <= set(exposed)


@pytest.mark.parametrize("origin", ["http://app.example.com", "https://app.example.com:8443", "https://example.com"])
async def test_h5_origin_must_match_a_configured_one_exactly(origin: str) -> None:
    server = Server(replace(CONFIG, origins=(APP,)))
    reply = await server.ask(headers={"origin": origin})
    assert (reply.status, reply.header("access-control-allow-origin")) == (403, None)
    assert (await server.ask()).header("vary") == "origin", "a cache must keep origins apart"


# Headers


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ([("authorization", "Bearer a"), ("authorization", "Bearer b")], 400, "bad_header"),
        ([("authorization", "Bearer " + "a" * 8_193)], 400, "bad_header"),
        ([("authorization", "Bearer a\x00b")], 400, "bad_header"),
        ([("authorization", "Bearer a\nb")], 400, "bad_header"),
        ([("authorization", "Bearer \xe9")], 400, "bad_header"),
        ([("authorization", "Bearer a b")], 400, "bad_header"),
        ([("authorization", "Bearer a,b")], 400, "bad_header"),
        ([("authorization", "Bearer ")], 400, "bad_header"),
        ([("authorization", "Bearer")], 400, "bad_header"),
        ([("authorization", "Basic YTpi")], 401, "unauthenticated"),
        ([("authorization", "")], 401, "unauthenticated"),
        ([("cookie", "token=a"), ("x-api-key", "a")], 401, "unauthenticated"),
        ([("origin", "http://localhost:8000"), ("origin", "http://localhost:8000")], 400, "bad_header"),
    ],
)
async def test_h5_invalid_headers_are_refused(headers: list[tuple[str, str]], status: int, code: str) -> None:
    server = Server()
    await server.key()
    reply = await server.ask(headers=headers)
    assert (reply.status, reply.code) == (status, code)


async def test_h5_scheme_of_a_token_is_case_insensitive() -> None:
    server = Server()
    text = await server.key()
    for written in (f"bearer {text}", f"BEARER  {text} "):
        assert (await server.ask(headers={"authorization": written})).user == "ann"


# Paths


@pytest.mark.parametrize("path", ["/", "/app.js", "/style.css", "/openapi.json"])
async def test_h5_the_page_needs_no_credentials(path: str) -> None:
    server = Server()
    await server.key()
    assert (await server.ask(path, client=ELSEWHERE)).user == "", "the empty user owns nothing"
    assert (await server.ask(path, "POST", client=ELSEWHERE)).status == 401


@pytest.mark.parametrize("path", ["/api/state", "/healthz/", "//healthz", "/healthz/../api/state", "/APP.JS", "/x", ""])
async def test_h5_other_paths_need_credentials(path: str) -> None:
    server = Server()
    await server.key()
    assert (await server.ask(path, client=ELSEWHERE)).status == 401


async def test_h5_paths_are_relative_to_the_mount() -> None:
    server = Server()
    await server.key()
    assert (await server.ask("/board/app.js", root_path="/board")).user == ""
    assert (await server.ask("/board/api/state", root_path="/board")).status == 401
    assert (await server.ask("/boardapp.js", root_path="/board")).status == 401


async def test_h5_metrics_need_the_local_machine_or_credentials() -> None:
    server = Server()
    text = await server.key()
    assert (await server.ask("/metrics")).user == ""
    assert (await server.ask("/metrics", client=ELSEWHERE)).status == 401
    assert (await server.ask("/metrics", client=ELSEWHERE, token=text)).user == "ann"
    opened = Server(replace(CONFIG, open_metrics=True))
    await opened.key()
    assert (await opened.ask("/metrics", client=ELSEWHERE)).user == ""


async def test_h5_lifespan_is_passed_on_and_websockets_are_refused() -> None:
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    guarded = Server(app=app).guard
    await guarded({"type": "lifespan"}, receive, send)
    await guarded({"type": "websocket", "path": "/", "headers": []}, receive, send)
    assert seen == ["lifespan"]
    assert sent == [{"type": "websocket.close", "code": 1008}]


async def test_h5_errors_of_the_application_pass_through() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await Server(app=app).ask()


# Rate limits


LIMITED = IdentityConfig(rate_limit=2, rate_burst=3)


async def test_h5_rate_limit_is_per_user() -> None:
    server = Server(LIMITED)
    ann, bob = await server.key("ann"), await server.key("bob")
    assert [(await server.ask(token=ann)).status for _ in range(4)] == [200, 200, 200, 429]
    refused = await server.ask(token=ann, client=ELSEWHERE)
    assert (refused.status, refused.code, refused.header("retry-after")) == (429, "rate_limited", "1")
    assert (await server.ask(token=bob)).user == "bob"
    await server.clock.advance(0.5)
    assert [(await server.ask(token=ann)).status for _ in range(2)] == [200, 429]
    await server.clock.advance(1_000)
    assert [(await server.ask(token=ann)).status for _ in range(4)] == [200, 200, 200, 429]


async def test_h5_keys_of_one_user_share_the_limit() -> None:
    server = Server(LIMITED)
    tokens = [await server.key("ann"), await server.key("ann")]
    assert [(await server.ask(token=tokens[number % 2])).status for number in range(4)] == [200, 200, 200, 429]


async def test_h5_unauthenticated_clients_have_a_limit_per_address() -> None:
    server = Server(LIMITED)
    text = await server.key()
    wrong = text[:-1] + ("0" if text[-1] != "0" else "1")
    assert [(await server.ask(token=wrong, client=ELSEWHERE)).status for _ in range(4)] == [401, 401, 401, 429]
    assert (await server.ask(client=ELSEWHERE)).status == 429
    assert (await server.ask("/app.js", client=ELSEWHERE)).status == 429
    assert (await server.ask("/healthz", client=ELSEWHERE)).status == 200
    assert (await server.ask(token=wrong, client="203.0.113.8")).status == 401
    assert (await server.ask(token=text, client=ELSEWHERE)).user == "ann", (
        "other clients do not limit an authenticated user"
    )


async def test_h5_queries_for_guessed_keys_are_limited() -> None:
    server = Server(LIMITED)
    await server.key()
    asked: list[str] = []
    look = server.store.key

    async def key(key_id: str) -> Any:
        asked.append(key_id)
        return await look(key_id)

    server.store.key = key  # type: ignore[method-assign]
    for number in range(20):
        await server.ask(token=f"cb_{number:016x}_{'0' * 64}", client=ELSEWHERE)
    assert len(asked) == 3


async def test_h5_local_user_has_no_limit() -> None:
    server = Server(LIMITED)
    assert {(await server.ask()).status for _ in range(20)} == {200}
    forced = Server(replace(LIMITED, insecure=True))
    assert [(await forced.ask(client=ELSEWHERE)).status for _ in range(4)] == [200, 200, 200, 429]


def test_h5_number_of_buckets_is_bounded() -> None:
    clock = ManualClock()
    buckets = RateLimiter(1, 2, clock, most=10)
    for number in range(1_000):
        assert buckets.take(str(number)) == 0
    assert len(buckets) == 10
    assert [buckets.take("999"), buckets.take("999")] == [0, 1]


async def test_buckets_fill_as_time_passes() -> None:
    clock = ManualClock()
    buckets = RateLimiter(4, 2, clock)
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 0.25]
    await clock.advance(0.125)
    assert (buckets.wait("a"), buckets.wait("b")) == (0.125, 0)
    await clock.advance(0.125)
    assert [buckets.take("a"), buckets.take("a")] == [0, 0.25]


def test_h5_addresses_of_one_ipv6_network_share_a_limit() -> None:
    assert client_network("2001:db8::1") == client_network("2001:db8::ffff:ffff") == "2001:db8::/64"
    assert client_network("2001:db8:0:1::1") != client_network("2001:db8::1")
    assert client_network("203.0.113.7") == "203.0.113.7"
    assert client_network("::ffff:203.0.113.7") == "203.0.113.7"
    assert client_network("testclient") == "testclient"


# Listening addresses


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]", "::ffff:127.0.0.1"])
def test_h5_listening_on_loopback_is_always_allowed(host: str) -> None:
    assert is_loopback(host)
    assert may_listen(host, IdentityConfig())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "board.example.com", "", "localhost.evil.example"])
def test_h5_listening_elsewhere_requires_authentication(host: str) -> None:
    assert not may_listen(host, IdentityConfig())
    assert may_listen(host, IdentityConfig(), keys=True)
    assert may_listen(host, IdentityConfig(jwks="keys.json", jwt_audience=("board",)))
    assert may_listen(host, IdentityConfig(insecure=True))


def test_host_names_and_origins_are_parsed() -> None:
    assert read_authority("A.b-c_d.:80") == ("a.b-c_d", 80)
    assert read_authority("[0:0::1]:5") == ("::1", 5)
    assert read_origin("https://[::1]") == ("https", "::1", 443)
    assert [read_authority(text) for text in ("-a", "a:b", "a b", "[zz]", "a/b", "é")] == [None] * 6
    assert [read_origin(text) for text in ("ftp://a", "https://", "https://a/b", "a", "https://u@a")] == [None] * 5


async def test_h5_servers_share_the_rate_limits() -> None:
    clock, servers = ManualClock(), 1
    limiter = RateLimiter(10, 20, clock, sharing=lambda: servers)
    assert [limiter.take("ann") > 0 for _ in range(21)].index(True) == 20
    servers = 4
    assert [limiter.take("bob") > 0 for _ in range(6)].index(True) == 5, "its part of the burst"
    assert limiter.wait("bob") == pytest.approx(0.4), "and of the rate"
