"""The tasks extension: background calls as tasks, which are polled, answered and cancelled."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY

from callboard import Runtime, ToolContext, ToolError, tool
from callboard.protocols.mcp.capabilities import TASK_REQUIRED
from tests.server.conftest import Served, serve, until
from tests.server.mcp.stage import Gates, connected, stage, text_of, tools
from tests.server.mcp.task_client import State, Task, TaskExtension, call_task, request_task

pytestmark = pytest.mark.anyio

ERA = "2026-07-28"


async def never(*_: Any) -> types.ElicitResult:
    raise AssertionError


async def ended(client: Client, served: Served, task: Task) -> State:
    await until(lambda: not served.runtime.manager.live)
    return await request_task(client, "get", task.task_id)


async def test_h4_m2_background_call_becomes_a_task(store_url: str) -> None:
    gates = Gates()
    async with (
        stage(gates, store_url) as served,
        connected(served, ERA, extensions=[TaskExtension()]) as client,
    ):
        listed = {each.name: each for each in (await client.list_tools()).tools}
        assert listed["build"].output_schema is not None
        task = await call_task(client, "build", {"what": "house"})
        assert isinstance(task, Task)
        working = await request_task(client, "get", task.task_id)
        assert (working.task_id, working.status, working.result) == (task.task_id, "working", None)
        assert working.ttl_ms is not None
        gates["house"].set()
        state = await ended(client, served, task)
        assert state.status == "completed"
        assert state.result is not None
        assert (state.result["structuredContent"], state.result["isError"]) == ({"name": "house"}, False)


async def test_h4_m1_inline_call_becomes_a_task_after_its_budget() -> None:
    gates = Gates()
    async with stage(gates) as served, connected(served, ERA, extensions=[TaskExtension()]) as client:
        assert not isinstance(await call_task(client, "add", {"a": 1, "b": 2}), Task)
        task = await call_task(client, "slow", {})
        assert isinstance(task, Task)
        gates["slow"].set()
        state = await ended(client, served, task)
        assert state.result is not None
        assert state.result["content"][0]["text"] == "at last"


async def test_h4_x8_task_is_cancelled_once_and_acknowledged_each_time() -> None:
    async with stage(Gates()) as served, connected(served, ERA, extensions=[TaskExtension()]) as client:
        task = await call_task(client, "build", {"what": "house"})
        for _ in range(2):
            acknowledged = await request_task(client, "cancel", task.task_id)
            assert (acknowledged.status, acknowledged.task_id) == ("", "")
        assert (await ended(client, served, task)).status == "cancelled"


async def test_h4_x4_error_of_a_tool_completes_the_task_and_a_fault_fails_it() -> None:
    @tool(mode="background")
    async def refused() -> str:
        """Fail as foreseen."""
        raise PermissionError("secret")

    @tool(mode="background")
    async def faulty() -> str:
        """Fail for a reason that is not the tool's."""
        raise ToolError("The system failed.", category="unknown", report="secret")

    async with (
        serve(Runtime([refused, faulty])) as served,
        connected(served, ERA, extensions=[TaskExtension()]) as client,
    ):
        known = await ended(client, served, await call_task(client, "refused", {}))
        fault = await ended(client, served, await call_task(client, "faulty", {}))
    assert known.result is not None
    assert (known.status, known.result["isError"], known.error) == ("completed", True, None)
    assert fault.error is not None
    assert (fault.status, fault.error["code"], fault.result) == ("failed", types.INTERNAL_ERROR, None)
    assert "secret" not in f"{known}{fault}"


async def test_h4_m3_task_asks_its_client_and_goes_on_when_all_answers_are_there() -> None:
    @tool(mode="background")
    async def decorate(ctx: ToolContext) -> str:
        """Ask for two colours at once."""
        chosen = await asyncio.gather(*(ctx.call("choose", {"question": each}) for each in ("Hall?", "Attic?")))
        return " and ".join(each["colour"] for each in chosen)

    async with (
        serve(Runtime([*tools(Gates()), decorate])) as served,
        connected(served, ERA, extensions=[TaskExtension()], elicitation_callback=never) as client,
    ):
        task = await call_task(client, "decorate", {})
        state = await request_task(client, "get", task.task_id)
        assert (state.status, len(state.input_requests or {})) == ("input_required", 2)
        assert state.input_requests is not None
        first, second = state.input_requests
        assert state.input_requests[first]["method"] == "elicitation/create"
        red, green = ({"action": "accept", "content": {"colour": each}} for each in ("red", "green"))
        await request_task(client, "update", task.task_id, {first: red, "unknown": green})
        await request_task(client, "update", task.task_id, {second: {"action": "accept", "content": {"colour": "x"}}})
        state = await request_task(client, "get", task.task_id)
        assert (state.status, list(state.input_requests or {})) == ("input_required", [second])
        await request_task(client, "update", task.task_id, {second: green})
        state = await ended(client, served, task)
        assert state.result is not None
        assert sorted(state.result["content"][0]["text"].split(" and ")) == ["green", "red"]


async def test_h4_m3_task_that_its_client_cannot_answer_tells_where_to() -> None:
    async with stage(Gates()) as served, connected(served, ERA, extensions=[TaskExtension()]) as client:
        task = await call_task(client, "pay", {"amount": 5})
        state = await request_task(client, "get", task.task_id)
        (request,) = (await served.get("/api/requests", x_user="ann")).json()["requests"]
        assert (state.status, state.input_requests) == ("working", None)
        assert request["request_id"] in str(state.status_message)


async def test_h4_m3_client_asks_before_the_call_becomes_a_task() -> None:
    async with (
        stage(Gates()) as served,
        connected(served, ERA, extensions=[TaskExtension()], elicitation_callback=never) as client,
    ):
        asked = await call_task(client, "pay", {"amount": 5})
        assert isinstance(asked, types.InputRequiredResult)
        yes: Any = {"pay": types.ElicitResult(action="accept", content={"approved": True})}
        result = await client.session.call_tool(
            "pay", {"amount": 5}, input_responses=yes, request_state=asked.request_state
        )
        assert text_of(result) == "paid 5"


async def test_h4_e5_task_survives_its_server(tmp_path: Any) -> None:
    gates, store = Gates(), f"sqlite:///{tmp_path / 'board.db'}"
    async with stage(gates, store) as served, connected(served, ERA, extensions=[TaskExtension()]) as client:
        done, open_ = await call_task(client, "build", {"what": "hut"}), await call_task(client, "pay", {"amount": 5})
        gates["hut"].set()
        await until(lambda: len(served.runtime.manager.live) == 1)
    options: Any = {"extensions": [TaskExtension()], "elicitation_callback": never}
    async with stage(Gates(), store) as served, connected(served, ERA, **options) as client:
        state = await request_task(client, "get", done.task_id)
        assert state.result is not None
        assert state.result["structuredContent"] == {"name": "hut"}
        state = await request_task(client, "get", open_.task_id)
        assert state.input_requests is not None
        (request_id,) = state.input_requests
        await request_task(
            client, "update", open_.task_id, {request_id: {"action": "accept", "content": {"approved": True}}}
        )

        async def paid() -> bool:
            state = await request_task(client, "get", open_.task_id)
            return state.result is not None and state.result["content"][0]["text"] == "paid 5"

        while not await paid():
            pass


async def test_h4_h5_unknown_task_and_that_of_another_user_are_not_found() -> None:
    async with stage(Gates()) as served:
        async with connected(served, ERA, extensions=[TaskExtension()]) as client:
            task = await call_task(client, "build", {"what": "house"})
        sessions = (await served.get("/api/sessions", x_user="bob")).json()["sessions"]
        async with connected(served, ERA, user="bob", extensions=[TaskExtension()]) as stranger:
            for task_id in (task.task_id, "nothing", "nothing@nowhere", f"x{task.task_id}", "@", "a@\x00"):
                for method in ("get", "update", "cancel"):
                    with pytest.raises(MCPError, match="There is no task") as caught:
                        await request_task(stranger, method, task_id, {})
                    assert caught.value.code == types.INVALID_PARAMS
        assert (await served.get("/api/sessions", x_user="bob")).json()["sessions"] == sessions == []
        assert len(served.runtime.manager.live) == 1


async def test_h4_tasks_need_the_extension_and_its_era() -> None:
    @tool(mode="background", tags=[TASK_REQUIRED])
    async def long() -> str:
        """Take long."""
        return "done"

    async with serve(Runtime([long])) as served:
        async with connected(served, ERA) as client:
            for method in ("get", "update", "cancel"):
                with pytest.raises(MCPError) as caught:
                    await request_task(client, method, "any", {})
                assert caught.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
            with pytest.raises(MCPError) as caught:
                await client.call_tool("long", {})
            assert caught.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
            assert "io.modelcontextprotocol/tasks" in json.dumps(caught.value.data)
            with pytest.raises(MCPError) as caught:
                await request_task(client, "list", "any")
            assert caught.value.code == types.METHOD_NOT_FOUND
        async with connected(served, "legacy") as client:
            with pytest.raises(MCPError) as caught:
                await request_task(client, "get", "any")
            assert caught.value.code == types.METHOD_NOT_FOUND


async def test_h4_header_that_names_another_task_is_refused() -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": ERA,
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": "a@b", "_meta": meta}}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": ERA,
        "mcp-method": "tasks/get",
    }

    async def code(served: Served, **more: str) -> tuple[int, int]:
        response: httpx2.Response = await served.client.post(
            "/mcp", json=body, headers={**headers, **{name.replace("_", "-"): more[name] for name in more}}
        )
        return response.status_code, response.json()["error"]["code"]

    async with stage(Gates()) as served:
        assert await code(served) == (400, types.INVALID_PARAMS)  # some clients do not send it
        assert await code(served, mcp_name="c@d") == (400, HEADER_MISMATCH)
        assert await code(served, mcp_name="a@b") == (400, types.INVALID_PARAMS)
