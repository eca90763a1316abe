"""Inline, promoted and background calls (M1, M2, M6)."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

import pytest

from callboard import Event, ToolContext, tool
from callboard.testing import Harness, settle

pytestmark = pytest.mark.anyio


@tool(mode="background")
async def report(ctx: ToolContext, steps: Annotated[int, "How many"] = 3) -> str:
    """Report progress."""
    for step in range(steps):
        await ctx.progress("working", (step + 1) / steps, f"step {step}")
        await ctx.partial({"step": step})
    return "done"


async def test_m1_inline_result_comes_back_within_the_call() -> None:
    @tool
    async def quick(text: Annotated[str, "What"]) -> str:
        """Answer."""
        return text

    async with Harness(quick) as harness:
        outcome = await harness.session.call("quick", {"text": "ä\n"}, call_id="c")
        assert (outcome.status, outcome.value, outcome.error, outcome.done) == ("succeeded", "ä\n", None, True)
        assert (outcome.call_id, outcome.tool) == ("c", "quick")
        assert harness.session.execution(outcome.execution_id).promoted is False


async def test_m1_call_that_never_waits_takes_at_most_one_turn_of_the_event_loop() -> None:
    @tool
    async def quick() -> int:
        """Answer."""
        return 1

    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with Harness(quick) as harness:
        counting = asyncio.create_task(count())
        await asyncio.sleep(0)
        before = turns
        assert (await harness.session.call("quick")).value == 1
        assert turns - before <= 1
        counting.cancel()


async def test_m1_caller_that_leaves_in_the_first_step_gets_the_result_late() -> None:
    entered = asyncio.Event()

    @tool
    async def quick() -> int:
        """Answer after a turn of the event loop."""
        entered.set()
        await asyncio.sleep(0)
        return 1

    async with Harness(quick) as harness:
        caller = asyncio.ensure_future(harness.session.call("quick", call_id="c"))
        await asyncio.sleep(0)  # the call was made, and its task may not have begun
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        await settle()
        assert entered.is_set()
        assert [late.value for late in await harness.session.take_results()] == [1]


async def test_m1_promotion_is_exact_and_cancels_nothing() -> None:
    @tool(inline_budget=10.0)
    async def long() -> str:
        """Take twelve seconds."""
        await harness.clock.sleep(12)
        return "there"

    async with Harness(long) as harness:
        call = await harness.start("long")
        await harness.advance(9.999)
        assert not call.done()
        await harness.advance(0.001)
        outcome = await call
        assert (outcome.status, outcome.done, outcome.error) == ("started", False, None)
        assert set(outcome.value) == {"status", "execution_id", "tool", "message"}
        assert outcome.value["status"] == "started"
        assert outcome.value["execution_id"] == outcome.execution_id
        record = harness.session.execution(outcome.execution_id)
        assert (record.status, record.promoted) == ("executing", True)
        waiting = asyncio.ensure_future(harness.session.result(outcome.execution_id))
        await harness.advance(1.999)
        assert not waiting.done()
        await harness.advance(0.001)
        assert ((await waiting).status, (await waiting).value) == ("succeeded", "there")
        ends = [event.data["value"] for event in harness.events() if event.kind == "tool_result"]
        assert ends == ["there"]


async def test_m1_default_budget_is_ten_seconds() -> None:
    @tool
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    async with Harness(hang) as harness:
        call = await harness.start("hang")
        await harness.advance(9.99)
        assert not call.done()
        await harness.advance(0.01)
        assert (await call).status == "started"


async def test_m1_call_that_ends_at_its_budget_is_not_promoted_twice() -> None:
    """The call ends exactly at its budget: the caller gets one correct outcome."""

    @tool(inline_budget=5.0, total_timeout=5.0)
    async def slow() -> int:
        """Hang."""
        await asyncio.Event().wait()
        return 1

    async with Harness(slow) as harness:
        call = await harness.start("slow")
        await harness.advance(5)
        outcome = await call
        final = await harness.session.result(outcome.execution_id)
        assert final.error is not None
        assert final.error.category == "timeout"
        assert harness.kinds().count("tool_result") == 1


async def test_m1_result_with_a_timeout_says_that_it_goes_on() -> None:
    @tool(mode="background")
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    async with Harness(hang) as harness:
        outcome = await harness.session.call("hang")
        waiting = asyncio.ensure_future(harness.session.result(outcome.execution_id, timeout=60))
        await harness.advance(59.9)
        assert not waiting.done()
        await harness.advance(0.1)
        assert (await waiting).status == "started"
        assert harness.session.execution(outcome.execution_id).status == "executing"


async def test_m2_background_is_acknowledged_at_once_then_progress_then_one_result() -> None:
    async with Harness(report) as harness:
        outcome = await harness.session.call("report", {"steps": 2}, call_id="c")
        assert outcome.status == "started"
        assert outcome.value == {
            "status": "started",
            "execution_id": outcome.execution_id,
            "tool": "report",
            "message": "It is running. Its result will be reported when it is there; do not call it again for the "
            "same purpose.",
        }
        assert (await harness.session.result(outcome.execution_id)).value == "done"
        assert [
            (event.kind, event.data.get("fraction"), event.data.get("message"), event.data.get("value"))
            for event in harness.events()[3:]
        ] == [
            ("tool_progress", 0.5, "step 0", None),
            ("tool_partial", None, None, {"step": 0}),
            ("tool_progress", 1.0, "step 1", None),
            ("tool_partial", None, None, {"step": 1}),
            ("tool_result", None, None, "done"),
        ]


async def test_m2_progress_is_seen_and_a_stop_is_heard_while_a_handler_never_waits() -> None:
    seen: list[float] = []

    @tool(mode="background")
    async def busy(ctx: ToolContext) -> None:
        """Report progress without ever waiting."""
        for step in range(1_000):
            await ctx.progress("working", step / 1_000)

    async with Harness(busy) as harness:
        session = harness.session

        def arrived(events: Sequence[Event]) -> None:
            seen.extend(event.data["fraction"] for event in events if event.kind == "tool_progress")
            if len(seen) == 3:
                stopping.append(asyncio.ensure_future(session.cancel(outcome.execution_id)))

        stopping: list[asyncio.Future[bool]] = []
        with session.subscribe(arrived):
            outcome = await session.call("busy")
            ended = await session.result(outcome.execution_id)
        assert ended.status == "cancelled"
        assert len(seen) < 10
        assert await stopping[0]


@pytest.mark.skipif(not hasattr(asyncio, "eager_task_factory"), reason="there are no eager tasks")
async def test_m2_background_is_acknowledged_first_also_where_tasks_begin_eagerly() -> None:
    @tool(mode="background")
    async def quick() -> int:
        """End at once."""
        return 1

    asyncio.get_running_loop().set_task_factory(getattr(asyncio, "eager_task_factory"))  # noqa: B009
    async with Harness(quick) as harness:
        outcome = await harness.session.call("quick")
        assert outcome.status == "started"
        assert (await harness.session.result(outcome.execution_id)).value == 1
        assert [late.execution_id for late in await harness.session.take_results()] == [outcome.execution_id]


async def test_m2_async_generator_yields_partial_results_and_the_last_is_the_result() -> None:
    @tool
    async def count(upto: Annotated[int, "How far"]) -> AsyncIterator[int]:
        """Count."""
        for number in range(upto):
            yield number

    async with Harness(count) as harness:
        outcome = await harness.session.call("count", {"upto": 4})
        assert outcome.status == "started"
        assert (await harness.session.result(outcome.execution_id)).value == 3
        events = [(event.kind, event.data["value"]) for event in harness.events()[3:]]
        assert events == [("tool_partial", 0), ("tool_partial", 1), ("tool_partial", 2), ("tool_result", 3)]


async def test_m2_yielded_values_are_published_at_once() -> None:
    go = asyncio.Event()

    @tool
    async def slow() -> AsyncIterator[str]:
        """Take long between two parts."""
        yield "first"
        await go.wait()
        yield "second"
        yield "third"

    async with Harness(slow) as harness:
        outcome = await harness.session.call("slow")
        await settle()
        assert [event.data["value"] for event in harness.events() if event.kind == "tool_partial"] == ["first"]
        go.set()
        assert (await harness.session.result(outcome.execution_id)).value == "third"
        reported = [(event.kind, event.data["value"]) for event in harness.events()[3:]]
        assert reported == [("tool_partial", "first"), ("tool_partial", "second"), ("tool_result", "third")]


@pytest.mark.parametrize("waits", [False, True])
async def test_m2_values_yielded_before_a_failure_are_published(waits: bool) -> None:
    @tool
    async def breaks() -> AsyncIterator[str]:
        """Break after two parts."""
        yield "first"
        yield "second"
        if waits:
            await asyncio.sleep(0)
        raise RuntimeError("broken")

    async with Harness(breaks) as harness:
        outcome = await harness.session.call("breaks")
        assert (await harness.session.result(outcome.execution_id)).status == "failed"
        reported = [(event.kind, event.data.get("value")) for event in harness.events()[3:]]
        assert reported == [("tool_partial", "first"), ("tool_partial", "second"), ("tool_result", None)]


async def test_m2_a_last_value_before_clean_up_that_waits_is_published_and_is_the_result() -> None:
    @tool
    async def cleaned() -> AsyncIterator[int]:
        """Clean up at the end."""
        try:
            yield 1
        finally:
            await asyncio.sleep(0)

    async with Harness(cleaned) as harness:
        outcome = await harness.session.call("cleaned")
        assert (await harness.session.result(outcome.execution_id)).value == 1
        assert harness.kinds()[3:] == ["tool_partial", "tool_result"]


async def test_m2_a_partial_result_that_cannot_be_published_fails_where_the_generator_waits() -> None:
    steps: list[str] = []

    @tool
    async def odd() -> AsyncIterator[Any]:
        """Yield a value that is not JSON."""
        try:
            yield object()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("clean")

    async with Harness(odd) as harness:
        outcome = await harness.session.call("odd")
        ended = await harness.session.result(outcome.execution_id)
        assert ended.error is not None
        assert ended.error.message == "A partial result cannot be written as JSON."
        assert steps == ["clean"]


async def test_m2_generator_may_await_a_future_that_others_await() -> None:
    shared = asyncio.get_running_loop().create_future()

    async def other() -> str:
        return str(await shared)

    @tool
    async def parts() -> AsyncIterator[str]:
        """Give a part, and wait with others."""
        yield "first"
        others.append(asyncio.ensure_future(other()))
        yield str(await shared)

    others: list[asyncio.Future[str]] = []
    async with Harness(parts) as harness:
        outcome = await harness.session.call("parts")
        await settle()
        shared.set_result("last")
        assert (await harness.session.result(outcome.execution_id)).value == "last"
        assert await others[0] == "last"


async def test_m2_generator_is_cleaned_up_when_it_is_cancelled() -> None:
    steps: list[str] = []

    @tool
    async def stream() -> AsyncIterator[int]:
        """Stream."""
        try:
            yield 1
            await asyncio.Event().wait()
            yield 2
        finally:
            steps.append("clean")

    async with Harness(stream) as harness:
        outcome = await harness.session.call("stream")
        await settle()
        await harness.session.cancel(outcome.execution_id)
        assert (await harness.session.result(outcome.execution_id)).status == "cancelled"
        assert steps == ["clean"]


@pytest.mark.parametrize("fraction", [-0.1, 1.01, math.nan, math.inf])
async def test_m2_fraction_out_of_range_is_the_handlers_error(fraction: float) -> None:
    @tool
    async def bad(ctx: ToolContext) -> None:
        """Report nonsense."""
        await ctx.progress("working", fraction)

    async with Harness(bad) as harness:
        outcome = await harness.session.call("bad")
        assert outcome.error is not None
        assert outcome.error.category == "execution"
        assert "tool_progress" not in harness.kinds()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ((0.5,), "stage is 0.5; it must be a non-empty string."),
        ((None,), "stage is None; it must be a non-empty string."),
        (("pages", 0.5, 12), "message is 12; it must be a string or None."),
        (("pages", "0.5"), "fraction is '0.5'; it must be a number from 0 to 1."),
        (("pages", True), "fraction is True; it must be a number from 0 to 1."),
    ],
)
async def test_m2_progress_of_another_type_is_the_handlers_error(given: tuple[Any, ...], problem: str) -> None:
    @tool
    async def job(ctx: ToolContext) -> None:
        """Report progress."""
        await ctx.progress(*given)

    async with Harness(job) as harness:
        outcome = await harness.session.call("job")
        assert outcome.error is not None
        assert problem in str(outcome.error.report)
        assert "tool_progress" not in harness.kinds()


@pytest.mark.parametrize("value", [object(), {"x": {1, 2, object()}}, "\ud800"], ids=["object", "nested", "surrogate"])
async def test_m2_partial_that_is_not_json_is_the_handlers_error(value: Any) -> None:
    @tool
    async def bad(ctx: ToolContext) -> None:
        """Show nonsense."""
        await ctx.partial(value)

    async with Harness(bad) as harness:
        outcome = await harness.session.call("bad")
        assert outcome.status == "failed"
        assert harness.kinds()[-2:] == ["tool_executing", "tool_result"]


async def test_m2_stages_and_messages_are_any_text() -> None:
    text = 'a "quoted"\nline\x00 \u2028 🎭'

    @tool
    async def say(ctx: ToolContext) -> None:
        """Say something."""
        await ctx.progress(text, 0, text)

    async with Harness(say) as harness:
        await harness.session.call("say")
        (event,) = [event for event in harness.events() if event.kind == "tool_progress"]
        assert (event.data["stage"], event.data["message"], event.data["fraction"]) == (text, text, 0)
        assert b"\n" not in event.encoded


async def test_m6_progress_is_never_part_of_the_model_messages() -> None:
    async with Harness(report) as harness:
        outcome = await harness.session.call("report")
        final = await harness.session.result(outcome.execution_id)
        assert final.result_json == b'"done"'
        read = (
            (outcome.result_json or b"")
            + (final.result_json or b"")
            + harness.session.result_text(final.execution_id).encode()
        )
        assert b"working" not in read
        assert b"step" not in read
        assert harness.kinds().count("tool_progress") == 3
