"""Tools that a client sends with a message or an answer of the API, and executes itself (W2)."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from callboard import Runtime, tool
from callboard.sessions.session import live_session
from tests.server.conftest import DEADLINE, TOOLS, Served, serve

pytestmark = pytest.mark.anyio

HERE = {"name": "where_am_i", "description": "Tell where the user is.", "parameters": {"type": "object"}}
COPY = {
    "name": "copy_to_clipboard",
    "description": "Copy a text.",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


@pytest.fixture
async def served() -> AsyncGenerator[Served]:
    async with serve(Runtime(TOOLS, model="offline")) as made:
        yield made


async def say(served: Served, message: str, tools: Any = None, **more: Any) -> Any:
    """Send a message. Returns the response."""
    body = {"session_id": "s", "message": message, **({} if tools is None else {"tools": tools}), **more}
    return await served.post("/api/chat", body)


async def open_request(served: Served, session_id: str = "s") -> dict[str, Any]:
    """Wait for the open request of the session."""
    async with asyncio.timeout(DEADLINE):
        while True:
            if found := (await served.get("/api/requests", {"session_id": session_id})).json()["requests"]:
                (request,) = found
                return request
            await asyncio.sleep(0.005)


async def answer(served: Served, request: dict[str, Any], **given: Any) -> Any:
    return await served.post(f"/api/requests/{request['request_id']}/answer", {"session_id": "s", **given})


async def until_said(served: Served, part: str) -> list[dict[str, Any]]:
    """Wait until the model has said something. Returns the messages."""
    async with asyncio.timeout(DEADLINE):
        while True:
            messages = (await served.get("/api/messages", {"session_id": "s"})).json()["messages"]
            if any(each["role"] == "assistant" and part in each.get("text", "") for each in messages):
                return messages
            await asyncio.sleep(0.005)


def tools_of(served: Served, session_id: str = "s") -> set[str]:
    session = served.runtime.sessions.find(session_id)
    assert session is not None
    return {tool.name for tool in session.tools() if tool.front_end}


async def test_w2_model_calls_a_tool_that_came_with_the_message(served: Served) -> None:
    await served.session("s")
    assert (await say(served, "where am I?", [HERE])).status_code == 202
    request = await open_request(served)
    assert (request["tool"], request["purpose"]) == ("where_am_i", "front_end_tool")
    result = {"address": "http://shop/", "title": "Shop", "time_zone": "Europe/Paris"}
    assert (await answer(served, request, answer=result)).status_code == 202
    await until_said(served, "You are at http://shop/ (Shop)")


async def test_w2_call_that_failed_in_the_page_is_a_failed_call(served: Served) -> None:
    await served.session("s")
    await say(served, "copy hello to my clipboard", [COPY])
    request = await open_request(served)
    error = {"category": "permission", "message": "The browser does not allow it."}
    assert (await answer(served, request, error=error)).status_code == 202
    messages = await until_said(served, "copy_to_clipboard failed: The browser does not allow it.")
    (result,) = (each for each in messages if each["role"] == "tool")
    assert result["failed"]
    assert result["content"]["category"] == "permission"
    (execution,) = (await served.get("/api/executions", {"session_id": "s"})).json()["executions"]
    assert (execution["status"], execution["error"]["message"]) == ("failed", "The browser does not allow it.")
    (closed,) = (await served.get("/api/requests", {"session_id": "s", "status": "closed"})).json()["requests"]
    assert closed["decision"]["outcome"] == "answered"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"answer": None, "error": {"message": "both"}},
        {"error": {"message": ""}},
        {"error": {"message": "x" * 10_001}},
        {"error": {"message": "x", "category": "my own"}},
        {"error": "text"},
    ],
    ids=str,
)
async def test_w2_answer_needs_one_valid_outcome(served: Served, given: dict[str, Any]) -> None:
    await served.session("s")
    await say(served, "where_am_i", [HERE])
    request = await open_request(served)
    assert (await answer(served, request, **given)).status_code == 422
    assert (await open_request(served))["request_id"] == request["request_id"]


async def test_w2_only_calls_of_page_tools_can_be_answered_with_an_error(served: Served) -> None:
    await served.session("s")
    await say(served, 'pay {"amount": 5}')
    request = await open_request(served)
    refused = await answer(served, request, error={"message": "no"})
    assert (refused.status_code, refused.json()["code"]) == (422, "answer_invalid")
    assert (await open_request(served))["request_id"] == request["request_id"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([{**HERE, "name": "add"}], "already"),
        ([{**HERE, "name": "task_result"}], "already"),
        ([{**HERE, "name": "two words"}], "cannot be the name"),
        ([{**HERE, "name": "x" * 65}], "cannot be the name"),
        ([{**HERE, "name": ""}], "cannot be the name"),
        ([HERE, HERE], "same name"),
        ([{**HERE, "name": f"tool_{n}"} for n in range(65)], "at most 64"),
        ([{**HERE, "parameters": {"type": "object", "description": "x" * 40_000}}], "too large"),
        ([{**HERE, "description": "x" * 5_000}], "too large"),
        ([{**HERE, "description": " "}], "no description"),
        ([{**HERE, "parameters": {"type": "array"}}], "must be 'object'"),
        ([{**HERE, "parameters": {"properties": {"a": {"$ref": "http://127.0.0.1/x"}}}}], "refer"),
        ([HERE, {**COPY, "name": "add"}], "already"),
    ],
)
async def test_w2_hostile_tools_are_refused_without_any_effect(served: Served, given: list[Any], said: str) -> None:
    await served.session("s")
    refused = await say(served, "where am I", given)
    assert (refused.status_code, refused.json()["code"]) == (422, "registration")
    assert said in refused.json()["detail"]
    assert len(refused.json()["detail"]) < 1_000
    assert (await served.get("/api/messages", {"session_id": "s"})).json()["messages"] == []
    assert tools_of(served) == set()


@pytest.mark.parametrize("given", ["text", [1], [{"name": "x"}], [{**HERE, "parameters": []}], [{**HERE, "more": 1}]])
async def test_w2_tools_of_the_wrong_shape_are_refused(served: Served, given: Any) -> None:
    await served.session("s")
    assert (await say(served, "where am I", given)).status_code == 422
    assert tools_of(served) == set()


async def test_w2_tools_of_another_users_session_cannot_be_defined(served: Served) -> None:
    await served.session("s")
    theirs = {"session_id": "s", "message": "where am I", "tools": [HERE]}
    assert (await served.post("/api/chat", theirs, x_user="mallory")).status_code == 404
    await say(served, "where_am_i", [HERE])
    request = await open_request(served)
    path, body = f"/api/requests/{request['request_id']}/answer", {"session_id": "s", "answer": 1, "tools": [COPY]}
    assert (await served.post(path, body, x_user="mallory")).status_code == 404
    assert tools_of(served) == {"where_am_i"}


async def test_w2_tools_are_those_of_one_session_until_the_client_sends_others(served: Served) -> None:
    await served.session("s")
    await served.session("other")
    await say(served, "hello", [HERE, COPY])
    assert tools_of(served) == {"where_am_i", "copy_to_clipboard"}
    assert tools_of(served, "other") == set()
    await say(served, "hello")
    assert tools_of(served) == {"where_am_i", "copy_to_clipboard"}, "a client without tools keeps those of the page"
    await say(served, "hello", [COPY])
    assert tools_of(served) == {"copy_to_clipboard"}
    await say(served, "hello", [])
    assert tools_of(served) == set()


async def test_w2_repeated_message_may_have_other_tools(served: Served) -> None:
    await served.session("s")
    first = await say(served, "hello", [HERE], message_id="m1")
    again = await say(served, "hello", [COPY], message_id="m1")
    assert (again.status_code, again.json()) == (202, first.json())
    assert tools_of(served) == {"copy_to_clipboard"}


@pytest.mark.parametrize("fails", [False, True])
async def test_w2_call_survives_a_restart_and_the_answer_brings_the_tools(sqlite_url: str, fails: bool) -> None:
    async with serve(Runtime(TOOLS, model="offline", store=sqlite_url)) as served:
        await served.session("s")
        await say(served, "where am I", [HERE])
        request = await open_request(served)
    async with serve(Runtime(TOOLS, model="offline", store=sqlite_url)) as served:
        assert (await open_request(served))["request_id"] == request["request_id"]
        result = {"error": {"message": "no"}} if fails else {"answer": {"address": "a", "title": "b", "time_zone": "c"}}
        assert (await answer(served, request, tools=[HERE], **result)).status_code == 202
        await until_said(served, "where_am_i failed: no" if fails else "You are at a (b)")
        assert tools_of(served) == {"where_am_i"}


async def test_w2_call_of_one_node_is_answered_at_another(shared_url: str) -> None:
    def node() -> Runtime:
        return Runtime(TOOLS, model="offline", store=shared_url)

    async with serve(node()) as here, serve(node()) as there:
        await here.session("s")
        await say(here, "where am I", [HERE])
        request = await open_request(there)
        result = {"address": "a", "title": "b", "time_zone": "c"}
        key = {"idempotency_key": f"page-{request['request_id']}"}
        path, body = f"/api/requests/{request['request_id']}/answer", {"session_id": "s", "answer": result}
        first = await there.post(path, body, **key)
        again = await here.post(path, body, **key)
        assert (first.status_code, again.json()) == (202, first.json())
        await until_said(there, "You are at a (b)")


async def test_w2_turn_of_a_late_result_has_the_tools_of_the_last_message() -> None:
    offered: list[set[str]] = []
    finish = asyncio.Event()

    @tool(mode="background")
    async def slow() -> str:
        """Take a while."""
        await finish.wait()
        return "done"

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        offered.append({each.name for each in info.function_tools})
        if len(offered) == 1:
            yield {0: DeltaToolCall("slow", "{}", tool_call_id="c1")}
        else:
            yield f"answer {len(offered)}"

    model = FunctionModel(stream_function=respond)
    async with serve(Runtime([slow], model=model)) as served:
        await served.session("s")
        await say(served, "go", [HERE])
        await until_said(served, "answer 2")
        finish.set()
        await until_said(served, "answer 3")
    assert all("where_am_i" in each for each in offered)


async def test_w2_page_tools_do_not_slow_down_messages_that_repeat_them(served: Served) -> None:
    await served.session("s")
    await say(served, "hello", [HERE, COPY])
    session = live_session(await served.runtime.open("s", "local"))
    before = session.toolbox.own_tools["where_am_i"]
    await say(served, "hello", [HERE, COPY])
    assert session.toolbox.own_tools["where_am_i"] is before
