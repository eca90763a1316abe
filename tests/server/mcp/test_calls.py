"""Calls through the SDK's client over HTTP, in both eras: results, errors, progress, logs and cancellation."""

import asyncio
import json
from typing import Any

import pytest
from mcp import types
from mcp.shared.exceptions import MCPError

from callboard import RetryPolicy, Runtime, ToolError, tool
from callboard.errors import RegistrationError
from tests.server.conftest import serve, until
from tests.server.mcp.stage import ERAS, Gates, connected, stage, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]


async def test_h4_tools_are_listed_with_schemas_and_hints(era: str) -> None:
    async with stage(Gates()) as served, connected(served, era) as client:
        listed = {each.name: each for each in (await client.list_tools()).tools}
    add, place = listed["add"], listed["place"]
    assert (add.title, add.description) == ("Add", "Add two numbers.")
    assert add.input_schema["required"] == ["a", "b"]
    assert add.output_schema == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }
    assert add.annotations is not None
    assert (add.annotations.read_only_hint, add.annotations.idempotent_hint) == (True, True)
    assert (add.annotations.open_world_hint, add.annotations.destructive_hint) == (False, None)
    assert place.output_schema is not None
    assert place.output_schema["properties"]["name"]["type"] == "string"
    assert listed["broken"].annotations is not None
    assert listed["broken"].annotations.destructive_hint is True
    assert listed["build"].output_schema is None  # it may be acknowledged
    assert {"task_result", "task_status", "task_list", "cancel_task"} <= listed.keys()


async def test_h4_results_are_text_and_structured_content(era: str) -> None:
    async with stage(Gates()) as served, connected(served, era) as client:
        number, place = await client.call_tool("add", {"a": 1, "b": 2}), await client.call_tool("place", {"name": "Ur"})
    assert (text_of(number), number.structured_content, number.is_error) == ("3", {"result": 3}, False)
    assert (text_of(place), place.structured_content) == ('{"name":"Ur"}', {"name": "Ur"})


async def test_h4_x4_errors_are_results_without_details_of_the_host(era: str) -> None:
    async with stage(Gates()) as served, connected(served, era) as client:
        wrong = await client.call_tool("add", {"a": "x", "b": 2})
        known = await client.call_tool("broken", {"how": "known"})
        unknown = await client.call_tool("broken", {"how": "unknown"})
    assert wrong.is_error
    assert known.is_error
    assert unknown.is_error
    assert json.loads(text_of(wrong))["details"][0]["path"] == "a"
    assert json.loads(text_of(known)) == {
        "category": "permanent",
        "message": "The shop is closed.",
        "details": {"until": "9:00"},
    }
    assert "hidden" not in unknown.model_dump_json()
    assert "Traceback" not in unknown.model_dump_json()


async def test_h4_g6_unknown_tool_is_a_protocol_error_and_recorded(era: str) -> None:
    async with stage(Gates()) as served, connected(served, era) as client:
        with pytest.raises(MCPError, match="Unknown tool: nothing") as caught:
            await client.call_tool("nothing", {})
        assert caught.value.code == types.INVALID_PARAMS
        assert served.runtime.manager.unknown == 1


async def test_h4_calls_run_in_a_session_of_the_user(era: str) -> None:
    async with stage(Gates()) as served:
        async with connected(served, era) as first:
            await first.call_tool("add", {"a": 1, "b": 2})
        async with connected(served, era) as second:
            await second.call_tool("add", {"a": 3, "b": 4})
        async with connected(served, era, user="bob") as other:
            await other.call_tool("add", {"a": 5, "b": 6})
        listed = (await served.get("/api/sessions", x_user="ann")).json()["sessions"]
        calls = [
            (await served.get("/api/executions", {"session_id": each["session_id"]}, x_user="ann")).json()["executions"]
            for each in listed
        ]
    assert sorted(len(each) for each in calls) == ([1, 1] if era == "legacy" else [2])


async def test_h4_progress_is_reported_and_increases(era: str) -> None:
    seen: list[Any] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with stage(Gates()) as served, connected(served, era) as client:
        await client.call_tool("steps", {"fractions": [0.0, 0.5, 0.25, None, 1.0]}, progress_callback=report)
        counted, seen[:] = list(seen), []
        await client.call_tool("steps", {"fractions": [None, None]}, progress_callback=report)
    assert counted == [(0.0, 100.0, "first"), (50.0, 100.0, "step 1"), (100.0, 100.0, "step 4")]
    assert seen == [(0.0, None, "first"), (1.0, None, "step 1")]


async def test_h4_log_messages_follow_the_level_of_the_client(era: str) -> None:
    seen: list[types.LoggingMessageNotificationParams] = []

    async def log(message: types.LoggingMessageNotificationParams) -> None:
        seen.append(message)

    async def levels(client: Any, level: types.LoggingLevel) -> list[str]:
        seen.clear()
        if era == "legacy":
            request = types.SetLevelRequest(params=types.SetLevelRequestParams(level=level))
            await client.session.send_request(request, types.EmptyResult)
        await client.call_tool("steps", {"fractions": [0.5]}, meta={types.LOG_LEVEL_META_KEY: level})
        return [each.level for each in seen]

    async with stage(Gates()) as served, connected(served, era, logging_callback=log) as client:
        assert await levels(client, "debug") == ["info", "debug"]
        assert (seen[0].logger, seen[0].data["stage"], seen[0].data["fraction"]) == ("steps", "step 0", 0.5)
        assert await levels(client, "info") == ["info"]
        assert await levels(client, "warning") == []


async def test_h4_retries_of_a_tool_without_a_context_are_logged(era: str) -> None:
    seen: list[types.LoggingMessageNotificationParams] = []
    tries: list[int] = []

    async def log(message: types.LoggingMessageNotificationParams) -> None:
        seen.append(message)

    @tool(idempotent=True)
    async def flaky() -> str:
        """Fail once."""
        tries.append(1)
        if len(tries) == 1:
            raise ToolError("Busy.", category="transient")
        return "done"

    policy = RetryPolicy(base_delay=0.01)
    async with (
        serve(Runtime([flaky], retry=policy)) as served,
        connected(served, era, logging_callback=log) as client,
    ):
        result = await client.call_tool("flaky", {}, meta={types.LOG_LEVEL_META_KEY: "warning"})
    assert text_of(result) == "done"
    assert [(each.level, each.logger) for each in seen] == [("warning", "flaky")]


async def test_h4_x8_cancelled_request_cancels_the_handler(era: str) -> None:
    gates = Gates()
    async with stage(gates) as served, connected(served, era) as client:
        calling = asyncio.create_task(client.call_tool("hang", {}))
        await gates.reached("hanging")
        calling.cancel()
        await gates.reached("stopped")
        with pytest.raises(asyncio.CancelledError):
            await calling
        await until(lambda: not served.runtime.manager.live)
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}


async def test_h4_m1_inline_call_is_waited_for_beyond_its_budget(era: str) -> None:
    gates = Gates()
    async with stage(gates) as served, connected(served, era) as client:
        calling = asyncio.create_task(client.call_tool("slow", {}))
        await until(lambda: any(each.promoted for each in served.runtime.manager.live))
        gates["slow"].set()
        assert text_of(await calling) == "at last"


async def test_h4_m4_background_call_is_acknowledged_and_its_result_read_later(era: str) -> None:
    gates = Gates()
    async with stage(gates) as served, connected(served, era) as client:
        acknowledged = json.loads(text_of(await client.call_tool("build", {"what": "house"})))
        assert (acknowledged["status"], acknowledged["tool"]) == ("started", "build")
        assert "task_result" in acknowledged["next_step"]
        which = {"execution_id": acknowledged["execution_id"]}
        assert (await client.call_tool("task_status", which)).structured_content == {
            **which,
            "tool": "build",
            "status": "started",
        }
        gates["house"].set()
        await until(lambda: not served.runtime.manager.live)
        assert text_of(await client.call_tool("task_result", which)) == '{"name":"house"}'


async def test_h4_lists_are_paged(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callboard.protocols.mcp.paging.PAGE", 4)
    async with stage(Gates()) as served, connected(served, era) as client:
        names: list[str] = []
        page = await client.list_tools()
        while True:
            assert len(page.tools) <= 4
            names += [each.name for each in page.tools]
            if page.next_cursor is None:
                break
            page = await client.list_tools(cursor=page.next_cursor)
        assert names == [each.name for each in served.runtime.registry]
        with pytest.raises(MCPError, match="cursor"):
            await client.list_tools(cursor="nothing")


async def test_h4_g2_changes_of_the_list_are_notified(era: str) -> None:
    seen: list[str] = []

    async def receive(message: Any) -> None:
        seen.append(message.method)

    @tool
    async def late() -> str:
        """Come late."""
        return "here"

    async with stage(Gates()) as served, connected(served, era, message_handler=receive) as client:
        await client.list_tools()
        if era == "legacy":
            served.runtime.registry.register(late)
            await until(lambda: "notifications/tools/list_changed" in seen)
        else:
            async with client.listen(tools_list_changed=True) as changes:
                served.runtime.registry.register(late)
                assert type(await anext(aiter(changes))).__name__ == "ToolsListChanged"
        assert "late" in {each.name for each in (await client.list_tools()).tools}


async def test_h4_icons_are_listed_and_checked(era: str) -> None:
    @tool(icons=["https://example.com/bell.png", "data:image/png;base64,AA=="])
    async def ring() -> str:
        """Ring a bell."""
        return "ding"

    expected = [{"src": "https://example.com/bell.png"}, {"src": "data:image/png;base64,AA=="}]
    assert ring.schema("mcp")["icons"] == expected
    async with serve(Runtime([ring])) as served, connected(served, era) as client:
        (listed,) = [each for each in (await client.list_tools()).tools if each.name == "ring"]
        assert [icon.src for icon in listed.icons or ()] == [each["src"] for each in expected]
    for wrong in ("http://example.com/bell.png", "javascript:alert(1)", "data:text/html,x"):
        with pytest.raises(RegistrationError, match="must be a URI that begins with https:// or data:image/"):
            tool(name="ring", description="Ring.", icons=[wrong])(text_of)
