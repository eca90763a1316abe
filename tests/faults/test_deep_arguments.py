"""Arguments, answers and events that are nested to the limit: every stored value can be read again (X4)."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any

import pytest

from callboard import Event, Runtime, Session, tool
from callboard.jsonrules.depth import MAX_DEPTH
from callboard.sessions.answers import AnswerInvalid

pytestmark = pytest.mark.anyio


@tool
async def take(value: Annotated[Any, "Anything"]) -> str:
    """Take anything."""
    return "taken"


@tool(mode="human", answer=dict[str, Any])
async def ask(value: Annotated[Any, "Anything"]) -> dict[str, Any]:  # pyright: ignore[reportReturnType]
    """Ask a person."""


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 195, 196, 197, 198, 199, 200, 254, 5_000])
async def test_x4_every_event_of_a_deep_call_can_be_read(levels: int, store_url: str) -> None:
    async with Runtime([take], store=store_url) as runtime:
        session = await runtime.open("s", "u")
        outcome = await session.call("take", f'{{"value":{nested(levels)}}}')
        assert outcome.status == ("succeeded" if levels < MAX_DEPTH else "failed")
        events = [event async for event in _all(session)]
        assert events[-1].data["status"] == outcome.status
        assert len(await session.history()) == 1


async def test_m3_answer_that_is_nested_too_deeply_is_refused_and_the_request_stays_open(store_url: str) -> None:
    async with Runtime([ask], store=store_url) as runtime:
        session = await runtime.open("s", "u")
        outcome = await session.call("ask", {"value": 1})
        [request] = await session.requests()
        deep: Any = []
        for _ in range(195):
            deep = [deep]
        with pytest.raises(AnswerInvalid, match="nested too deeply"):
            await session.answer(request.id, {"value": deep})
        await session.answer(request.id, {"value": 1})
        assert (await session.result(outcome.execution_id)).value == {"value": 1}


async def _all(session: Session) -> AsyncGenerator[Event]:
    async for event in session.events(0):
        yield event
        if event.kind == "tool_result":
            return
