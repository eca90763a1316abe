"""The delay before a retry outlives the process that waits for it (X5, E5)."""

import asyncio
from dataclasses import replace

import pytest

from callboard import RetryPolicy, Runtime, Session, ToolContext, ToolError, tool
from callboard.execution.retry import remaining_delay
from callboard.sessions.session import live_session
from callboard.testing import ManualClock, settle

from .conftest import SOON, ended, left_behind, row_of, seen, until

pytestmark = pytest.mark.anyio

attempts: list[int] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    attempts.clear()


@tool(mode="background", idempotent=True, retry=RetryPolicy(4, 0.0, max_delay=30.0))
async def fetch(ctx: ToolContext) -> str:
    """Fail with `retry_after` in the first attempt."""
    attempts.append(ctx.attempt)
    if ctx.attempt == 1:
        raise ToolError("Too many requests.", category="rate_limited", retry_after=20)
    return "fetched"


async def retrying(url: str, clock: ManualClock) -> str:
    """Make a call in a runtime that ends while the call waits for its next attempt. Returns the execution's id."""
    async with Runtime([fetch], store=url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("fetch")
        await seen(session, "tool_retrying")
        await live_session(session).settle()
    return outcome.execution_id


async def taken_over(runtime: Runtime) -> Session:
    """Return the session once the runtime waits for the next attempt of its execution."""
    session = await runtime.open("s", "ann")
    await until(
        lambda: (
            bool(live_session(session).calls.unfinished) and live_session(session).calls.unfinished[0].task is not None
        )
    )
    await settle()
    return session


async def test_e5_next_attempt_waits_for_its_time_in_another_process(shared_url: str) -> None:
    clock = ManualClock()
    async with asyncio.timeout(SOON):
        execution_id = await retrying(shared_url, clock)
        assert (await row_of(shared_url, "s", execution_id)).retry_at == clock.time() + 20
        await clock.advance(5)
        async with Runtime([fetch], store=shared_url, clock=clock) as runtime:
            session = await taken_over(runtime)
            await clock.advance(14)
            assert attempts == [1]
            await clock.advance(2)
            assert (await ended(session, execution_id)).value == "fetched"
        assert attempts == [1, 2]
        assert (await row_of(shared_url, "s", execution_id)).retry_at is None


async def test_e5_process_after_process_waits_for_the_same_time(shared_url: str) -> None:
    clock = ManualClock()
    async with asyncio.timeout(SOON):
        execution_id = await retrying(shared_url, clock)
        for _ in range(3):
            await clock.advance(5)
            async with Runtime([fetch], store=shared_url, clock=clock) as runtime:
                await taken_over(runtime)
        assert attempts == [1]
        await clock.advance(4)
        async with Runtime([fetch], store=shared_url, clock=clock) as runtime:
            session = await taken_over(runtime)
            assert attempts == [1]
            await clock.advance(1)
            assert (await ended(session, execution_id)).value == "fetched"


async def test_e5_retry_time_in_the_past_is_not_waited_for(shared_url: str) -> None:
    clock = ManualClock()
    async with asyncio.timeout(SOON):
        execution_id = await retrying(shared_url, clock)
        await clock.advance(60)
        async with Runtime([fetch], store=shared_url, clock=clock) as runtime:
            assert (await ended(await runtime.open("s", "ann"), execution_id)).value == "fetched"


async def test_e5_slow_clock_does_not_extend_a_retry_delay_beyond_its_policy(shared_url: str) -> None:
    async with asyncio.timeout(SOON):
        execution_id = await retrying(shared_url, ManualClock())
        behind = ManualClock(ManualClock().time() - 3_600)
        async with Runtime([fetch], store=shared_url, clock=behind) as runtime:
            session = await taken_over(runtime)
            await behind.advance(29)
            assert attempts == [1]
            await behind.advance(2)
            assert (await ended(session, execution_id)).value == "fetched"


async def test_x8_call_that_waits_for_its_retry_time_in_another_process_can_be_cancelled(shared_url: str) -> None:
    clock = ManualClock()
    async with asyncio.timeout(SOON):
        execution_id = await retrying(shared_url, clock)
        async with Runtime([fetch], store=shared_url, clock=clock) as runtime:
            session = await taken_over(runtime)
            assert await session.cancel(execution_id)
            assert (await ended(session, execution_id)).status == "cancelled"
        assert attempts == [1]
        assert (await row_of(shared_url, "s", execution_id)).retry_at is None


async def test_e5_row_of_an_earlier_version_without_a_retry_time_continues_at_once(shared_url: str) -> None:
    clock = ManualClock()
    async with asyncio.timeout(SOON):
        execution_id = await retrying(shared_url, clock)
        await left_behind(shared_url, execution_id, "s", lambda row: replace(row, retry_at=None))
        async with Runtime([fetch], store=shared_url, clock=clock) as runtime:
            assert (await ended(await runtime.open("s", "ann"), execution_id)).value == "fetched"


@pytest.mark.parametrize(
    ("retry_at", "delay"),
    [(None, 0.0), (90.0, 0.0), (100.0, 0.0), (105.0, 5.0), (130.0, 30.0), (4_000.0, 30.0), (float("nan"), 0.0)],
)
def test_x5_remaining_delay_is_never_negative_and_never_above_the_maximum(retry_at: float | None, delay: float) -> None:
    assert remaining_delay(RetryPolicy(max_delay=30.0), retry_at, 100.0) == delay
