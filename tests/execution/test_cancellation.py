"""Stopped executions end once, their handlers may clean up, and no event follows the end (X8)."""

import asyncio
import threading
from typing import Annotated

import anyio
import pytest

from callboard import Limits, RetryPolicy, Runtime, RuntimeNotOpen, Session, ToolContext, ToolError, tool
from callboard.sessions.session import live_session
from callboard.testing import Harness, ManualClock, settle

pytestmark = pytest.mark.anyio

FIXED = RetryPolicy(max_attempts=3, base_delay=5.0, strategy="fixed")  # pyright: ignore[reportArgumentType]


@tool(mode="background")
async def hang(number: Annotated[int, "Any"] = 0) -> int:
    """Hang until it is cancelled."""
    await asyncio.Event().wait()
    return number


async def test_x8_cancel_one_execution() -> None:
    async with Harness(hang) as harness:
        first, second = [(await harness.session.call("hang")).execution_id for _ in range(2)]
        await settle()
        assert await harness.session.cancel(first) is True
        outcome = await harness.session.result(first)
        assert (outcome.status, outcome.value) == ("cancelled", None)
        assert outcome.error is not None
        assert outcome.error.category == "cancelled"
        assert harness.session.execution(second).status == "executing"
        stats = harness.runtime.registry.stats("hang")
        assert (stats.cancellations, stats.failures) == (1, {})


async def test_x8_cancel_all_of_a_session_and_of_no_other() -> None:
    async with Harness(hang) as harness:
        other = await harness.runtime.open("other", "someone")
        ids = [(await harness.session.call("hang")).execution_id for _ in range(3)]
        kept = (await other.call("hang")).execution_id
        await settle()
        assert await harness.session.cancel_all() == 3
        assert [(await harness.session.result(each)).status for each in ids] == ["cancelled"] * 3
        assert other.execution(kept).status == "executing"
        assert await harness.session.cancel_all() == 0


async def test_x8_cancel_by_call_id() -> None:
    async with Harness(hang) as harness:
        outcome = await harness.session.call("hang", call_id="c1")
        await settle()
        assert await harness.session.cancel_call("c1") is True
        assert await harness.session.cancel_call("c2") is False
        assert (await harness.session.result(outcome.execution_id)).status == "cancelled"
        assert await harness.session.cancel_call("c1") is False


async def test_x8_cancel_before_the_handler_began() -> None:
    """The call is cancelled in the same turn of the loop in which it was made."""
    async with Harness(hang, grace=1_000) as harness:
        outcome = await harness.session.call("hang")
        assert await harness.session.cancel(outcome.execution_id)
        await settle()
        assert (await harness.session.result(outcome.execution_id)).status == "cancelled"
        assert harness.kinds()[-1] == "tool_result"
        assert (live_session(harness.session).running, harness.runtime.manager.live) == (0, ())


async def test_x8_cancel_twice_is_one_end_and_does_not_disturb_the_clean_up() -> None:
    steps: list[str] = []

    @tool(mode="background")
    async def careful() -> None:
        """Clean up with an await."""
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("cleaning")
            await harness.clock.sleep(2)
            steps.append("clean")

    async with Harness(careful, grace=5.0) as harness:
        outcome = await harness.session.call("careful")
        await settle()
        assert await harness.session.cancel(outcome.execution_id) is True
        await harness.advance(1)
        assert await harness.session.cancel(outcome.execution_id) is True
        assert steps == ["cleaning"]
        assert harness.session.execution(outcome.execution_id).status == "executing"
        await harness.advance(1)
        assert steps == ["cleaning", "clean"]
        assert harness.kinds().count("tool_result") == 1
        assert (await harness.session.result(outcome.execution_id)).status == "cancelled"
        assert await harness.session.cancel(outcome.execution_id) is False, "it has ended"


async def test_x8_cancel_of_something_unknown_is_not_found() -> None:
    async with Harness(hang) as harness:
        with pytest.raises(ToolError) as caught:
            await harness.session.cancel("x-unknown")
        assert caught.value.category == "not_found"


async def test_x8_handler_that_ignores_cancellation_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    go = asyncio.Event()
    returned: list[str] = []

    @tool(mode="background", concurrency=1)
    async def stubborn(ctx: ToolContext) -> str:
        """Go on."""
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                assert ctx.cancelled
        await ctx.progress("still here")
        await ctx.partial(1)
        with pytest.raises(ToolError, match="cancelled"):
            await ctx.call("stubborn")
        returned.append("late")
        return "late"

    async with Harness(stubborn, grace=5.0) as harness:
        outcome = await harness.session.call("stubborn")
        await settle()
        assert await harness.session.cancel(outcome.execution_id)
        await harness.advance(4.999)
        assert harness.session.execution(outcome.execution_id).status == "executing"
        await harness.advance(0.001)
        assert (await harness.session.result(outcome.execution_id)).status == "cancelled"
        assert "stubborn ignores its cancellation" in caplog.text
        end = harness.kinds()
        go.set()
        await settle()
        assert returned == ["late"]
        assert harness.kinds() == end, "nothing comes after the end"
        assert harness.session.execution(outcome.execution_id).value is None
        assert live_session(harness.session).running == 0
        assert harness.runtime.manager._finishing._abandoned == set()


async def test_x8_cancel_in_a_retry_delay() -> None:
    @tool(idempotent=True, retry=FIXED)
    async def flaky() -> None:
        """Fail."""
        raise ConnectionError("refused")

    async with Harness(flaky) as harness:
        call = await harness.start("flaky", call_id="c")
        assert harness.session.executions()[0].status == "waiting"
        assert await harness.session.cancel_call("c")
        outcome = await call
        assert outcome.status == "cancelled"
        assert harness.kinds()[-2:] == ["tool_retrying", "tool_result"]
        await harness.advance(100)
        assert harness.kinds()[-1] == "tool_result"
        assert harness.clock.pending == 0 or harness.kinds().count("tool_executing") == 1


async def test_x8_cancel_in_the_queue() -> None:
    async with Harness(hang, limits=Limits(total=1)) as harness:
        await harness.session.call("hang")
        queued = await harness.session.call("hang", call_id="q")
        assert harness.runtime.manager.queued == 1
        assert await harness.session.cancel_call("q")
        assert (await harness.session.result(queued.execution_id)).status == "cancelled"
        assert harness.runtime.manager.queued == 0
        assert harness.kinds(queued.execution_id) == ["tool_started", "tool_result"]
        assert live_session(harness.session).running == 1


async def test_x8_cancel_during_the_clean_up_of_a_timeout() -> None:
    attempts: list[int] = []

    @tool(timeout=5.0, idempotent=True, retry=FIXED)
    async def slow(ctx: ToolContext) -> None:
        """Clean up slowly."""
        attempts.append(ctx.attempt)
        try:
            await asyncio.Event().wait()
        finally:
            await harness.clock.sleep(2)

    async with Harness(slow, grace=5.0) as harness:
        call = await harness.start("slow", call_id="c")
        await harness.advance(6)
        assert await harness.session.cancel_call("c")
        await harness.advance(100)
        assert (await call).status == "cancelled"
        assert attempts == [1]


async def test_x8_cancelled_thread_is_left_and_its_value_discarded() -> None:
    entered, go, ended = threading.Event(), threading.Event(), threading.Event()
    seen: list[bool] = []

    @tool(mode="background")
    def block(ctx: ToolContext) -> str:
        """Block a thread, and poll for the cancellation."""
        entered.set()
        go.wait(90)
        seen.append(ctx.cancelled)
        ended.set()
        return "late"

    async with Harness(block) as harness:
        outcome = await harness.session.call("block")
        assert await asyncio.to_thread(entered.wait, 90)
        assert await harness.session.cancel(outcome.execution_id)
        await settle()
        assert (await harness.session.result(outcome.execution_id)).status == "cancelled"
        go.set()
        await asyncio.to_thread(ended.wait, 90)
        await settle()
        assert seen == [True]
        assert harness.session.execution(outcome.execution_id).value is None
        assert harness.kinds().count("tool_result") == 1


async def test_x8_cancelling_the_caller_does_not_cancel_the_execution() -> None:
    @tool
    async def slow() -> int:
        """Take a second."""
        await harness.clock.sleep(1)
        return 1

    async with Harness(slow) as harness:
        call = await harness.start("slow")
        call.cancel()
        await harness.advance(1)
        assert call.cancelled()
        (record,) = harness.session.executions()
        assert (record.status, record.value) == ("succeeded", 1)


async def test_x8_impatient_callers_leave_nothing_behind() -> None:
    async with Harness(hang) as harness:
        outcome = await harness.session.call("hang")
        for _ in range(20):
            waiting = asyncio.ensure_future(harness.session.result(outcome.execution_id, timeout=1))
            await settle()
            await harness.advance(1)
            assert (await waiting).status == "started"
        (execution,) = harness.runtime.manager.live
        assert execution.waiters is None


async def test_x8_shutdown_cancels_running_and_waiting_executions() -> None:
    cleaned: list[int] = []

    @tool(mode="background")
    async def work(number: Annotated[int, "Any"]) -> None:
        """Clean up with an await."""
        try:
            await asyncio.Event().wait()
        finally:
            await settle(3)
            cleaned.append(number)

    async with Harness(work, limits=Limits(total=2)) as harness:
        for number in range(4):
            await harness.session.call("work", {"number": number})
        await settle()
    assert cleaned == [0, 1], "the queued ones never ran"
    assert [record.status for record in harness.session.executions()] == ["cancelled"] * 4
    assert [harness.kinds(record.id).count("tool_result") for record in harness.session.executions()] == [1] * 4
    with pytest.raises(RuntimeNotOpen, match="has ended"):
        await harness.session.call("work", {"number": 9})
    assert cleaned == [0, 1]


async def test_x8_shutdown_abandons_handlers_that_ignore_it() -> None:
    go = asyncio.Event()

    @tool(mode="background")
    async def stubborn() -> str:
        """Go on."""
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    async with Harness(stubborn, grace=0.05) as harness:
        await harness.session.call("stubborn")
        await settle()
    (record,) = harness.session.executions()
    assert record.status == "cancelled"
    go.set()
    await settle()
    assert harness.kinds().count("tool_result") == 1


async def test_x8_shutdown_inside_a_cancelled_scope_still_cleans_up() -> None:
    cleaned: list[str] = []

    @tool(mode="background")
    async def work() -> None:
        """Clean up with an await."""
        try:
            await asyncio.Event().wait()
        finally:
            await settle(3)
            cleaned.append("yes")

    runtime = Runtime([work], clock=ManualClock())
    opened: list[Session] = []
    with anyio.CancelScope() as scope:
        async with runtime:
            opened.append(await runtime.open("s", "u"))
            await opened[0].call("work")
            await settle()
            scope.cancel()
            await anyio.sleep_forever()
    assert cleaned == ["yes"]
    assert [record.status for record in opened[0].executions()] == ["cancelled"]
