"""A planned stop hands running calls to the next process: not an attempt, and not an interruption (E5)."""

import asyncio
from dataclasses import replace

import pytest

from callboard import RetryPolicy, Runtime, ToolContext, ToolError, tool
from callboard.execution.admission import MAX_INTERRUPTIONS
from callboard.sessions.session import live_session

from .conftest import SOON, board_of, ended, left_behind, row_of

pytestmark = pytest.mark.anyio

POLICY = RetryPolicy(max_attempts=3, base_delay=0.0, strategy="fixed")  # pyright: ignore[reportArgumentType]

begun: asyncio.Event
going: asyncio.Event
attempts: list[int] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    global begun, going
    begun, going = asyncio.Event(), asyncio.Event()
    attempts.clear()


async def _work(ctx: ToolContext) -> str:
    attempts.append(ctx.attempt)
    begun.set()
    await going.wait()
    if ctx.attempt < POLICY.max_attempts:
        raise ToolError("Busy.", category="transient")
    return "done"


@tool(mode="background", idempotent=True, retry=POLICY)
async def dig(ctx: ToolContext) -> str:
    """Work until a release, and fail in all attempts but the last."""
    return await _work(ctx)


@tool(mode="human", idempotent=True, retry=POLICY)
async def send(ctx: ToolContext) -> str:
    """Send a letter."""
    return await _work(ctx)


@tool(mode="background", idempotent=True, retry=POLICY)
async def plan(ctx: ToolContext) -> str:
    """Call another tool, with a key."""
    return f"{ctx.attempt}: {await ctx.call(dig, {}, key='dig')}"


async def interrupted_by_stops(url: str, times: int) -> str:
    """Make a call, and stop as many processes while it runs. Returns the execution's id."""
    async with Runtime([dig], store=url) as runtime:
        outcome = await (await runtime.open("s1", "ann")).call("dig")
        await begun.wait()
    for _ in range(times - 1):
        begun.clear()
        async with Runtime([dig], store=url) as runtime:
            await begun.wait()
            await live_session(await runtime.open("s1", "ann")).settle()
    return outcome.execution_id


async def test_e5_planned_restarts_count_neither_as_attempts_nor_as_interruptions(shared_url: str) -> None:
    stops = MAX_INTERRUPTIONS + 2
    async with asyncio.timeout(SOON):
        execution_id = await interrupted_by_stops(shared_url, stops)
        row = await row_of(shared_url, "s1", execution_id)
        assert (row.status, row.attempt, row.max_attempts, row.errors) == ("validating", 1, 3, b"[]")
        going.set()
        async with Runtime([dig], store=shared_url) as runtime:
            session = await runtime.open("s1", "ann")
            assert (await ended(session, execution_id)).value == "done"
            assert attempts == [*[1] * (stops + 1), 2, 3]
            record = session.execution(execution_id)
            assert [error["category"] for error in record.previous_errors] == ["transient", "transient"]
            kinds = [event.kind for event in await board_of(session)]
            assert kinds.count("tool_executing") == stops + 3
            assert kinds.count("tool_retrying") == 2


async def test_e5_planned_restart_between_attempts_keeps_their_number(sqlite_url: str) -> None:
    async with asyncio.timeout(SOON):
        async with Runtime([dig], store=sqlite_url) as runtime:
            session = await runtime.open("s1", "ann")
            outcome = await session.call("dig")
            await begun.wait()
            going.set()
            while len(attempts) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0)
            going.clear()
            begun.clear()
            while session.execution(outcome.execution_id).status != "executing":  # noqa: ASYNC110
                await asyncio.sleep(0)
        stopped_in = attempts[-1]
        begun.clear()
        async with Runtime([dig], store=sqlite_url):
            await begun.wait()
        assert attempts[-1] == stopped_in


async def test_e5_crash_counts_also_after_planned_restarts(sqlite_url: str) -> None:
    async with asyncio.timeout(SOON):
        execution_id = await interrupted_by_stops(sqlite_url, 2)
        await left_behind(sqlite_url, execution_id, "s1", lambda row: replace(row, status="executing"))
        begun.clear()
        async with Runtime([dig], store=sqlite_url) as runtime:
            session = await runtime.open("s1", "ann")
            await begun.wait()
            record = session.execution(execution_id)
            assert record.attempt == 2
            assert [error["category"] for error in record.previous_errors] == ["interrupted"]


async def test_e5_attempt_of_a_continued_call_is_stored_before_its_handler_runs(shared_url: str) -> None:
    """A tool that kills its process at once is counted too."""
    found: list[tuple[str, int]] = []

    @tool(mode="background", idempotent=True)
    async def look(ctx: ToolContext) -> str:
        """Look at the own row, and wait."""
        row = await current.store.execution("s1", ctx.execution_id or "")
        found.append(("none", 0) if row is None else (row.status, row.attempt))
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async with asyncio.timeout(SOON):
        async with Runtime([look], store=shared_url) as current:
            outcome = await (await current.open("s1", "ann")).call("look")
            await begun.wait()
        for change in (None, "executing"):
            if change is not None:
                await left_behind(shared_url, outcome.execution_id, "s1", lambda row: replace(row, status="executing"))
            begun.clear()
            async with Runtime([look], store=shared_url) as current:
                await begun.wait()
    assert found[1:] == [("executing", 1), ("executing", 2)]


async def test_e5_category_that_a_tool_chooses_is_no_planned_restart(shared_url: str) -> None:
    runs: list[int] = []

    @tool(mode="background", idempotent=True, retry=POLICY)
    async def forge(ctx: ToolContext) -> str:
        """Fail as if the process had stopped."""
        runs.append(ctx.attempt)
        if ctx.attempt == 2 and runs.count(2) == 1:
            begun.set()
            await asyncio.Event().wait()
        raise ToolError("x", category="interrupted", retryable=True)

    async with asyncio.timeout(SOON):
        async with Runtime([forge], store=shared_url) as runtime:
            outcome = await (await runtime.open("s1", "ann")).call("forge")
            await begun.wait()
        async with Runtime([forge], store=shared_url) as runtime:
            session = await runtime.open("s1", "ann")
            result = await ended(session, outcome.execution_id)
            assert result.error is not None
            assert (result.status, result.error.message, result.error.category) == ("failed", "x", "interrupted")
            assert runs == [1, 2, 2, 3]


async def test_e5_approval_is_not_asked_for_again_after_a_planned_restart(shared_url: str) -> None:
    async with asyncio.timeout(SOON):
        async with Runtime([send], store=shared_url) as runtime:
            session = await runtime.open("s1", "ann")
            outcome = await session.call("send")
            (request,) = await session.requests()
            await session.answer(request.id, {"approved": True})
            await begun.wait()
        begun.clear()
        async with Runtime([send], store=shared_url) as runtime:
            session = await runtime.open("s1", "ann")
            await begun.wait()
            assert await session.requests() == []
            assert session.execution(outcome.execution_id).attempt == 1
            going.set()
            assert (await ended(session, outcome.execution_id)).value == "done"
            assert attempts == [1, 1, 2, 3]


async def test_e5_nested_call_with_a_key_keeps_its_attempt_over_a_planned_restart(shared_url: str) -> None:
    async with asyncio.timeout(SOON):
        async with Runtime([plan, dig], store=shared_url) as runtime:
            outcome = await (await runtime.open("s1", "ann")).call("plan")
            await begun.wait()
        begun.clear()
        async with Runtime([plan, dig], store=shared_url) as runtime:
            session = await runtime.open("s1", "ann")
            await begun.wait()
            going.set()
            assert (await ended(session, outcome.execution_id)).value == "1: done"
            assert attempts == [1, 1, 2, 3]
