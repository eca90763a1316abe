"""Inline, promoted and background calls with every store, and the same call twice (M1, M2, M6, X10)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest

from callboard import Outcome, Runtime, Session, ToolContext, tool
from callboard.events.routing import Side, seen_by
from callboard.testing import ManualClock, settle

from .conftest import SOON, Make, board_of, ended, seen

pytestmark = pytest.mark.anyio

runs: list[Any] = []


class Door:
    """A gate at which a handler waits for its release."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.go = asyncio.Event()


door: Door


@pytest.fixture(autouse=True)
def fresh() -> None:
    global door
    door = Door()
    runs.clear()


@tool
async def add(a: Annotated[int, "One"], b: Annotated[float | None, "Two"] = None) -> int:
    """Add, and record the call."""
    runs.append(a)
    return a + 1


@tool(inline_budget=10.0)
async def wait(name: Annotated[str, "Which"] = "") -> str:
    """Wait for a release."""
    runs.append(name)
    door.entered.set()
    await door.go.wait()
    return "there"


@tool(mode="background")
async def report(ctx: ToolContext, steps: Annotated[int, "How many"] = 3) -> str:
    """Report."""
    runs.append(steps)
    for step in range(steps):
        await ctx.progress("working", (step + 1) / steps, f"step {step}")
        await ctx.partial({"step": step})
    return "done"


@tool
async def stream(count: Annotated[int, "How many"]) -> AsyncIterator[int]:
    """Yield numbers."""
    for number in range(count):
        yield number


@tool(mode="background")
async def fails() -> None:
    """Fail."""
    raise RuntimeError("broken")


TOOLS = (add, wait, report, stream, fails)


async def tell(session: Session, outcome: Outcome) -> list[str]:
    """Return the kinds of an execution's events."""
    return [event.kind for event in await board_of(session) if event.data["execution_id"] == outcome.execution_id]


# Modes


async def test_m1_inline_result_is_delivered_once(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("add", {"a": 1}, call_id="c")
        assert (outcome.status, outcome.value, outcome.call_id) == ("succeeded", 2, "c")
        assert await tell(session, outcome) == ["tool_started", "tool_validating", "tool_executing", "tool_result"]
        assert await session.take_results() == []
        assert not session.has_pending_work
        for bad in ({"a": "x"}, {"b": 1}, {"a": 1, "c": 2}, b"{"):
            refused = await session.call("add", bad)
            assert refused.error is not None
            assert refused.error.category == "validation"
        assert [record.status for record in await session.history()] == ["succeeded"] + ["failed"] * 4


async def test_m1_call_that_exceeds_its_budget_is_promoted_and_continues(make: Make) -> None:
    clock = ManualClock()
    async with make(*TOOLS, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        call = asyncio.ensure_future(session.call("wait", call_id="c"))
        await door.entered.wait()
        await clock.advance(9.9)
        assert not call.done()
        await clock.advance(0.1)
        outcome = await call
        assert (outcome.status, outcome.value["status"]) == ("started", "started")
        assert session.has_pending_work
        door.go.set()
        assert (await ended(session, outcome.execution_id)).value == "there"
        assert [each.value for each in await session.take_results()] == ["there"], "it came late"
        assert (await tell(session, outcome)).count("tool_result") == 1
        (record,) = await session.history()
        assert record.promoted is True


async def test_m2_background_call_is_not_recorded_as_promoted(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("report")
        await ended(session, outcome.execution_id)
        [record] = await session.history()
        assert record.promoted is False


async def test_m1_promoted_result_survives_a_restart(shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        call = asyncio.ensure_future(session.call("wait"))
        await door.entered.wait()
        await clock.advance(10)
        outcome = await call
        door.go.set()
        await session.close()
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert [each.execution_id for each in await session.take_results()] == [outcome.execution_id]


async def test_m1_result_of_a_cancelled_caller_is_not_lost(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        call = asyncio.ensure_future(session.call("wait", call_id="c"))
        await door.entered.wait()
        call.cancel()
        await asyncio.wait([call])
        door.go.set()
        event = await seen(session, "tool_result")
        assert (event.data["status"], event.data["value"]) == ("succeeded", "there")
        assert [each.value for each in await session.take_results()] == ["there"]


async def test_m2_acknowledgement_progress_parts_and_one_result(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("report", {"steps": 2}, call_id="c")
        assert outcome.status == "started"
        assert {**outcome.value, "message": ""} == {
            "status": "started",
            "execution_id": outcome.execution_id,
            "tool": "report",
            "message": "",
        }
        assert (await ended(session, outcome.execution_id)).value == "done"
        kinds = ["tool_started", "tool_validating", "tool_executing"]
        kinds += ["tool_progress", "tool_partial"] * 2 + ["tool_result"]
        assert await tell(session, outcome) == kinds
        parts = [event.data["value"] for event in await board_of(session) if event.kind == "tool_partial"]
        assert parts == [{"step": 0}, {"step": 1}]
        assert [each.value for each in await session.take_results()] == ["done"]


async def test_m2_generator_gives_parts_and_the_last_is_the_result(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("stream", {"count": 3})
        assert (await ended(session, outcome.execution_id)).value == 2
        assert [event.data["value"] for event in await board_of(session) if event.kind == "tool_partial"] == [0, 1]


async def test_m2_background_failure_and_cancellation_are_results_too(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        failed = await session.call("fails")
        await ended(session, failed.execution_id)
        asked = asyncio.ensure_future(session.call("wait"))
        await door.entered.wait()
        assert await session.cancel_all() == 1
        assert (await asked).status == "cancelled"
        assert [each.status for each in await session.take_results()] == ["failed"], "the cancelled one was answered"


async def test_m2_result_can_be_awaited_in_another_runtime(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        session, other = await one.open("s", "ann"), await two.open("s", "ann")
        call = asyncio.ensure_future(session.call("wait", call_id="c"))
        await door.entered.wait()
        (record,) = await other.history()
        assert (record.status, record.call_id) == ("executing", "c")
        assert (await other.result(record.id, timeout=0)).status == "started"
        waiting = asyncio.ensure_future(ended(other, record.id))
        await settle()
        assert not waiting.done()
        door.go.set()
        assert (await waiting).value == (await call).value == "there"


async def test_m6_progress_is_for_people_and_results_are_for_both(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("report", {"steps": 1})
        await ended(session, outcome.execution_id)
        events = await board_of(session)
        assert [event.kind for event in events if seen_by(event.kind, Side.MODEL, event.data)] == ["tool_result"]
        assert all(seen_by(event.kind, Side.PEOPLE, event.data) for event in events)


# The same call twice


async def test_x10_same_call_in_two_runtimes_at_once_runs_once(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        first, second = await one.open("s", "ann"), await two.open("s", "ann")
        for number in range(4):
            outcomes = await asyncio.gather(
                *(session.call("add", {"a": number}, call_id=f"c{number}") for session in (first, second) * 2)
            )
            assert len(set(outcomes)) == 1
            assert outcomes[0].value == number + 1
        assert runs == [0, 1, 2, 3]
        results = [event for event in await board_of(first) if event.kind == "tool_result"]
        assert [event.data["call_id"] for event in results] == ["c0", "c1", "c2", "c3"]
        assert len(await second.history()) == 4


async def test_x10_second_runtime_waits_for_the_first(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        session, other = await one.open("s", "ann"), await two.open("s", "ann")
        first = asyncio.ensure_future(session.call("wait", {"name": "a"}, call_id="c"))
        await door.entered.wait()
        second = asyncio.ensure_future(other.call("wait", {"name": "a"}, call_id="c"))
        background = await session.call("report", {"steps": 0}, call_id="b")
        again = await other.call("report", {"steps": 0}, call_id="b")
        assert again.execution_id == background.execution_id
        assert not second.done()
        door.go.set()
        async with asyncio.timeout(SOON):
            assert (await second) == (await first)
        assert runs.count("a") == 1


async def test_x10_repeated_call_gets_the_first_outcome_after_a_restart(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        first = await session.call("add", {"a": 1, "b": 1.5}, call_id="c")
        failed = await session.call("add", {"a": "x"}, call_id="bad")
        late = await session.call("report", call_id="late")
        await ended(session, late.execution_id)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        for same in ('{"b": 1.5, "a": 1}', {"a": 1, "b": 1.5}, b'{"a":1,\n"b":1.50}'):
            assert await session.call("add", same, call_id="c") == first
        again = await session.call("add", {"a": "x"}, call_id="bad")
        assert (again.status, again.execution_id) == (failed.status, failed.execution_id)
        assert again.error is not None
        assert again.error.category == "validation"
        assert (await session.call("report", call_id="late")).value == "done"
        assert runs == [1, 3]


async def test_x10_other_arguments_under_the_same_id_are_a_conflict_and_do_not_run(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        session, other = await one.open("s", "ann"), await two.open("s", "ann")
        first = await session.call("add", {"a": 1}, call_id="c")
        for caller in (session, other):
            for name, arguments in (("add", {"a": 2}), ("report", {"steps": 1}), ("wait", {})):
                outcome = await caller.call(name, arguments, call_id="c")
                assert outcome.error is not None
                assert outcome.error.category == "validation"
                assert outcome.error.message == (
                    "The call id 'c' was used before, for add with other arguments. Use a new id."
                )
                assert outcome.execution_id == first.execution_id
            assert await caller.call("add", {"a": 1}, call_id="c") == first, "the first one is untouched"
        assert runs == [1]
        assert not other.has_pending_work
        assert await other.take_results() == []


async def test_x10_unknown_tool_does_not_take_an_id_from_another_runtime(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        session, other = await one.open("s", "ann"), await two.open("s", "ann")
        first = await session.call("add", {"a": 1}, call_id="c")
        outcome = await other.call("nothing", {}, call_id="c")
        assert outcome.status == "failed"
        assert await other.call("add", {"a": 1}, call_id="c") == first
        assert [event.seq for event in await board_of(session)] == [1, 2, 3, 4]
