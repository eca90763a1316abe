"""What goes on in another process keeps what was promised for it: its time, and an end (E5)."""

import asyncio

import pytest

from callboard import Runtime, tool
from callboard.execution.manager import MOST_INTERRUPTIONS
from callboard.testing import ManualClock

from .conftest import SOON, ended

pytestmark = pytest.mark.anyio

begun = asyncio.Event()


@tool(mode="background", idempotent=True, total_timeout=60)
async def dig() -> str:
    """Dig for a long time."""
    begun.set()
    await asyncio.Event().wait()
    return "never"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    begun.clear()


async def test_e5_time_that_passed_in_a_dead_process_counts(shared_url: str) -> None:
    clock = ManualClock()
    async with asyncio.timeout(SOON):
        async with Runtime([dig], store=shared_url, clock=clock) as runtime:
            outcome = await (await runtime.open("s1", "ann")).call("dig")
            await begun.wait()
            await clock.advance(50)
        begun.clear()
        async with Runtime([dig], store=shared_url, clock=clock) as runtime:
            session = await runtime.open("s1", "ann")
            await begun.wait()
            await clock.advance(9)
            assert not (await session.result(outcome.execution_id, timeout=0)).done
            await clock.advance(2)
            result = await ended(session, outcome.execution_id)
            assert result.error is not None
            assert (result.status, result.error.category, result.error.retryable) == ("failed", "timeout", False)


async def test_e5_time_that_is_over_before_anybody_goes_on_ends_it(shared_url: str) -> None:
    clock = ManualClock()
    async with asyncio.timeout(SOON):
        async with Runtime([dig], store=shared_url, clock=clock) as runtime:
            outcome = await (await runtime.open("s1", "ann")).call("dig")
            await begun.wait()
        await clock.advance(3_600)
        async with Runtime([dig], store=shared_url, clock=clock) as runtime:
            result = await ended(await runtime.open("s1", "ann"), outcome.execution_id)
            assert result.error is not None
            assert result.error.category == "timeout"


async def test_e5_call_with_which_process_after_process_ends_is_not_begun_for_ever(sqlite_url: str) -> None:
    async with asyncio.timeout(SOON):
        async with Runtime([dig], store=sqlite_url) as runtime:
            outcome = await (await runtime.open("s1", "ann")).call("dig")
            await begun.wait()
        for _ in range(MOST_INTERRUPTIONS - 1):
            begun.clear()
            async with Runtime([dig], store=sqlite_url) as runtime:
                session = await runtime.open("s1", "ann")
                await begun.wait()
                await session.settle()
        begun.clear()
        async with Runtime([dig], store=sqlite_url) as runtime:
            session = await runtime.open("s1", "ann")
            result = await ended(session, outcome.execution_id)
            assert result.error is not None
            assert (result.status, result.error.category) == ("failed", "interrupted")
            assert f"begun {MOST_INTERRUPTIONS} times" in result.error.message
            assert not begun.is_set()
