"""Answers of people continue a turn that waits for them, however quiet the session or the tool is (M3, M5)."""

import asyncio

import pytest

from callboard import Runtime, Session, tool

from .scripted import TOOLS, Script, check, conversation_of, last_contents, until

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("wake", ["wait", "ui_only"])
async def test_m3_an_answer_continues_the_paused_turn_of_a_quiet_session(wake: str, store_url: str) -> None:
    script = Script([("pay", '{"amount":5}')], ["Paid."], [("pay", '{"amount":6}')])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u", wake=wake)
        paused = await session.say("Pay.")
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        [finished] = await until(session, "turn_finished")
        assert finished.data["turn_id"] == paused.id
        assert last_contents(script.requests[1]) == ["paid 5"]
        assert not session.has_pending_work
        assert (await session.say("Again.")).status == "paused"
        await session.say("Never mind.")  # acknowledges the call, whose result is a late one from now on
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        await session.result(request.execution_id)
        await _rests(session)
        assert (len(script.requests), session.has_pending_work) == (4, True)
        await check(session)


@pytest.mark.parametrize("lost", [False, True])
async def test_m3_an_answer_continues_the_turn_that_waits_for_a_quiet_tool(lost: bool, shared_url: str) -> None:
    @tool(mode="human", wake="wait")
    async def sign() -> str:
        """Sign."""
        return "signed"

    script = Script([("sign", "{}")])
    async with Runtime([sign], model=script.model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        await session.say("Sign.")
        if lost:
            await session.close()  # the conversation leaves memory
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        await until(session, "turn_finished")
        assert last_contents(script.requests[1]) == ["signed"]
        await check(session)


async def _rests(session: Session) -> None:
    """Return when no turn runs."""
    while (task := conversation_of(session)._task) is not None and not task.done():
        await asyncio.wait([task])
