"""The end of a runtime: it completes, whatever happens at that moment (E3)."""

import asyncio

import pytest

from callboard import Runtime, tool
from callboard.adapters.stores import open_store
from callboard.sessions.heartbeat import Heartbeat
from callboard.sessions.liveness import this_process
from callboard.storage.owners import Claim

from .conftest import SOON, board_of, ended

pytestmark = pytest.mark.anyio


runs: list[str] = []


@tool(mode="human")
async def agree() -> bool:
    """Agree."""
    runs.append("agree")
    await asyncio.sleep(0)
    return True


@tool(mode="background")
async def once() -> bool:
    """Run once."""
    runs.append("once")
    await asyncio.sleep(0)
    return True


async def nothing() -> None:
    return


def take_over(claims: list[Claim]) -> None:
    assert not claims, "there is nothing to be taken over"


@pytest.mark.parametrize("turns", range(6))
async def test_e3_process_that_is_notified_while_it_ends_does_end(turns: int) -> None:
    ownership = Heartbeat(open_store("memory://"), this_process(), take_over, nothing, tools=tuple)
    await ownership.open(conversations=True)
    await asyncio.sleep(0)
    ownership.poll_soon()
    for _ in range(turns):
        await asyncio.sleep(0)
    async with asyncio.timeout(SOON):
        await ownership.close()


@pytest.mark.parametrize("acknowledged", [False, True])
@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 21])
async def test_e3_runtime_that_ends_right_after_an_answer_leaves_the_call_to_the_next(
    shared_url: str, turns: int, acknowledged: bool
) -> None:
    runs.clear()
    async with asyncio.timeout(SOON):
        async with Runtime([agree], store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            outcome = await session.call("agree")
            (request,) = await session.requests()
            answering = asyncio.ensure_future(session.answer(request.id, {"approved": True}))
            if acknowledged:
                await answering
            for _ in range(turns):
                await asyncio.sleep(0)
        began = len(runs)
        await asyncio.wait([answering])
        async with Runtime([agree], store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            if await session.requests():  # it had not been stored, and so not been acknowledged
                assert answering.cancelled() or answering.exception() is not None
                await session.answer(request.id, {"approved": True})
            result = await ended(session, outcome.execution_id)
            assert result.status in (("succeeded", "cancelled") if began else ("succeeded",))
            assert len(runs) == 1
            kinds = [event.kind for event in await board_of(session) if event.kind == "tool_executing"]
            assert len(kinds) <= 2


async def test_e3_background_call_that_has_not_begun_is_left_to_the_next_runtime(shared_url: str) -> None:
    runs.clear()
    async with asyncio.timeout(SOON):
        async with Runtime([once], store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            outcome = await session.call("once")
        began = len(runs)
        async with Runtime([once], store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            result = await ended(session, outcome.execution_id)
            assert result.status in (("succeeded", "cancelled") if began else ("succeeded",))
            assert len(runs) == 1
