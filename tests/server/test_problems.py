"""Errors are problem documents with stable codes, and disclose nothing of other users or the host."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from callboard import CallboardError, Runtime
from callboard.server import connection
from callboard.server.app import create_app
from callboard.server.app_services import AppServices
from callboard.server.body_limits import BodyLimits
from callboard.server.identity import IdentityConfig, guard
from callboard.storage.errors import StoreError, StoreUnavailable
from tests.server.conftest import DEADLINE, TOOLS, Served, serve

pytestmark = pytest.mark.anyio


def problem(answer: httpx2.Response) -> tuple[int, str]:
    """Check that a response is a problem document. Returns its status and code."""
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == answer.status_code
    assert document["type"] == f"urn:callboard:problem:{document['code']}"
    assert document["title"]
    return answer.status_code, document["code"]


async def test_h6_unknown_paths_and_methods_are_problems(plain: Served) -> None:
    for path in ("/nowhere", "/api", "/api/sessions/", "/api/sessions/x/", "/api/chat/"):
        assert problem(await plain.get(path))[0] in (404, 405), path
    refused = await plain.client.request("PATCH", "/api/sessions")
    assert problem(refused) == (405, "method_not_allowed")
    assert refused.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b"{", "application/json", (400, "json_invalid")),
        (b"", "application/json", (400, "json_invalid")),
        (b"\xff\xfe", "application/json", (400, "json_invalid")),
        (b"[]", "application/json", (422, "invalid")),
        (b"null", "application/json; charset=utf-8", (422, "invalid")),
        (b'{"session_id":"s"}', "application/json", (422, "invalid")),
        (b'{"session_id":"s","message":"x","extra":1}', "application/json", (422, "invalid")),
        (b'{"session_id":5,"message":"x"}', "application/json", (422, "invalid")),
        (b'{"session_id":"s","message":"x"}', "text/plain", (415, "media_type")),
        (b'{"session_id":"s","message":"x"}', "", (415, "media_type")),
        (b"[" * 9_000, "application/json", (400, "json_invalid")),
        (b"[" * 100_000, "application/json", (413, "too_many_values")),
        (
            b'{"session_id":"s","message":"x","deep":' + b"[" * 150 + b"]" * 150 + b"}",
            "application/json",
            (422, "invalid"),
        ),
        (b'{"session_id":"s","message":"x"}', "application/json", (404, "session_not_found")),
    ],
)
async def test_h6_invalid_bodies_are_problems(plain: Served, body: bytes, kind: str, expected: tuple[int, str]) -> None:
    headers = {"content-type": kind} if kind else {}
    assert problem(await plain.client.post("/api/chat", content=body, headers=headers)) == expected


async def test_h5_documents_are_bounded_in_their_depth(plain: Served) -> None:
    await plain.session("deep")
    for depth, expected in ((90, 200), (110, 422), (190, 422)):
        value: Any = '"[[["'
        for _ in range(depth // 2):
            value = [{"a": value}]
        call = {"session_id": "deep", "tool": "shout", "arguments": {"text": value}}
        assert (await plain.post("/api/executions", call)).status_code == expected
    assert (await plain.get("/api/state", {"session_id": "deep"})).status_code == 200


async def test_h6_violations_have_their_paths(plain: Served) -> None:
    answer = await plain.post("/api/sessions", {"session_id": "", "namespaces": [1], "more": 2})
    assert problem(answer) == (422, "invalid")
    assert {each["path"] for each in answer.json()["errors"]} == {"session_id", "namespaces[0]", "more"}


@pytest.mark.parametrize(
    "query", ["", "session_id=a&session_id=b", "session_id=a&other=1", "session_id=a&limit=0", "&".join(["x=1"] * 50)]
)
async def test_h6_invalid_queries_are_problems(plain: Served, query: str) -> None:
    assert problem(await plain.get(f"/api/state?{query}")) == (422, "invalid")


async def test_h6_unavailable_store_is_a_temporary_problem(plain: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(*args: Any, **options: Any) -> Any:
        raise StoreUnavailable("postgresql://user:secret@db.internal is not reached")

    monkeypatch.setattr(plain.runtime.store, "sessions", gone)
    answer = await plain.get("/api/sessions")
    assert problem(answer) == (503, "store_unavailable")
    assert int(answer.headers["retry-after"]) > 0
    assert "secret" not in answer.text
    assert "internal" not in answer.text
    assert problem(await plain.get("/readyz")) == (503, "not_ready")
    assert (await plain.get("/healthz")).status_code == 200


async def test_h6_internal_error_discloses_nothing(plain: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    for error, expected in ((ValueError("/etc/secret"), (500, "internal")), (StoreError("/var/db"), (503, "store"))):

        async def fail(*args: Any, error: Exception = error, **options: Any) -> Any:
            raise error

        monkeypatch.setattr(plain.runtime.store, "sessions", fail)
        answer = await plain.get("/api/sessions")
        assert problem(answer) == expected
        assert "/etc" not in answer.text
        assert "/var" not in answer.text
        assert "Traceback" not in answer.text


async def test_h5_responses_of_the_api_are_not_cached_also_below_another_path(plain: Served) -> None:
    app = Starlette(routes=[Mount("/board", plain.app)])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://board") as client:
        for path in ("/board/api/sessions", "/board/healthz"):
            answer = await client.get(path)
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["content-security-policy"].startswith("default-src 'none'")


async def test_h6_every_response_has_security_headers(plain: Served) -> None:
    for answer in (await plain.get("/healthz"), await plain.get("/nowhere"), await plain.get("/api/state")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "default-src" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers
    assert (await plain.get("/api/tools")).headers["cache-control"] == "no-store"


async def test_h5_bodies_are_bounded_with_and_without_a_declared_length() -> None:
    async with serve(Runtime(TOOLS), limits=BodyLimits(size=1000)) as served:

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b"x" * 100

        headers = {"content-type": "application/json"}
        with_length = await served.client.post("/api/sessions", content=b"x" * 1001, headers=headers)
        assert problem(with_length) == (413, "body_too_large")
        without_length = await served.client.post("/api/sessions", content=pieces(), headers=headers)
        assert problem(without_length) == (413, "body_too_large")
        assert (await served.post("/api/sessions", {"session_id": "x" * 150})).status_code == 201


async def raw_response(port: int, *pieces: bytes) -> bytes:
    """Return the raw response of a server until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
        async with asyncio.timeout(DEADLINE):
            return await reader.read(-1)
    finally:
        writer.close()


async def test_h5_body_that_does_not_arrive_times_out() -> None:
    async with serve(Runtime(TOOLS), limits=BodyLimits(seconds=0.2)) as served:
        head = b"POST /api/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 50\r\n"
        said = await raw_response(served.port, head, b"\r\n{")
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"body_too_slow"' in said


async def test_h5_head_that_does_not_arrive_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    async with serve(Runtime(TOOLS)) as served:
        assert await raw_response(served.port) == b""
        assert await raw_response(served.port, b"GET /healthz HTTP/1.1\r\nhost: loc") == b""


@pytest.mark.parametrize(
    "head",
    [
        b"".join(b"x-%d: y\r\n" % number for number in range(200)),
        b"x: " + b"y" * 200_000,
        b"".join(b"x%d: %b\r\n" % (number, b"y" * 5_000) for number in range(50)),
    ],
)
async def test_h5_heads_are_bounded(plain: Served, head: bytes) -> None:
    said = await raw_response(plain.port, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n", head)
    assert said.startswith(b"HTTP/1.1 431 ")
    assert said.count(b"HTTP/1.1") == 1
    assert b'"code":"head_too_large"' in said


async def test_h5_invalid_http_is_refused(plain: Served) -> None:
    assert (await raw_response(plain.port, b"\x16\x03\x01 hello\r\n\r\n")).startswith(b"HTTP/1.1 400 ")


async def test_h6_internal_error_is_logged_and_reported_without_its_reason(
    plain: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise CallboardError("the secret reason")

    monkeypatch.setattr(AppServices, "find", fails)
    with_length = await plain.get("/api/state", {"session_id": "s"})
    assert (with_length.status_code, with_length.json()["code"]) == (500, "internal")
    assert "secret" not in with_length.text
    assert "the secret reason" in caplog.text


async def test_h5_internal_error_has_the_headers_of_other_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object) -> None:
        raise ValueError("the secret reason")

    origin = "https://app.example.com"
    async with Runtime(TOOLS) as runtime:
        app = create_app(runtime, guard=lambda inner: guard(inner, IdentityConfig(origins=(origin,)), runtime.store))
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            missing = await client.get("/api/state?session_id=s", headers={"origin": origin})
            monkeypatch.setattr(AppServices, "find", fails)
            failed = await client.get("/api/state?session_id=s", headers={"origin": origin})
    assert (missing.status_code, failed.status_code) == (404, 500)
    assert failed.headers["access-control-allow-origin"] == origin
    assert {**failed.headers, "content-length": ""} == {**missing.headers, "content-length": ""}
