"""H5, S6: descriptions of many tools let other tasks run between the schemas of two tools."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

import callboard
from callboard import Runtime, Tool, tool
from callboard.tools.schema_preparation import prepare_schemas
from tests.server.conftest import Served, serve
from tests.server.mcp.test_http import initialize, list_tools

pytestmark = pytest.mark.anyio

COUNT = 30


def make(number: int) -> Tool:
    @tool(name=f"tool_{number}")
    async def act(n: Annotated[int, "A number"]) -> int:
        """Act."""
        return n

    return act


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modes of the JSON schemas that Pydantic has made."""
    made: list[str] = []
    original = TypeAdapter[Any].json_schema

    def counted(self: TypeAdapter[Any], **options: Any) -> dict[str, Any]:
        made.append(options.get("mode", "validation"))
        return original(self, **options)

    monkeypatch.setattr(TypeAdapter, "json_schema", counted)
    return made


@asynccontextmanager
async def most_in_one_turn(generated: list[str]) -> AsyncGenerator[Callable[[], int]]:
    """Yield a function that returns the most schemas that were made between two turns of this task."""
    counts = [len(generated)]

    async def count() -> None:
        while True:
            await asyncio.sleep(0)
            counts.append(len(generated))

    def most() -> int:
        return max(after - before for before, after in zip(counts, [*counts[1:], len(generated)], strict=True))

    task = asyncio.create_task(count())
    try:
        yield most
    finally:
        task.cancel()


async def get_manifest(served: Served) -> None:
    assert len((await served.get("/api/manifest")).json()["tools"]) >= COUNT


async def get_list(served: Served) -> None:
    assert len((await served.get("/api/tools", {"limit": COUNT})).json()["tools"]) == COUNT


async def get_mcp_list(served: Served) -> None:
    listed = await list_tools(served, "ann", await initialize(served, "ann"))
    assert listed.text.count('"name":"tool_') == COUNT


async def run_turn(served: Served) -> None:
    session = await served.runtime.open("s", "u")
    assert (await session.say("Hello.")).status == "finished"


async def run_own_agent(served: Served) -> None:
    session = await served.runtime.open("s", "u")
    await Agent(TestModel(call_tools=[]), toolsets=[callboard.toolset(session)]).run("go")


@pytest.mark.parametrize("describe", [get_manifest, get_list, get_mcp_list, run_turn, run_own_agent])
async def test_h5_other_tasks_run_between_the_schemas_of_two_tools(
    generated: list[str], describe: Callable[[Served], Awaitable[None]]
) -> None:
    tools = [make(number) for number in range(COUNT)]
    async with serve(Runtime(tools, model=TestModel(call_tools=[]))) as served:
        async with most_in_one_turn(generated) as most:
            await describe(served)
        assert len(generated) >= COUNT
        assert most() <= 2  # the input and the output of one tool


async def test_s6_prepared_schemas_are_not_made_again(generated: list[str]) -> None:
    tools = [make(number) for number in range(COUNT)]
    await asyncio.gather(*(prepare_schemas(tools) for _ in range(3)))
    assert len(generated) == 2 * COUNT
    assert all(each.has_schemas for each in tools)
    async with most_in_one_turn(generated) as most:
        await prepare_schemas(tools)
    assert most() == 0


async def test_h5_a_schema_that_cannot_be_made_does_not_keep_others_from_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken, sound = make(1), make(2)

    def fail(self: Any) -> Any:
        raise ValueError("no schema")

    with monkeypatch.context() as patch:
        patch.setattr(type(broken.arguments), "schema", fail)
        await prepare_schemas([broken])
        with pytest.raises(ValueError, match="no schema"):
            broken.schema()
    await prepare_schemas([broken, sound])
    assert sound.has_schemas
    assert broken.has_schemas
