"""Many concurrent and many consecutive calls: no event is lost, and memory does not grow (X9, B1)."""

import asyncio
import gc
import tracemalloc
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Annotated

import pytest

from callboard import Limits, Runtime, ToolContext, tool
from callboard.execution.streak import STREAK
from callboard.sessions.session import live_session

pytestmark = pytest.mark.anyio


@tool(mode="background")
async def work(ctx: ToolContext, number: Annotated[int, "Which"]) -> int:
    """Report twenty times."""
    for step in range(20):
        await ctx.progress("working", step / 20, str(step))
        await asyncio.sleep(0)
    return number


@tool
async def add(a: Annotated[int, "First"], b: Annotated[int, "Second"]) -> int:
    """Add two numbers."""
    return a + b


async def test_x9_thousand_background_calls_with_progress_lose_nothing() -> None:
    async with Runtime([work], limits=Limits(total=300), keep_events=40_000, keep_executions=2_000) as runtime:
        sessions = [await runtime.open(f"s{number}", "u") for number in range(4)]
        delivered: list[int] = []
        subscription = sessions[0].subscribe(lambda events: delivered.extend(event.seq for event in events))
        made = [
            (sessions[number % 4], number, await sessions[number % 4].call("work", {"number": number}))
            for number in range(1_000)
        ]
        assert {outcome.status for _, _, outcome in made} == {"started"}
        for session, number, outcome in made:
            assert (await session.result(outcome.execution_id)).value == number
        for session in sessions:
            events = session.board.read(0)
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            steps: dict[str, list[str]] = defaultdict(list)
            kinds: dict[str, list[str]] = defaultdict(list)
            for event in events:
                kinds[event.data["execution_id"]].append(event.kind)
                if event.kind == "tool_progress":
                    steps[event.data["execution_id"]].append(event.data["message"])
            assert len(kinds) == 250
            assert set(map(tuple, steps.values())) == {tuple(map(str, range(20)))}
            story = ("tool_started", "tool_validating", "tool_executing", *["tool_progress"] * 20, "tool_result")
            assert set(map(tuple, kinds.values())) == {story}
        await asyncio.sleep(0)
        subscription.close()
        assert delivered == list(range(1, 250 * 24 + 1))


@tool(mode="background")
async def start(number: Annotated[int, "Which"] = 0) -> int:
    """Return a number."""
    return number


@tool(mode="human")
async def confirm() -> str:
    """Ask a person."""
    return "confirmed"


@pytest.mark.parametrize(
    ("name", "arguments", "call_id"),
    [
        ("add", {"a": 1, "b": 2}, None),
        ("add", {"a": 1, "b": 2}, "known"),
        ("add", {"a": 3, "b": 4}, "known"),
        ("add", {}, None),
        ("start", {}, None),
        ("confirm", {}, None),
        ("unknown", {}, None),
        ("unknown", {}, "refused"),
    ],
    ids=["ends", "repeated", "conflict", "invalid", "background", "human", "unknown", "unknown again"],
)
async def test_x9_calls_in_a_row_let_other_tasks_run(name: str, arguments: dict[str, int], call_id: str | None) -> None:
    async with Runtime([add, start, confirm]) as runtime:
        session = await runtime.open("s", "u")
        await session.call("add", {"a": 1, "b": 2}, call_id="known")
        for _ in range(5):
            turn = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(turn.set_result, None)
            calls = 0
            while not turn.done():
                await session.call(name, arguments, call_id=call_id)
                calls += 1
                assert calls <= STREAK + 1


async def test_x9_background_calls_in_a_row_do_not_fill_the_queue() -> None:
    async with Runtime([start], limits=Limits(total=200, queue=100)) as runtime:
        session = await runtime.open("s", "u")
        outcomes = [await session.call("start", {"number": number}) for number in range(2_000)]
        assert {outcome.status for outcome in outcomes} == {"started"}


async def repeated(calls: int) -> tuple[int, int]:
    """Return the memory in use before and after so many calls, once everything that is kept is full.

    What is kept grows and is cut again: executions, buffered durations, cancelled timers. Each figure is
    therefore the lowest of several readings, between which this saw moves on.
    """
    async with Runtime([add, work], keep_events=50, keep_executions=50) as runtime:
        session = await runtime.open("s", "u")

        async def some(count: int) -> None:
            for number in range(count):
                if number % 10:
                    await session.call("add", {"a": number, "b": 1}, call_id=f"c{number}")
                else:
                    outcome = await session.call("work", {"number": number})
                    await session.result(outcome.execution_id, timeout=60)

        async def in_use() -> int:
            readings = []
            for _ in range(12):
                await some(31)
                for name in ("add", "work"):
                    runtime.registry.stats(name)  # takes the buffered durations into the statistics
                gc.collect()
                readings.append(tracemalloc.get_traced_memory()[0])
            return min(readings)

        await some(1_200)
        gc.collect()
        tracemalloc.start()
        try:
            await some(1_200)
            before = await in_use()
            await some(calls)
            after = await in_use()
        finally:
            tracemalloc.stop()
        assert runtime.manager.live == ()
        assert len(live_session(session).index.by_id) <= 150, "the newest, those with late results, and the slack"
        assert len(await session.take_results()) == 50
        await some(100)
        await session.take_results()
        await some(100)
        assert len(live_session(session).index.by_id) <= 100
        return before, after


def measured(calls: int) -> tuple[int, int]:
    return asyncio.run(repeated(calls))


def test_x9_memory_returns_to_its_start() -> None:
    # In a process of its own: what other tests have left behind allocates memory too.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        before, after = pool.submit(measured, 5_000).result()
    assert after - before < 50_000, "10 bytes for each call"


@pytest.mark.slow
async def test_x9_memory_returns_to_its_start_after_a_hundred_thousand_calls() -> None:
    before, after = await repeated(100_000)
    assert after - before < 100_000, "1 byte for each call"


async def test_x9_execution_ids_never_collide() -> None:
    """Ids count up after a random prefix of the process: no clock is involved."""
    async with Runtime([add], keep_executions=5_000) as one, Runtime([add], keep_executions=5_000) as two:
        ids: set[str] = set()
        for runtime in (one, two):
            session = await runtime.open("s", "u")
            outcomes = await asyncio.gather(*(session.call("add", {"a": 1, "b": 2}) for _ in range(2_000)))
            ids |= {outcome.execution_id for outcome in outcomes}
        assert len(ids) == 4_000
