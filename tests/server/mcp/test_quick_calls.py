"""Calls that end soon are answered without a stream; for others the transport takes over, and nothing is lost."""

import asyncio
from typing import Any

import httpx2
import pytest

from callboard import Runtime, ToolContext, tool
from callboard.protocols.mcp.tool_call import ToolCall
from tests.server.conftest import DEADLINE, Served, serve, until
from tests.server.mcp.stage import ERAS, Gates, connected, stage, text_of
from tests.server.mcp.test_http import ACCEPT, initialize, list_tools

pytestmark = pytest.mark.anyio

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TIME = "callboard.protocols.mcp.tool_call.QUICK"
CANCELLED = -32800


async def open_connection(served: Served, user: str = "ann") -> str:
    """Open a connection whose calls may be quick: the transport has handled a request of it."""
    connection = await initialize(served, user)
    await list_tools(served, user, connection)
    return connection


async def call(served: Served, connection: str | None, name: str, user: str = "ann", **arguments: Any) -> Any:
    """Call a tool on a connection, or without one."""
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    headers = {**ACCEPT, "x-user": user}
    if connection is None:
        params["_meta"] = META
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name}
    else:
        headers |= {"mcp-protocol-version": "2025-11-25", "mcp-session-id": connection}
    body = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}
    return await served.client.post("/mcp", json=body, headers=headers)


def is_stream(response: httpx2.Response) -> bool:
    return response.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize("era", ERAS)
async def test_h4_quick_call_is_answered_with_json(era: str) -> None:
    async with stage(Gates()) as served:
        connection = await open_connection(served) if era == "legacy" else None
        response = await call(served, connection, "add", a=1, b=2)
        assert response.headers["content-type"] == "application/json"
        assert response.headers.get("mcp-session-id") == connection
        assert (response.json()["id"], response.json()["result"]["structuredContent"]) == (5, {"result": 3})
        unknown = await call(served, connection, "nothing")
        assert unknown.json()["error"] == {"code": -32602, "message": "Unknown tool: nothing"}
        assert unknown.status_code == (200 if connection else 400)


@pytest.mark.parametrize("era", ERAS)
async def test_h4_call_that_reports_has_a_stream(era: str) -> None:
    seen: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async with stage(Gates()) as served, connected(served, era) as client:
        await client.list_tools()
        result = await client.call_tool("steps", {"fractions": [0.25, 0.75]}, progress_callback=note)
        assert text_of(result) == "done"
        await until(lambda: seen == [25.0, 75.0])
        assert len(served.runtime.manager.live) == 0


@pytest.mark.parametrize("era", ERAS)
async def test_h4_transport_takes_over_the_same_call(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TIME, 0.0)
    began, go_on, calls = asyncio.Event(), asyncio.Event(), list[str]()

    @tool
    async def wait() -> str:
        """Wait for an event."""
        calls.append("called")
        began.set()
        await go_on.wait()
        return "at last"

    async with serve(Runtime([wait])) as served:
        connection = await open_connection(served) if era == "legacy" else None
        calling = asyncio.create_task(call(served, connection, "wait"))
        async with asyncio.timeout(DEADLINE):
            await began.wait()
        go_on.set()
        response = await calling
        assert "at last" in response.text
        assert is_stream(response) == (connection is not None)  # the other era has streams for notifications only
        assert calls == ["called"]


async def test_h4_x8_request_is_cancelled_during_its_head_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TIME, 60.0)
    gates = Gates()
    async with stage(gates) as served:
        connection = await open_connection(served)
        calling = asyncio.create_task(call(served, connection, "hang"))
        await gates.reached("hanging")
        headers = {**ACCEPT, "x-user": "ann", "mcp-session-id": connection}
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
        await served.client.post("/mcp", json=cancelled, headers=headers)
        await gates.reached("stopped")
        assert (await calling).json()["error"]["code"] == CANCELLED


async def test_h4_x8_call_of_a_connection_that_ends_during_its_head_start_is_cancelled() -> None:
    gates = Gates()
    async with stage(gates) as served:
        connection = await open_connection(served)
        calling = asyncio.create_task(call(served, connection, "hang"))
        await gates.reached("hanging")
        await served.client.delete("/mcp", headers={"x-user": "ann", "mcp-session-id": connection})
        await gates.reached("stopped")
        assert (await calling).status_code == 404


async def test_h4_h5_quick_call_needs_a_connection_of_its_user() -> None:
    async with stage(Gates()) as served:
        connection = await open_connection(served)
        assert (await call(served, connection, "add", "bob", a=1, b=2)).status_code == 404
        await served.client.delete("/mcp", headers={"x-user": "ann", "mcp-session-id": connection})
        assert (await call(served, connection, "add", a=1, b=2)).status_code == 404


async def test_h4_transport_is_used_before_it_ends_an_idle_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(Gates()) as served:
        connection = await open_connection(served)
        assert not is_stream(await call(served, connection, "add", a=1, b=2))
    monkeypatch.setattr("callboard.protocols.mcp.http_server.REFRESH_AFTER", -1.0)
    async with stage(Gates()) as served:
        connection = await open_connection(served)
        assert is_stream(await call(served, connection, "add", a=1, b=2))


async def test_h4_slow_tool_has_head_starts_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    run_quickly = ToolCall.run_quickly

    async def note(call: ToolCall, arguments: dict[str, Any]) -> dict[str, Any] | None:
        tried.append("tried")
        return await run_quickly(call, arguments)

    monkeypatch.setattr(ToolCall, "run_quickly", note)
    is_slow = True

    @tool
    async def report(ctx: ToolContext) -> str:
        """Report, which needs a stream."""
        if is_slow:
            await ctx.progress("half", 0.5)
        return "done"

    async with serve(Runtime([report])) as served:
        for _ in range(1 + 1 + 1 + 3 + 1):
            assert "done" in (await call(served, None, "report")).text
        assert len(tried) == 3
        is_slow = False
        for _ in range(7 + 1 + 5):  # the first head start that is enough ends the wait
            await call(served, None, "report")
        assert len(tried) == 3 + 1 + 5
