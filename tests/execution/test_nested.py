"""Nested calls share the deadline and the end of their parent, and report their own errors."""

import asyncio
from typing import Annotated, Any, cast

import pytest

from callboard import RetryPolicy, Tool, ToolContext, ToolError, tool
from callboard.execution.streak import STREAK
from callboard.sessions.session import live_session
from callboard.testing import Harness, settle

pytestmark = pytest.mark.anyio

FIXED = RetryPolicy(max_attempts=3, base_delay=1.0, strategy="fixed")


@tool
async def double(number: Annotated[int, "Any"]) -> int:
    """Double."""
    return 2 * number


@tool
async def ask(
    ctx: ToolContext, name: Annotated[str, "Which tool"], number: Annotated[int | None, "Its argument"] = None
) -> object:
    """Call another tool."""
    return await ctx.call(name, {} if number is None else {"number": number})


async def test_x2_nested_call_is_an_execution_of_its_own_with_its_parent() -> None:
    async with Harness(ask, double) as harness:
        outcome = await harness.session.call("ask", {"name": "double", "number": 21})
        assert outcome.value == 42
        parent, child = harness.session.executions()
        assert (child.tool, child.parent_id, child.status, child.value) == ("double", parent.id, "succeeded", 42)
        assert harness.kinds(child.id) == ["tool_started", "tool_validating", "tool_executing", "tool_result"]
        assert [event.data["tool"] for event in harness.events() if event.kind == "tool_result"] == ["double", "ask"]


async def test_x4_errors_of_a_nested_call_propagate() -> None:
    @tool
    async def refuse() -> int:
        """Refuse."""
        raise ToolError("Not today.", category="permission", details={"until": "monday"})

    async with Harness(ask, refuse, double) as harness:
        outcome = await harness.session.call("ask", {"name": "refuse"})
        assert outcome.error is not None
        assert (outcome.error.category, outcome.error.message) == ("permission", "Not today.")
        assert outcome.error.details == {"until": "monday"}
        unknown = await harness.session.call("ask", {"name": "nothing"})
        assert unknown.error is not None
        assert unknown.error.message == "nothing, which the tool calls, failed: There is no tool 'nothing'."
        invalid = await harness.session.call("ask", {"name": "double"})
        assert invalid.error is not None
        assert invalid.error.message.startswith("double, which the tool calls, failed: ")
        for outcome in (unknown, invalid):
            assert outcome.error is not None
            assert outcome.error.category == "execution", "nothing was wrong with what the caller said"
        assert [record.tool for record in harness.session.executions()][-4:] == ["ask", "nothing", "ask", "double"]


@pytest.mark.parametrize(
    "error",
    [
        ToolError("Too many.", category="rate_limited"),
        ToolError("Nothing was done.", category="transient", retryable=True),
        ToolError("Wrong.", category="transient"),
    ],
    ids=["rate limited", "said to be retryable", "transient"],
)
@pytest.mark.parametrize("idempotent", [False, True])
async def test_x5_a_retryable_error_of_a_nested_call_does_not_retry_the_parent(
    error: ToolError, idempotent: bool
) -> None:
    paid: list[int] = []

    @tool
    async def book() -> None:
        """Book."""
        raise error

    @tool(idempotent=idempotent, retry=FIXED)
    async def pay(ctx: ToolContext) -> None:
        """Pay, and book it."""
        paid.append(1)
        await ctx.call("book")

    book = book.with_(retry=RetryPolicy(max_attempts=1))
    async with Harness(book, pay) as harness:
        call = await harness.start("pay")
        await harness.advance(10)
        assert call.result().status == "failed"
    assert len(paid) == (FIXED.max_attempts if idempotent else 1)


async def test_x5_a_handler_sees_the_error_of_a_nested_call_and_may_handle_it() -> None:
    @tool
    async def refuse() -> None:
        """Refuse."""
        raise ToolError("Not now.", category="rate_limited", retry_after=3.0)

    @tool
    async def careful(ctx: ToolContext) -> str:
        """Ask first."""
        try:
            await ctx.call("refuse")
        except ToolError as error:
            return f"{error.category} {error.retry_after}"
        return "no"

    async with Harness(refuse.with_(retry=RetryPolicy(max_attempts=1)), careful) as harness:
        assert (await harness.session.call("careful")).value == "rate_limited 3.0"


async def test_x3_the_events_of_a_caller_come_before_those_of_its_nested_call() -> None:
    async with Harness(ask, double) as harness:
        await harness.session.call("ask", {"name": "double", "number": 1})
        reported = [(event.kind, event.data["tool"]) for event in harness.events()]
    assert reported[:4] == [
        ("tool_started", "ask"),
        ("tool_validating", "ask"),
        ("tool_executing", "ask"),
        ("tool_started", "double"),
    ]


async def test_x8_another_attempt_begins_without_the_calls_of_the_one_before() -> None:
    running = 0
    most = 0

    @tool
    async def slow() -> None:
        """Take for ever."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            await asyncio.Event().wait()
        finally:
            running -= 1

    @tool(idempotent=True, retry=FIXED)
    async def both(ctx: ToolContext) -> None:
        """Begin something and fail."""
        begun.append(asyncio.ensure_future(ctx.call("slow")))
        await settle()
        raise ToolError("Failed.", category="transient")

    begun: list[asyncio.Future[object]] = []
    async with Harness(slow, both) as harness:
        call = await harness.start("both")
        for _ in range(FIXED.max_attempts):
            await harness.advance(1)
        assert call.result().status == "failed"
        await settle()
        assert (len(begun), most, running) == (FIXED.max_attempts, 1, 0)
        await asyncio.gather(*begun, return_exceptions=True)


async def test_x9_a_loop_of_nested_calls_yields_to_other_tasks() -> None:
    @tool
    async def loop(ctx: ToolContext) -> None:
        """Call again and again."""
        while not seen:
            await ctx.call("double", {"number": 1})

    seen: list[bool] = []
    async with Harness(loop, double) as harness:
        asyncio.get_running_loop().call_soon(seen.append, True)
        await harness.session.call("loop")
    assert seen


async def test_h5_calls_that_a_handler_makes_at_once_let_other_tasks_run() -> None:
    @tool
    async def leaf() -> None:
        """Count a start."""
        started.append(1)
        await asyncio.sleep(0)

    @tool
    async def fan_out(ctx: ToolContext) -> None:
        """Make many calls at once, and give up on some of them."""
        calls = [asyncio.ensure_future(ctx.call("leaf")) for _ in range(1_000)]
        await asyncio.sleep(0)
        for call in calls[200:300]:
            call.cancel()
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(each is None for each in done) == 900

    async def watch() -> None:
        seen = 0
        while True:
            in_a_row.append(len(started) - seen)
            seen = len(started)
            await asyncio.sleep(0)

    started: list[int] = []
    in_a_row: list[int] = []
    async with Harness(leaf, fan_out) as harness:
        watching = asyncio.ensure_future(watch())
        outcome = await harness.session.call("fan_out")
        watching.cancel()
        assert outcome.error is None
    assert len(started) == 900
    assert max(in_a_row) <= STREAK


async def test_h5_caller_holds_no_nested_calls_that_have_ended() -> None:
    """A caller that went through all its earlier calls for each new one would block the process."""
    held: list[int] = []

    @tool
    async def loop(ctx: ToolContext) -> None:
        """Call again and again."""
        parent = live_session(harness.session).index.by_id[ctx.execution_id or ""]
        for _ in range(3):
            await ctx.call("double", {"number": 1})
            held.append(len(parent.children or ()))

    async with Harness(loop, double) as harness:
        await harness.session.call("loop")
    assert held == [0, 0, 0]


async def test_x7_nested_call_inherits_the_deadline() -> None:
    seen: list[float | None] = []

    @tool(timeout=100.0)
    async def child(ctx: ToolContext) -> None:
        """Look at the time, and hang."""
        seen.append(ctx.remaining)
        await asyncio.Event().wait()

    @tool(timeout=10.0, total_timeout=30.0, inline_budget=60)
    async def parent(ctx: ToolContext) -> None:
        """Wait, then ask."""
        await harness.clock.sleep(4)
        await ctx.call("child")

    async with Harness(parent, child) as harness:
        call = await harness.start("parent")
        await harness.advance(4)
        assert seen == [6.0]
        await harness.advance(6)
        outcome = await call
        assert outcome.error is not None
        assert outcome.error.category == "timeout"
        assert all(record.completed_at is not None for record in harness.session.executions())


async def test_x8_nested_call_is_cancelled_with_its_parent() -> None:
    cleaned: list[str] = []

    def level(name: str, below: str | None) -> Tool:
        @tool(name=name, description="Go down.", mode="background")
        async def go(ctx: ToolContext) -> None:
            try:
                await (ctx.call(below) if below else asyncio.Event().wait())
            finally:
                cleaned.append(name)

        return go

    async with Harness(level("a", "b"), level("b", "c"), level("c", None)) as harness:
        outcome = await harness.session.call("a")
        await settle()
        assert len(harness.runtime.manager.live) == 3
        await harness.session.cancel(outcome.execution_id)
        await settle()
        assert sorted(cleaned) == ["a", "b", "c"]
        assert [record.status for record in harness.session.executions()] == ["cancelled"] * 3


async def test_x8_parent_survives_the_cancellation_of_its_child() -> None:
    @tool
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    @tool
    async def patient(ctx: ToolContext) -> str:
        """Ask, and take no for an answer."""
        try:
            await ctx.call("hang")
        except ToolError as error:
            return error.category.value
        return "nothing"

    async with Harness(patient, hang) as harness:
        call = await harness.start("patient")
        child = harness.session.executions()[1]
        assert await harness.session.cancel(child.id)
        assert (await call).value == "cancelled"


async def test_x8_handler_that_gives_up_on_a_nested_call_cancels_it() -> None:
    @tool
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    @tool
    async def impatient(ctx: ToolContext) -> str:
        """Wait for one turn of the loop only."""
        asked = asyncio.ensure_future(ctx.call("hang"))
        await settle(3)
        asked.cancel()
        await asyncio.wait([asked])
        return "gone on"

    async with Harness(impatient, hang) as harness:
        assert (await harness.session.call("impatient")).value == "gone on"
        await settle()
        assert [record.status for record in harness.session.executions()] == ["succeeded", "cancelled"]


async def test_x8_nested_calls_that_are_not_awaited_end_with_their_parent() -> None:
    @tool
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    tasks: list[asyncio.Future[object]] = []

    @tool
    async def careless(ctx: ToolContext) -> str:
        """Leave something behind."""
        tasks.append(asyncio.ensure_future(ctx.call("hang")))
        await settle(3)
        return "left"

    async with Harness(careless, hang) as harness:
        assert (await harness.session.call("careless")).value == "left"
        await settle()
        assert [record.status for record in harness.session.executions()] == ["succeeded", "cancelled"]
        assert harness.runtime.manager.live == ()
        with pytest.raises(ToolError):
            await tasks[0]


async def test_g6_nested_call_sees_only_the_tools_of_the_session() -> None:
    @tool(namespace="hidden")
    async def secret() -> int:
        """Be hidden."""
        return 1

    async with Harness(ask, secret) as harness:
        session = await harness.runtime.open("narrow", "tester", namespaces=["default"])
        outcome = await session.call("ask", {"name": "secret"})
        assert outcome.error is not None
        assert outcome.error.message == "secret, which the tool calls, failed: There is no tool 'secret'."
        assert outcome.error.category == "execution", "what the caller asked for is there"


async def test_x9_wide_and_deep_nesting_ends() -> None:
    @tool
    async def tree(ctx: ToolContext, depth: Annotated[int, "How deep"]) -> int:
        """Count the leaves."""
        if depth == 0:
            return 1
        return sum(await asyncio.gather(*(ctx.call("tree", {"depth": depth - 1}) for _ in range(3))))

    async with Harness(tree) as harness:
        assert (await harness.session.call("tree", {"depth": 5})).value == 3**5
        assert harness.runtime.manager.live == ()


async def test_x3_what_is_no_tool_cannot_be_called() -> None:
    def function() -> None: ...

    @tool
    async def outer(ctx: ToolContext) -> list[str]:
        """Call what is no tool."""
        seen: list[str] = []
        wrong: list[Any] = [5, function]
        for each in wrong:
            with pytest.raises(TypeError) as caught:
                await ctx.call(each)
            seen.append(str(caught.value))
        with pytest.raises(ValueError, match="a key has 1 to 100 printable characters, not 5"):
            await ctx.call("outer", key=cast(Any, 5))
        return seen

    async with Harness(outer) as harness:
        seen = (await harness.session.call("outer")).value
        assert seen[0] == "tool is 5; it must be the name of a tool of the session, or a tool of @tool."
        assert "tool is <function" in seen[1]
