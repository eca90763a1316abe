"""Calls of one session that wait for people at the same time: an event of one does not wake the others."""

import asyncio
from typing import Annotated

import pytest

from callboard import Runtime, tool
from callboard.protocols.mcp.call_events import CallEvents
from callboard.sessions.open_request import OpenRequest
from callboard.sessions.session import live_session

pytestmark = pytest.mark.anyio


@tool(mode="human")
async def pay(execution_id: Annotated[str, "A reference"]) -> str:
    """Pay."""
    return f"paid {execution_id}"


async def _delivered() -> None:
    """Let the board deliver its events, which takes a turn of the event loop after they are stored."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_h5_a_waiting_call_is_not_woken_by_events_of_other_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    from_row = OpenRequest.from_row
    monkeypatch.setattr(OpenRequest, "from_row", lambda row: (parsed.append(row.id), from_row(row))[1])
    async with Runtime([pay]) as runtime:
        session = await runtime.open("desk", "ann")
        own = await session.call("pay", {"execution_id": "x"}, call_id="own")
        events = CallEvents(live_session(session), "own")
        with events.reading(refresh=False):
            (request,) = await events.open_requests()
            waiting = asyncio.ensure_future(events.wait())
            for number in range(3):
                other = await session.call("pay", {"execution_id": "y"}, call_id=f"other {number}")
                found = next(each for each in await session.requests() if each.execution_id == other.execution_id)
                await session.answer(found.id, {"approved": True})
                await session.result(other.execution_id)
            await _delivered()
            assert not waiting.done()

            parsed.clear()
            assert [each.id for each in await events.open_requests()] == [request.id]
            assert parsed == [request.id]

            await session.answer(request.id, {"approved": True})
            await waiting
            assert (await session.result(own.execution_id)).value == "paid x"


async def test_h5_a_request_that_names_another_execution_in_its_arguments_wakes_its_own_call() -> None:
    async with Runtime([pay]) as runtime:
        session = await runtime.open("desk", "ann")
        other = await session.call("pay", {"execution_id": "x"})
        events = CallEvents(live_session(session), "own")
        with events.reading(refresh=False):
            await session.call("pay", {"execution_id": other.execution_id}, call_id="own")
            await events.wait()
            assert len(await events.open_requests()) == 1
