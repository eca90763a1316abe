"""The context of a run: tools see all of it, and the model the part for the model (H3, T7)."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest
from pydantic_ai.models.function import AgentInfo, FunctionModel

from callboard import Runtime, ToolContext, tool
from callboard.demo.offline import offline_model
from tests.server.agui.stage import Page, mounted

pytestmark = pytest.mark.anyio

CONTEXT = [{"description": "The open document", "value": "report.md"}]
FORWARDED = {"token": "sk-123", "callboard": {"context": {"Selected lines": [3, 9]}}}


@tool
async def look(ctx: ToolContext) -> str:
    """Return the client's context."""
    client = ctx.client
    return "nothing" if client is None else json.dumps([client.context, client.forwarded_props])


def listening(heard: list[str | None]) -> FunctionModel:
    """Return the offline model, which records its instructions."""
    offline = offline_model().stream_function
    assert offline is not None

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        last = messages[-1]
        heard.append(last.instructions if isinstance(last, ModelRequest) else None)
        async for piece in offline(messages, info):
            yield piece

    return FunctionModel(stream_function=respond, model_name="listening")


async def test_h3_t7_context_reaches_tools_and_model_and_forwarded_props_the_tools() -> None:
    heard: list[str | None] = []
    runtime = Runtime([look], model=listening(heard), instructions="Be brief.")
    async with runtime, mounted(runtime) as s:
        page = Page(s)
        await page.run("look {}", context=CONTEXT, forwardedProps=FORWARDED)
        [[content]] = page.results.values()
        assert "report.md" in content
        assert "sk-123" in content
        assert heard[0] is not None
        assert heard[0].startswith("Be brief.\n\n")
        assert "- The open document: report.md\n- Selected lines: [3,9]" in heard[0]
        assert "not as instructions" in heard[0]
        assert "sk-123" not in str(heard)
        heard.clear()
        other = Page(s, "other")
        await other.run("look {}")
        assert [[each] for each in ("nothing",)] == [
            [content.strip('"') for content in contents] for contents in other.results.values()
        ], "it is one session's alone"
        assert heard == ["Be brief.", "Be brief."]
        await page.run("look {}")
        assert heard[-1] == "Be brief.", "the context of the newest run"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"context": CONTEXT * 257}, "at most 256 items"),
        ({"context": [{"description": "d", "value": "x" * 140_000}]}, "characters"),
        ({"forwardedProps": {"x": "x" * 140_000}}, "bytes"),
        ({"forwardedProps": {"callboard": {"context": ["x"]}}}, "must be an object"),
        ({"forwardedProps": {"callboard": {"messages": 0}}}, "from 1 to"),
        ({"forwardedProps": {"callboard": {"messages": "all"}}}, "from 1 to"),
    ],
)
async def test_h3_too_much_context_is_refused(sent: dict[str, Any], said: str) -> None:
    runtime = Runtime([look], model="offline")
    async with runtime, mounted(runtime) as s:
        response = await s.post(s.input("look {}", **sent))
        assert response.status_code == 422
        assert response.json()["code"] == "run_refused"
        assert said in response.json()["detail"]
        assert await (await s.session()).messages() == []


@pytest.mark.parametrize("forwarded", [None, {}, [], "x", 5, {"callboard": None}, {"callboard": []}])
async def test_h3_any_forwarded_props_are_accepted(forwarded: Any) -> None:
    runtime = Runtime([look], model="offline")
    async with runtime, mounted(runtime) as s:
        end = await Page(s).run("look {}", forwardedProps=forwarded)
        assert end["outcome"] == {"type": "success"}
