"""The same call id at two processes at once runs once, and both callers get the one result (X10)."""

import asyncio
from collections import Counter
from typing import Annotated

import pytest

from callboard import Outcome, Runtime, Session, ToolContext, tool
from callboard.sessions.session import live_session

from .conftest import SOON, until

pytestmark = pytest.mark.anyio

PAIRS = 80
runs: Counter[str] = Counter()
held: asyncio.Event


@pytest.fixture(autouse=True)
def _fresh() -> None:
    global held
    held = asyncio.Event()
    runs.clear()


@tool(idempotent=True)
async def look(ctx: ToolContext, number: Annotated[int, "A number"]) -> int:
    """Return another result in each run."""
    runs[str(ctx.call_id)] += 1
    await asyncio.sleep(0)
    return 1_000 * number + sum(runs.values())


@tool(idempotent=True)
async def glance(number: Annotated[int, "A number"]) -> int:
    """Return another result in each run, without a context and without waiting."""
    runs[f"c{number}"] += 1
    return 1_000 * number + sum(runs.values())


@tool(idempotent=True)
def leaf(number: Annotated[int, "A number"]) -> int:
    """Return another result in each run, in a thread."""
    runs[f"c{number}"] += 1
    return 1_000 * number + sum(runs.values())


@tool(mode="background", idempotent=True)
async def research(ctx: ToolContext, number: Annotated[int, "A number"]) -> int:
    """Return another result in each run, in the background."""
    runs[str(ctx.call_id)] += 1
    await asyncio.sleep(0)
    return 1_000 * number + sum(runs.values())


@tool(idempotent=True)
async def wait(ctx: ToolContext) -> int:
    """Wait to be released."""
    runs[str(ctx.call_id)] += 1
    await held.wait()
    return runs[str(ctx.call_id)]


TOOLS = (look, glance, leaf, research, wait)


async def result(session: Session, name: str, number: int) -> Outcome:
    outcome = await session.call(name, {"number": number}, call_id=f"c{number}")
    return outcome if outcome.done else await session.result(outcome.execution_id)


@pytest.mark.parametrize("name", ["look", "glance", "leaf", "research"])
async def test_x10_same_call_id_at_two_processes_runs_an_idempotent_tool_once(name: str, shared_url: str) -> None:
    async with (
        asyncio.timeout(60),
        Runtime(TOOLS, store=shared_url) as one,
        Runtime(TOOLS, store=shared_url) as other,
    ):
        here, there = await one.open("s", "ann"), await other.open("s", "ann")
        for number in range(PAIRS):
            first, second = await asyncio.gather(result(here, name, number), result(there, name, number))
            assert first.value == second.value
            assert first.execution_id == second.execution_id
        assert set(runs.values()) == {1}, f"{sum(count > 1 for count in runs.values())} of {PAIRS} ran twice"
        assert len(await here.history()) == PAIRS


async def test_x10_concurrent_calls_in_two_processes_run_once(shared_url: str) -> None:
    async with (
        asyncio.timeout(60),
        Runtime(TOOLS, store=shared_url) as one,
        Runtime(TOOLS, store=shared_url) as other,
    ):
        sessions = [await one.open("s", "ann"), await other.open("s", "ann")]
        calls = [result(session, "look", number) for number in range(PAIRS) for session in sessions]
        outcomes = await asyncio.gather(*calls)
        assert [each.value for each in outcomes[::2]] == [each.value for each in outcomes[1::2]]
        assert runs == {f"c{number}": 1 for number in range(PAIRS)}


async def test_x10_second_process_waits_for_the_result_of_the_first(shared_url: str) -> None:
    async with (
        asyncio.timeout(SOON),
        Runtime(TOOLS, store=shared_url) as one,
        Runtime(TOOLS, store=shared_url) as other,
    ):
        here, there = await one.open("s", "ann"), await other.open("s", "ann")
        first = asyncio.ensure_future(here.call("wait", call_id="c"))
        await until(lambda: runs["c"] == 1)
        second = asyncio.ensure_future(there.call("wait", call_id="c"))
        await until(lambda: any(execution.lost for execution in live_session(there).index.entries))
        assert not second.done()
        held.set()
        assert (await first).value == (await second).value == 1


async def test_x10_call_of_an_earlier_process_is_not_run_again(shared_url: str) -> None:
    for _ in range(3):
        async with asyncio.timeout(SOON), Runtime(TOOLS, store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            assert (await result(session, "look", 7)).value == 7_001
    assert runs == {"c7": 1}


async def test_x10_other_arguments_at_another_process_are_a_conflict_and_run_nothing(shared_url: str) -> None:
    async with (
        asyncio.timeout(SOON),
        Runtime(TOOLS, store=shared_url) as one,
        Runtime(TOOLS, store=shared_url) as other,
    ):
        here, there = await one.open("s", "ann"), await other.open("s", "ann")
        await here.call("look", {"number": 1}, call_id="c")
        refused = await there.call("look", {"number": 2}, call_id="c")
        assert refused.error is not None
        assert refused.error.category == "validation"
        assert runs == {"c": 1}
