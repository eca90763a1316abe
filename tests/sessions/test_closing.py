"""The end of a runtime: it completes, whatever happens at that moment (E3)."""

import asyncio

import pytest

from callboard import Runtime, tool
from callboard.adapters.stores import open_store
from callboard.sessions.heartbeat import Heartbeat
from callboard.sessions.liveness import this_process
from callboard.storage.owners import Claim

from .conftest import SOON, ended

pytestmark = pytest.mark.anyio


@tool(mode="human")
async def agree() -> bool:
    """Agree."""
    return True


async def nothing() -> None:
    return


def take_over(claims: list[Claim]) -> None:
    assert not claims, "there is nothing to be taken over"


@pytest.mark.parametrize("turns", range(6))
async def test_e3_process_that_is_notified_while_it_ends_does_end(turns: int) -> None:
    ownership = Heartbeat(open_store("memory://"), this_process(), take_over, nothing)
    await ownership.open()
    await asyncio.sleep(0)
    ownership.poll_soon()
    for _ in range(turns):
        await asyncio.sleep(0)
    async with asyncio.timeout(SOON):
        await ownership.close()


async def test_e3_runtime_that_ends_right_after_an_answer_loses_nothing(shared_url: str) -> None:
    for turns in (0, 1, 3, 10):
        async with asyncio.timeout(SOON):
            async with Runtime([agree], store=shared_url) as runtime:
                session = await runtime.open(f"s{turns}", "ann")
                outcome = await session.call("agree")
                (request,) = await session.requests()
                answering = asyncio.ensure_future(session.answer(request.id, {"approved": True}))
                for _ in range(turns):
                    await asyncio.sleep(0)
            await asyncio.wait([answering])
            async with Runtime([agree], store=shared_url) as runtime:
                session = await runtime.open(f"s{turns}", "ann")
                if await session.requests():  # it had not been stored, and so not been acknowledged
                    assert answering.cancelled() or answering.exception() is not None
                    await session.answer(request.id, {"approved": True})
                result = await ended(session, outcome.execution_id)
                assert result.status in ("succeeded", "failed", "cancelled")
                assert result.status != "failed" or (result.error and result.error.category == "interrupted")
