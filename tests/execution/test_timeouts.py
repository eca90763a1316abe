"""Attempts and executions that take too long (X7)."""

import asyncio
import threading
import time
from typing import Annotated, Any

import pytest

from callboard import RetryPolicy, ToolContext, tool
from callboard.testing import Harness, settle

pytestmark = pytest.mark.anyio

FIXED = RetryPolicy(max_attempts=3, base_delay=2.0, strategy="fixed")  # pyright: ignore[reportArgumentType]


async def test_x7_attempt_ends_at_its_timeout_and_not_before() -> None:
    @tool(timeout=5.0)
    async def slow() -> int:
        """Take too long."""
        await asyncio.Event().wait()
        return 1

    async with Harness(slow) as harness:
        call = await harness.start("slow")
        await harness.advance(4.999)
        assert not call.done()
        await harness.advance(0.001)
        outcome = await call
        assert outcome.status == "failed"
        assert outcome.error is not None
        assert outcome.error.category == "timeout"
        assert outcome.error.message == "The tool slow did not finish in time. It is not known whether it took effect."
        assert harness.session.execution(outcome.execution_id).ran_for == 5.0


async def test_x7_timed_out_attempt_of_an_idempotent_tool_is_retried() -> None:
    @tool(timeout=5.0, idempotent=True, retry=FIXED)
    async def slow(ctx: ToolContext) -> int:
        """Hang once."""
        if ctx.attempt == 1:
            await asyncio.Event().wait()
        return ctx.attempt

    async with Harness(slow) as harness:
        call = await harness.start("slow")
        await harness.advance(7)
        outcome = await call
        assert outcome.value == 2
        record = harness.session.execution(outcome.execution_id)
        assert [error["category"] for error in record.previous_errors] == ["timeout"]
        assert record.ran_for == 7.0


async def test_x7_each_attempt_has_the_whole_timeout() -> None:
    @tool(timeout=5.0, idempotent=True, retry=FIXED, total_timeout=100.0, inline_budget=100.0)
    async def slow(ctx: ToolContext) -> float | None:
        """Take four seconds, and fail twice."""
        await harness.clock.sleep(4)
        if ctx.attempt < 3:
            raise ConnectionError("refused")
        return ctx.remaining

    async with Harness(slow) as harness:
        call = await harness.start("slow")
        await harness.advance(16)
        assert (await call).value == 1.0


async def test_x7_execution_ends_at_its_total_timeout_whatever_it_does() -> None:
    @tool(timeout=5.0, total_timeout=12.0, idempotent=True, retry=FIXED, inline_budget=100)
    async def slow() -> int:
        """Take too long, each time."""
        await asyncio.Event().wait()
        return 1

    async with Harness(slow) as harness:
        call = await harness.start("slow")
        await harness.advance(11.9)
        assert not call.done()
        await harness.advance(0.1)
        outcome = await call
        assert outcome.error is not None
        assert outcome.error.category == "timeout"
        record = harness.session.execution(outcome.execution_id)
        assert (record.attempt, record.ran_for, len(record.previous_errors)) == (2, 12.0, 1)


async def test_x7_total_timeout_within_a_delay_and_within_the_queue() -> None:
    @tool(total_timeout=3.0, idempotent=True, retry=RetryPolicy(3, 10.0, strategy="fixed"))  # pyright: ignore[reportArgumentType]
    async def flaky() -> int:
        """Fail."""
        raise ConnectionError("refused")

    @tool(total_timeout=3.0, concurrency=1)
    async def one() -> int:
        """Run alone, and never end."""
        await harness.clock.sleep(2.5)
        await asyncio.Event().wait()
        return 1

    async with Harness(flaky, one) as harness:
        calls = [await harness.start(name) for name in ("flaky", "one", "one")]
        assert harness.runtime.manager.queued == 1
        await harness.advance(3)
        outcomes = [await call for call in calls]
        assert [outcome.error.category for outcome in outcomes if outcome.error] == ["timeout"] * 3
        assert harness.kinds(outcomes[2].execution_id) == ["tool_started", "tool_result"]
        assert harness.runtime.manager.queued == 0


async def test_x7_total_timeout_during_the_clean_up_of_an_attempt_is_the_end() -> None:
    entered: list[int] = []

    @tool(timeout=5.0, total_timeout=6.0, idempotent=True, retry=FIXED)
    async def slow(ctx: ToolContext) -> int:
        """Clean up for two seconds."""
        entered.append(ctx.attempt)
        try:
            await asyncio.Event().wait()
        finally:
            await harness.clock.sleep(2)
        return 1

    async with Harness(slow, grace=4.0) as harness:
        call = await harness.start("slow")
        await harness.advance(60)
        outcome = await call
        assert outcome.error is not None
        assert outcome.error.category == "timeout"
        assert entered == [1], "there was no time for another attempt"
        assert harness.session.execution(outcome.execution_id).ran_for == 7.0


async def test_x7_deadline_is_in_the_context() -> None:
    seen: list[float | None] = []

    @tool(timeout=5.0, total_timeout=8.0, idempotent=True, retry=FIXED)
    async def watch(ctx: ToolContext) -> int:
        """Look at the time."""
        seen.append(ctx.remaining)
        await harness.clock.sleep(1)
        seen.append(ctx.remaining)
        if ctx.attempt == 1:
            raise ConnectionError("refused")
        return 1

    @tool
    async def free(ctx: ToolContext) -> None:
        """Have no deadline."""
        seen.append(ctx.remaining)

    async with Harness(watch, free) as harness:
        await harness.start("watch")
        await harness.advance(10)
        assert seen == [5.0, 4.0, 5.0, 4.0]  # the second attempt began at 3: both deadlines are at 8
        await harness.session.call("free")
        assert seen[-1] is None


async def test_x7_value_returned_after_the_timeout_is_discarded() -> None:
    @tool(timeout=5.0)
    async def stubborn() -> str:
        """Return despite the cancellation."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "late"
        return "never"

    async with Harness(stubborn) as harness:
        call = await harness.start("stubborn")
        await harness.advance(5)
        outcome = await call
        assert (outcome.status, outcome.value) == ("failed", None)
        assert harness.kinds().count("tool_result") == 1


@pytest.mark.parametrize("limit", ["timeout", "total_timeout"])
async def test_x7_a_handler_that_blocks_the_loop_past_its_deadline_fails(limit: str) -> None:
    options: Any = {limit: 1.0}
    async with Harness() as harness:

        @tool(**options)
        async def block() -> int:
            """Hold up the event loop."""
            harness.clock._now += 2.0  # while nothing else runs
            return 1

        harness.runtime.registry.register(block)
        outcome = await harness.session.call("block")
        assert outcome.error is not None
        assert outcome.error.category == "timeout"


async def test_x7_timeout_of_a_handler_in_a_thread() -> None:
    entered, go, ended = threading.Event(), threading.Event(), threading.Event()

    @tool(timeout=5.0)
    def block(seconds: Annotated[float, "How long"]) -> str:
        """Block a thread."""
        entered.set()
        go.wait(seconds)
        ended.set()
        return "late"

    async with Harness(block) as harness:
        call = await harness.start("block", {"seconds": 10})
        assert await asyncio.to_thread(entered.wait, 90)
        await harness.advance(5)
        outcome = await call
        assert outcome.error is not None
        assert outcome.error.category == "timeout"
        go.set()
        await asyncio.to_thread(ended.wait, 90)
        await settle()
        assert harness.session.execution(outcome.execution_id).value is None
        assert harness.kinds().count("tool_result") == 1


async def test_x7_timeouts_by_the_clock_of_the_host() -> None:
    """The same with real time, once, so that the clock of production is used too."""
    from callboard import Runtime

    @tool(timeout=0.05)
    async def slow() -> None:
        """Take too long."""
        await asyncio.Event().wait()

    async with Runtime([slow]) as runtime:
        session = await runtime.open("s", "u")
        start = time.monotonic()
        outcome = await session.call("slow")
        assert outcome.error is not None
        assert outcome.error.category == "timeout"
        assert 0.04 < time.monotonic() - start < 2.0
