"""A change that the store refuses leaves no trace, and other changes of the session are written (E5, B6, X10)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import pytest

from callboard import Runtime, Session, ToolContext, ToolError, tool

pytestmark = pytest.mark.anyio

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool
async def charge(ctx: ToolContext, name: Annotated[str, "Any"]) -> str:
    """Run at most once."""
    ran.append(name)
    await asyncio.sleep(0)
    return name


@tool(idempotent=True)
async def plan(ctx: ToolContext, name: Annotated[str, "Any"]) -> str:
    """Call another tool."""
    return await ctx.call("charge", {"name": f"{name}/charge"})


@tool(mode="human")
async def pay(name: Annotated[str, "Any"]) -> str:
    """Ask a person."""
    return name


@tool
async def complain(name: Annotated[str, "Any"]) -> str:
    """Fail with details that JSON cannot represent."""
    raise ToolError(name, details={"ratio": float("nan"), "most": float("inf")})


TOOLS = (charge, plan, pay, complain)


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[Session, Session]]:
    """Open the same session in two runtimes that do not notify each other."""
    store = f"sqlite:///{tmp_path / 'callboard.db'}"
    async with Runtime(TOOLS, store=store) as one, Runtime(TOOLS, store=store) as two:
        yield await one.open("s", "ann"), await two.open("s", "ann")


async def test_x10_call_of_another_process_does_not_affect_calls_in_the_same_batch(
    pair: tuple[Session, Session],
) -> None:
    here, there = pair
    first = await there.call("charge", {"name": "c1"}, call_id="c1")
    again, other, asked, _ = await asyncio.gather(
        here.call("charge", {"name": "c1"}, call_id="c1"),
        here.call("charge", {"name": "c2"}, call_id="c2"),
        here.call("pay", {"name": "c3"}, call_id="c3"),
        here.post({"kind": "user_input", "text": "meanwhile"}),
    )
    assert (again.execution_id, again.value) == (first.execution_id, "c1")
    assert other.value == "c2"
    assert asked.status == "waiting"
    assert sorted(ran) == ["c1", "c2"]
    [request] = await here.requests()
    await here.answer(request.id, {"approved": True})
    assert (await here.result(asked.execution_id, timeout=90)).value == "c3"


async def test_x10_nested_calls_of_a_refused_call_are_not_stored_and_do_not_run(pair: tuple[Session, Session]) -> None:
    here, there = pair
    first = await there.call("plan", {"name": "c1"}, call_id="c1")
    before = [(record.id, record.status) for record in await here.history()]
    again, other = await asyncio.gather(
        here.call("plan", {"name": "c1"}, call_id="c1"), here.call("charge", {"name": "c2"}, call_id="c2")
    )
    assert (again.execution_id, again.value) == (first.execution_id, "c1/charge")
    after = [(record.id, record.status) for record in await here.history()]
    assert after == [*before, (other.execution_id, "succeeded")]
    assert sorted(ran) == ["c1/charge", "c2"]


async def test_b6_error_with_details_that_json_cannot_represent_is_stored(pair: tuple[Session, Session]) -> None:
    here, there = pair
    outcome = await here.call("complain", {"name": "no"})
    assert outcome.error is not None
    stored = await there.result(outcome.execution_id)
    assert stored.error is not None
    assert (stored.error.message, stored.error.details) == ("no", {"ratio": None, "most": None})


async def test_e5_result_of_a_caller_cancelled_during_the_commit_waits_to_be_taken(
    pair: tuple[Session, Session],
) -> None:
    here, _ = pair
    last = 0
    for name in map(str, range(50)):  # until the event is read before the caller resumes
        calling = asyncio.ensure_future(here.call("charge", {"name": name}, call_id=name))
        async for event in here.events(after=last):
            last = event.seq
            if event.kind == "tool_result":
                break
        if calling.cancel():  # its execution has ended, and its caller does not know it yet
            break
    else:
        pytest.fail("the caller always resumed first")
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert [outcome.value for outcome in await here.take_results()] == [name]


async def test_b6_acknowledged_cancellation_is_stored(pair: tuple[Session, Session]) -> None:
    here, there = pair
    asked = await here.call("pay", {"name": "c1"})
    assert await here.cancel(asked.execution_id)
    assert (await there.result(asked.execution_id, timeout=0)).status == "cancelled"
    assert await there.requests() == []


async def test_x10_call_with_edited_arguments_is_still_the_same_call(pair: tuple[Session, Session]) -> None:
    here, there = pair
    asked = await here.call("pay", {"name": "c1"}, call_id="c1")
    [request] = await here.requests()
    await here.answer(request.id, {"approved": True, "arguments": {"name": "edited"}})
    assert (await here.result(asked.execution_id, timeout=90)).value == "edited"
    for session in pair:
        assert (await session.call("pay", {"name": "c1"}, call_id="c1")).value == "edited"
        refused = await session.call("pay", {"name": "other"}, call_id="c1")
        assert refused.error is not None
        assert "was used before" in refused.error.message
    assert await there.requests() == []
