"""The HTTP side of MCP: identity, ownership of connections, limits of bodies, the start and the drain."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest

from callboard import Runtime
from callboard.server.app import create_app
from callboard.server.identity import IdentityConfig, guard
from tests.server.conftest import TOOLS, Served, serve, until
from tests.server.mcp.stage import Gates, connected, following, stage, text_of

pytestmark = pytest.mark.anyio

ACCEPT = {"accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


async def initialize(served: Served, user: str) -> str:
    """Open a connection of the handshake era, and return its id."""
    headers = {**ACCEPT, "x-user": user}
    opened = await served.client.post("/mcp", json=INITIALIZE, headers=headers)
    headers["mcp-session-id"] = opened.headers["mcp-session-id"]
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await served.client.post("/mcp", json=done, headers=headers)).status_code == 202
    return headers["mcp-session-id"]


async def list_tools(served: Served, user: str, connection: str, **more: Any) -> httpx2.Response:
    headers = {**ACCEPT, "x-user": user, "mcp-session-id": connection}
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", **more}
    return await served.client.post("/mcp", json=body, headers=headers)


async def test_h4_h5_connection_of_another_user_is_not_found() -> None:
    async with stage(Gates()) as served:
        connection = await initialize(served, "ann")
        assert (await list_tools(served, "ann", connection)).status_code == 200
        stranger, unknown = await list_tools(served, "bob", connection), await list_tools(served, "ann", "0" * 32)
        assert (stranger.status_code, stranger.json()) == (unknown.status_code, unknown.json())
        assert stranger.status_code == 404
        ended = await served.client.delete("/mcp", headers={"x-user": "bob", "mcp-session-id": connection})
        assert ended.status_code == 404
        assert (await list_tools(served, "ann", connection)).status_code == 200


async def test_h4_h5_requests_need_a_key_and_a_known_host_and_origin() -> None:
    async with Runtime(TOOLS) as runtime:
        config = IdentityConfig(hosts=("board.example.com",), jwks=None)
        app = create_app(runtime, guard=lambda inner: guard(inner, config, runtime.store, clock=runtime.clock))
        transport = httpx2.ASGITransport(app, client=("192.0.2.1", 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://board.example.com") as client:
            assert (await client.post("/mcp", json=INITIALIZE, headers=ACCEPT)).status_code == 401
            evil = {**ACCEPT, "host": "evil.example.com"}
            assert (await client.post("/mcp", json=INITIALIZE, headers=evil)).json()["code"] == "host_not_allowed"
            page = {**ACCEPT, "origin": "https://evil.example.com"}
            assert (await client.post("/mcp", json=INITIALIZE, headers=page)).json()["code"] == "origin_not_allowed"


async def test_h4_h6_bodies_are_limited() -> None:
    async with stage(Gates()) as served:
        connection = await initialize(served, "ann")
        large = await list_tools(served, "ann", connection, params={"cursor": "x" * 5_000_000})
        many = await list_tools(served, "ann", connection, params={"_meta": {"a": [0] * 300_000}})
        assert (large.status_code, large.json()["code"]) == (413, "body_too_large")
        assert (many.status_code, many.json()["code"]) == (413, "too_many_values")
        headers = {**ACCEPT, "content-type": "application/json", "mcp-session-id": connection, "x-user": "ann"}
        for body in (b"", b"{", b"[]", b"null", b'{"jsonrpc":"2.0"}', b"[" * 5_000, b'"\xff"'):
            assert (await served.client.post("/mcp", content=body, headers=headers)).status_code == 400
        assert (await list_tools(served, "ann", connection)).status_code == 200


async def test_h4_h5_connections_of_a_user_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callboard.protocols.mcp.user_connections.MAX_PER_USER", 2)
    async with stage(Gates()) as served:
        first, _ = await initialize(served, "ann"), await initialize(served, "ann")
        headers = {**ACCEPT, "x-user": "ann"}
        refused = await served.client.post("/mcp", json=INITIALIZE, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_connections")
        await initialize(served, "bob")
        assert (await list_tools(served, "ann", first)).status_code == 200
        await served.client.delete("/mcp", headers={**headers, "mcp-session-id": first})
        await initialize(served, "ann")


async def test_h4_lost_response_is_resumed_by_its_own_connection_only() -> None:
    gates = Gates()
    async with stage(gates) as served:
        connection, other = await initialize(served, "ann"), await initialize(served, "bob")
        headers = {**ACCEPT, "x-user": "ann", "mcp-session-id": connection, "mcp-protocol-version": "2025-11-25"}
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "slow", "arguments": {}}}
        async with served.client.stream("POST", "/mcp", json=call, headers=headers) as response:
            lines = [line async for line in _until_empty(response)]
            assert "retry: 1000" in lines
        (number,) = (line.removeprefix("id: ") for line in lines if line.startswith("id: "))
        await gates.reached("slow began")
        gates["slow"].set()
        await until(lambda: not served.runtime.manager.live)
        again = {**headers, "accept": "text/event-stream", "last-event-id": number}
        async with served.client.stream("GET", "/mcp", headers=again) as response:
            lines = [line async for line in _until_empty(response)]
            assert any("at last" in line for line in lines)
        stolen = {**again, "x-user": "bob", "mcp-session-id": other}
        async with served.client.stream("GET", "/mcp", headers=stolen) as response:
            assert not any("at last" in line for line in [line async for line in _until_empty(response)])


async def _until_empty(response: httpx2.Response) -> AsyncGenerator[str]:
    """Yield the lines of the first event of a stream."""
    async for line in response.aiter_lines():
        if not line:
            return
        yield line


async def test_h4_ping_is_answered() -> None:
    async with stage(Gates()) as served:
        connection = await initialize(served, "ann")
        response = await list_tools(served, "ann", connection, method="ping")
        assert 'data: {"jsonrpc":"2.0","id":2,"result":{}}' in response.text.splitlines()


async def test_h4_streams_end_when_the_server_drains() -> None:
    gates = Gates()
    async with stage(gates) as served:
        connection = await initialize(served, "ann")
        headers = {"accept": "text/event-stream", "x-user": "ann", "mcp-session-id": connection}
        async with served.client.stream("GET", "/mcp", headers=headers) as response:
            assert response.status_code == 200
            served.services.drain()
            async with asyncio.timeout(90):
                assert b"".join([piece async for piece in response.aiter_bytes()]).strip() in (b"", b": ping")


async def test_h4_call_survives_the_drain_of_streams() -> None:
    gates = Gates()
    async with stage(gates) as served, connected(served, "legacy") as client:
        calling = asyncio.create_task(client.call_tool("slow", {}))
        await gates.reached("slow began")
        served.services.drain()
        gates["slow"].set()
        assert text_of(await calling) == "at last"


async def test_h4_connection_leaves_no_task_behind() -> None:
    async with stage(Gates()) as served:
        async with connected(served, "legacy") as client:
            await client.list_tools()
        await until(lambda: not following(served.runtime))


async def test_h4_without_its_lifespan_the_mount_is_not_available() -> None:
    async with Runtime(TOOLS) as runtime:
        transport = httpx2.ASGITransport(create_app(runtime))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            response = await client.post("/mcp", json=INITIALIZE, headers=ACCEPT)
    assert (response.status_code, response.json()["code"]) == (503, "not_ready")


async def test_h4_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "callboard.protocols.mcp.http_server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.auth.provider", None)
    async with serve(Runtime(TOOLS)) as served:
        response = await served.client.post("/mcp", json=INITIALIZE, headers=ACCEPT)
    assert response.status_code == 501
    assert 'pip install "callboard[mcp]"' in response.json()["detail"]


def test_h4_serving_does_not_import_the_sdk_before_the_first_request() -> None:
    code = (
        "import sys; from callboard import Runtime; from callboard.server.app import create_app; "
        "create_app(Runtime()); print('mcp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


async def test_h4_h5_session_of_a_client_cannot_be_taken_by_another_user() -> None:
    async with stage(Gates()) as served:
        async with connected(served, "2026-07-28") as client:
            await client.call_tool("add", {"a": 1, "b": 2})
        (session,) = (await served.get("/api/sessions", x_user="ann")).json()["sessions"]
        async with connected(served, "2026-07-28", user="bob") as client:
            await client.call_tool("add", {"a": 1, "b": 2})
        (other,) = (await served.get("/api/sessions", x_user="bob")).json()["sessions"]
        assert session["session_id"] != other["session_id"]
    async with stage(Gates()) as served:  # bob computes the id, and creates the session first
        await served.session(session["session_id"], x_user="bob")
        async with connected(served, "2026-07-28") as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
        (own,) = (await served.get("/api/sessions", x_user="ann")).json()["sessions"]
        assert own["session_id"].startswith(f"{session['session_id']}-")
