"""Names from a model or a caller with text that a database refuses have no side effects (E2, X10)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from callboard import Runtime, ToolContext, ToolError, tool
from callboard.events.problems import EventInvalid
from callboard.sessions.ids import CallIdInvalid, SessionIdInvalid

from .conftest import SOON, Make, board_of

pytestmark = pytest.mark.anyio

ODD = ["\0", "a\0b", "\ud800", "a\udfffb"]


@tool
async def add(a: Annotated[int, "One."], b: Annotated[int, "Two."]) -> int:
    """Add two numbers."""
    return a + b


@tool
async def delegate(ctx: ToolContext, code: Annotated[list[int], "The name of a tool, character by character."]) -> str:
    """Call a tool by its name."""
    try:
        await ctx.call("".join(map(chr, code)), {})
    except ToolError as error:
        return str(error.category)
    return "called"


def names(name: str) -> Callable[..., AsyncIterator[str | DeltaToolCalls]]:
    """Make a model that calls a tool of that name and a real one, and then ends the turn."""

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if len(messages) == 1:
            yield {0: DeltaToolCall(name, "{}", tool_call_id="odd")}
            yield {1: DeltaToolCall("add", '{"a":1,"b":2}', tool_call_id="even")}
        else:
            yield "Done."

    return answer


@pytest.mark.parametrize("name", ODD)
async def test_x10_call_of_a_tool_with_an_invalid_name_is_refused_and_recorded(name: str, make: Make) -> None:
    async with asyncio.timeout(SOON), make(add) as runtime:
        session = await runtime.open("s", "ann")
        outcomes = await asyncio.gather(
            session.call(name, call_id="odd"), session.call("add", {"a": 1, "b": 2}, call_id="even")
        )
        refused, added = outcomes
        assert added.value == 3
        assert refused.error is not None
        assert refused.error.category == "not_found"
        assert refused.tool == name.replace(name.strip("ab"), "\N{REPLACEMENT CHARACTER}")
        assert await session.call(name, call_id="odd") == refused
        assert [record.tool for record in await session.history()] == [refused.tool, "add"]
        ended = [event.data["tool"] for event in await board_of(session) if event.kind == "tool_result"]
        assert sorted(ended) == sorted([refused.tool, "add"])


@pytest.mark.parametrize("name", ODD[:2])
async def test_x10_turn_continues_after_the_model_calls_an_invalid_name(name: str, store_url: str) -> None:
    model = FunctionModel(stream_function=names(name))
    async with asyncio.timeout(SOON), Runtime([add], store=store_url, model=model) as runtime:
        session = await runtime.open("s", "ann")
        turn = await session.say("Do something odd.")
        assert (turn.status, turn.text) == ("finished", "Done.")
        records = {record.call_id: record for record in await session.history()}
        assert (records["even"].value, records["odd"].status) == (3, "failed")


@pytest.mark.parametrize("name", ODD)
async def test_x10_handler_that_calls_an_invalid_name_gets_an_error(name: str, make: Make) -> None:
    async with asyncio.timeout(SOON), make(delegate) as runtime:
        session = await runtime.open("s", "ann")
        assert (await session.call("delegate", {"code": list(map(ord, name))})).value == "not_found"
        assert len(await session.history()) == 2


@pytest.mark.parametrize("name", ODD)
async def test_e2_invalid_ids_are_refused_before_anything_is_written(name: str, make: Make) -> None:
    async with asyncio.timeout(SOON), make(add) as runtime:
        for options in ({"session_id": name}, {"user_id": name}, {"channel": name}):
            given: dict[str, Any] = {"session_id": "t", "user_id": "ann", **options}
            with pytest.raises(SessionIdInvalid):
                await runtime.open(**given)
        session = await runtime.open("s", "ann")
        with pytest.raises(CallIdInvalid):
            await session.call("add", {"a": 1, "b": 2}, call_id=name)
        with pytest.raises(EventInvalid):
            await session.post({"kind": "user_request", "request_id": name, "request_kind": "refresh", "payload": {}})
        assert (await session.call("add", {"a": 1, "b": 2})).value == 3
        assert [row.id for row in await runtime.store.sessions()] == ["s"]
