"""The state that the server keeps for clients: however large and however many the messages are, it stays small."""

import gc
import json
from typing import Any

import anyio
import httpx2
import pytest
from mcp import types
from mcp.shared.message import SessionMessage
from starlette.requests import Request

from callboard import Runtime
from callboard.protocols.mcp import connections
from callboard.protocols.mcp.connections import Connections
from callboard.protocols.mcp.resumption import MAX_BYTES, ConnectionMessages
from callboard.protocols.mcp.server import McpServer
from callboard.protocols.mcp.stdio import RuntimeSessions
from tests.server.conftest import DEADLINE, TOOLS, Served, until
from tests.server.mcp.stage import Gates, connected, following, stage
from tests.server.mcp.test_http import ACCEPT, INITIALIZE, initialize, list_tools

pytestmark = pytest.mark.anyio

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
MEGABYTE = "x" * 1_000_000
PARAMS: dict[str, Any] = INITIALIZE["params"]  # pyright: ignore[reportAssignmentType]
LARGE: dict[str, dict[str, Any]] = {
    "name": {"clientInfo": {"name": MEGABYTE, "version": "1"}},
    "icons": {"clientInfo": {"name": "a", "version": "1", "icons": [{"src": f"data:image/png,{MEGABYTE}"}]}},
    "experimental": {"capabilities": {"experimental": {"a": {"b": MEGABYTE}}}},
    "meta": {"_meta": {"a": MEGABYTE}},
    "values": {"capabilities": {"experimental": {"a": {"b": [[]] * 10_000}}}},
}


async def post(served: Served, message: Any, connection: str | None = None, padding: int = 0) -> httpx2.Response:
    """Send a message as Ann, followed by white space."""
    headers = {**ACCEPT, "x-user": "ann", "content-type": "application/json"}
    if connection is not None:
        headers["mcp-session-id"] = connection
    body = json.dumps(message).encode() + b" " * padding
    return await served.client.post("/mcp", content=body, headers=headers)


def data_of(response: httpx2.Response) -> Any:
    """Return the last message of a stream."""
    lines = [line for line in response.text.splitlines() if line.startswith("data: {")]
    return json.loads(lines[-1].removeprefix("data: "))


def large_messages() -> int:
    """Return the number of large requests and responses that are in memory."""
    gc.collect()
    objects = gc.get_objects()
    requests = sum(len(getattr(each, "_body", b"")) > 100_000 for each in objects if isinstance(each, Request))
    responses = [each for each in objects if isinstance(each, types.JSONRPCResponse)]
    return requests + sum(len(each.model_dump_json()) > 100_000 for each in responses)


async def test_h4_h5_connection_that_repeats_its_notification_is_served_once() -> None:
    async with stage(Gates()) as served:
        connection = await initialize(served, "ann")
        for _ in range(20):
            assert (await post(served, INITIALIZED, connection)).status_code == 202
        assert (await list_tools(served, "ann", connection)).status_code == 200
        assert following(served.runtime) == 1
        await served.client.delete("/mcp", headers={"x-user": "ann", "mcp-session-id": connection})
        await until(lambda: not following(served.runtime))


async def test_h4_h5_client_on_standard_streams_that_repeats_its_notification_is_served_once() -> None:
    async with Runtime(TOOLS) as runtime:
        server = McpServer(Connections(RuntimeSessions(runtime, "ann")))
        to_server, reading = anyio.create_memory_object_stream[SessionMessage | Exception]()
        writing, from_server = anyio.create_memory_object_stream[SessionMessage]()

        async def send(message: dict[str, Any]) -> None:
            await to_server.send(SessionMessage(types.jsonrpc_message_adapter.validate_python(message)))

        with anyio.fail_after(DEADLINE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.run, reading, writing, server.create_initialization_options())
                await send(INITIALIZE)
                await from_server.receive()
                for _ in range(20):
                    await send(INITIALIZED)
                await send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
                await from_server.receive()
                assert following(runtime) == 1
                to_server.close()
        from_server.close()


async def test_h4_h5_notification_before_the_handshake_is_ignored() -> None:
    async with stage(Gates()) as served:
        wrong = await post(served, {**INITIALIZE, "params": {}})
        connection = wrong.headers["mcp-session-id"]
        assert data_of(wrong)["error"]["code"] == types.INVALID_PARAMS
        assert (await post(served, INITIALIZED, connection)).status_code == 202
        assert "result" in data_of(await post(served, INITIALIZE, connection))
        assert not following(served.runtime)
        await post(served, INITIALIZED, connection)
        await until(lambda: following(served.runtime) == 1)


@pytest.mark.parametrize("part", LARGE)
async def test_h4_h5_large_handshake_is_refused(part: str) -> None:
    async with stage(Gates()) as served:
        large = {**INITIALIZE, "params": {**PARAMS, **LARGE[part]}}
        connection = await initialize(served, "ann")
        for refused in (await post(served, large), await post(served, large, connection)):
            error = data_of(refused)["error"]
            assert error["code"] == types.INVALID_PARAMS
            assert "65,536 bytes" in error["message"]
        assert (await list_tools(served, "ann", connection)).status_code == 200
        await until(lambda: not large_messages())


async def test_h4_h5_large_notification_of_the_handshake_is_ignored() -> None:
    async with stage(Gates()) as served:
        connection = (await post(served, INITIALIZE)).headers["mcp-session-id"]
        assert (await post(served, INITIALIZED, connection, padding=1_000_000)).status_code == 202
        assert (await list_tools(served, "ann", connection)).status_code == 200
        assert not following(served.runtime)
        await until(lambda: not large_messages())


async def test_h4_h5_connection_does_not_keep_its_last_messages() -> None:
    async with stage(Gates()) as served:
        connection = await initialize(served, "ann")
        large = {"method": "tools/call", "params": {"name": "place", "arguments": {"name": MEGABYTE}}}
        response = data_of(await list_tools(served, "ann", connection, **large))
        assert response["result"]["structuredContent"] == {"name": MEGABYTE}
        await until(lambda: not large_messages())
        unknown = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": MEGABYTE}}
        assert (await post(served, unknown, connection)).status_code == 202
        await until(lambda: not large_messages())
        assert "result" in data_of(await list_tools(served, "ann", connection))


async def test_h4_h5_subscriptions_to_resources_that_never_change_are_not_kept() -> None:
    async with stage(Gates()) as served:
        connection = await initialize(served, "ann")
        for number in range(300):
            subscribe = {"method": "resources/subscribe", "params": {"uri": f"users://{number}"}}
            assert data_of(await list_tools(served, "ann", connection, **subscribe))["result"] == {}


async def test_h4_h5_long_names_of_clients_are_not_kept() -> None:
    info = types.Implementation(name=MEGABYTE, version="1")
    async with stage(Gates()) as served:
        connections._client_session.cache_clear()
        async with connected(served, "2026-07-28", client_info=info) as client:
            await client.call_tool("add", {"a": 1, "b": 2})
            await client.list_tools()
        assert connections._client_session.cache_info().currsize == 0
        (session,) = (await served.get("/api/sessions", x_user="ann")).json()["sessions"]
        assert session["session_id"].startswith("mcp-")


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_h4_h5_long_ids_and_progress_tokens_are_refused(version: str) -> None:
    async with stage(Gates()) as served:
        connection = await initialize(served, "ann")
        headers = {**ACCEPT, "x-user": "ann", "mcp-session-id": connection, "mcp-protocol-version": version}
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        long = "x" * 20_000
        for more in ({"id": long}, {"params": {"_meta": {"progressToken": long}}}):
            refused = await served.client.post("/mcp", json={**ping, **more}, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (413, "id_too_long")


async def test_h4_h5_long_ids_of_requests_count_as_bytes_that_can_be_resumed() -> None:
    messages = ConnectionMessages()
    ids = [await messages.store_event(f"{number}" + "x" * (MAX_BYTES // 2), None) for number in range(3)]

    async def ignore(_: Any) -> None: ...

    assert [await messages.replay_events_after(each, ignore) is None for each in ids] == [True, True, False]
