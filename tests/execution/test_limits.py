"""Slots: the calls that run, those that are queued, and their order (X9)."""

import asyncio
import sys
from typing import Annotated, Any

import pytest

from callboard import Limits, Outcome, Tool, ToolContext, ToolError, tool
from callboard.execution.limits import LimitsError
from callboard.sessions.session import live_session
from callboard.testing import Harness, settle

pytestmark = pytest.mark.anyio


class Works:
    """A tool whose calls end when the test says so, in the order in which they began."""

    def __init__(self, name: str = "work", mode: Any = "background", **options: Any) -> None:
        self.began: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}

        @tool(name=name, description="Work.", mode=mode, **options)
        async def work(name: Annotated[str, "Which"]) -> str:
            self.began.append(name)
            await self.ends.setdefault(name, asyncio.Event()).wait()
            return name

        self.tool: Tool = work

    async def end(self, *names: str) -> None:
        for name in names:
            self.ends.setdefault(name, asyncio.Event()).set()
            await settle()


def test_x9_defaults_are_those_of_the_specification() -> None:
    limits = Limits()
    assert (limits.total, limits.per_user, limits.per_session, limits.queue) == (4_096, 1_024, 256, 10_000)


@pytest.mark.parametrize("name", ["total", "per_user", "per_session", "threads"])
def test_x9_limits_that_would_stop_everything_are_refused(name: str) -> None:
    with pytest.raises(LimitsError, match=name):
        Limits(**{name: 0})
    Limits(queue=0)
    with pytest.raises(LimitsError, match="queue"):
        Limits(queue=-1)


async def call(session: Any, *names: str, tool_name: str = "work", **options: Any) -> list[str]:
    made = [await session.call(tool_name, {"name": name}, **options) for name in names]
    await settle()
    return [outcome.execution_id for outcome in made]


async def test_x9_limit_per_tool() -> None:
    works, free = Works(concurrency=2), Works("free")
    async with Harness(works.tool, free.tool) as harness:
        await call(harness.session, "a", "b", "c", "d")
        assert works.began == ["a", "b"]
        await call(harness.session, "x", tool_name="free")
        assert free.began == ["x"], "a full tool stops no other tool"
        await works.end("b")
        assert works.began == ["a", "b", "c"]
        await works.end("a", "c", "d")
        assert works.began == ["a", "b", "c", "d"]
        assert harness.runtime.manager.queued == 0


async def test_x9_limit_per_session() -> None:
    works = Works()
    async with Harness(works.tool, limits=Limits(per_session=2)) as harness:
        other = await harness.runtime.open("other", "someone")
        await call(harness.session, "a", "b", "c")
        await call(other, "x", "y", "z")
        assert works.began == ["a", "b", "x", "y"]
        assert (live_session(harness.session).running, live_session(other).running) == (2, 2)
        await works.end("x")
        assert works.began[-1] == "z"


async def test_x9_limit_in_total() -> None:
    works = Works()
    async with Harness(works.tool, limits=Limits(total=2)) as harness:
        other = await harness.runtime.open("other", "someone")
        await call(harness.session, "a", "b")
        await call(other, "x")
        assert works.began == ["a", "b"]
        assert harness.runtime.manager.queued == 1
        await works.end("a")
        assert works.began == ["a", "b", "x"]


class Approved(Works):
    """A tool that runs after an approval."""

    def __init__(self, **options: Any) -> None:
        super().__init__("seek", "human", **options)

    async def approve(self, session: Any, *names: str) -> list[str]:
        """Call the tool, and then approve the calls, in order. Return their execution ids."""
        ids = await call(session, *names, tool_name=self.tool.name)
        for request in await session.requests():
            await session.answer(request.id, {"approved": True})
            await settle()
        return ids


@pytest.mark.parametrize(
    ("limits", "concurrency"),
    [(Limits(total=1), None), (Limits(per_user=1), None), (Limits(per_session=1), None), (Limits(), 1)],
)
async def test_x9_approved_calls_wait_for_a_slot(limits: Limits, concurrency: int | None) -> None:
    works = Approved(concurrency=concurrency)
    async with Harness(works.tool, limits=limits) as harness:
        first, second, third = await works.approve(harness.session, "a", "b", "c")
        assert works.began == ["a"]
        assert (harness.runtime.manager.queued, live_session(harness.session).running) == (2, 1)
        await harness.session.cancel(second)
        assert (await harness.session.result(second)).status == "cancelled"
        await works.end("a")
        assert works.began == ["a", "c"]
        await works.end("c")
        assert [(await harness.session.result(each)).value for each in (first, third)] == ["a", "c"]
        assert (harness.runtime.manager.queued, live_session(harness.session).running) == (0, 0)


async def test_x9_many_approvals_of_one_user_leave_slots_for_others() -> None:
    works, other = Approved(), Works()
    async with Harness(works.tool, other.tool, limits=Limits(total=4, per_user=2)) as harness:
        await works.approve(harness.session, *"abcdef")
        assert works.began == ["a", "b"]
        await call(await harness.runtime.open("other", "someone"), "x")
        assert other.began == ["x"]


async def test_x9_approved_call_that_waits_for_a_slot_ends_at_its_deadline() -> None:
    works = Approved(total_timeout=30.0)
    async with Harness(works.tool, limits=Limits(total=1)) as harness:
        await call(harness.session, "a", "b", tool_name="seek")
        first, second = await harness.session.requests()
        await harness.session.answer(first.id, {"approved": True})
        await harness.session.answer(second.id, {"approved": True})
        await settle()
        await harness.advance(31.0)
        assert works.began == ["a"]
        error = (await harness.session.result(second.execution_id)).error
        assert error is not None
        assert error.category == "timeout"
        assert (harness.runtime.manager.queued, live_session(harness.session).running) == (0, 0)


async def test_x9_full_queue_refuses_with_a_clear_error_and_nothing_is_dropped() -> None:
    works = Works()
    async with Harness(works.tool, limits=Limits(total=1, queue=2)) as harness:
        other = await harness.runtime.open("other", "someone")
        ids = [*await call(harness.session, "a", "b"), *await call(other, "c")]
        refused = await harness.session.call("work", {"name": "d"})
        assert refused.status == "failed"
        assert refused.error is not None
        assert refused.error.category == "resource"
        assert refused.error.retryable
        assert "The system is busy: 2 calls are queued. Nothing was done" in refused.error.message
        assert harness.kinds(refused.execution_id) == ["tool_started", "tool_result"]
        await works.end("a", "b", "c")
        sessions = [harness.session, harness.session, other]
        results = [await session.result(each) for session, each in zip(sessions, ids, strict=True)]
        assert [result.value for result in results] == ["a", "b", "c"]
        assert "d" not in works.began
        assert (await harness.session.call("work", {"name": "e"})).status == "started"


async def test_x9_urgent_first_low_last() -> None:
    works = Works()
    async with Harness(works.tool, limits=Limits(total=1)) as harness:
        await call(harness.session, "first")
        await call(harness.session, "low", priority="low")
        await call(harness.session, "n1", "n2")
        await call(harness.session, "urgent", priority="urgent")
        await works.end("first", "urgent", "n1", "n2", "low")
        assert works.began == ["first", "urgent", "n1", "n2", "low"]
        with pytest.raises(ValueError, match=r"'soon' is not a priority\. Use one of: urgent, normal, low\."):
            await harness.session.call("work", {"name": "x"}, priority="soon")


async def test_x9_fair_between_sessions() -> None:
    works = Works()
    async with Harness(works.tool, limits=Limits(total=1)) as harness:
        greedy = harness.session
        modest = await harness.runtime.open("modest", "tester")
        third = await harness.runtime.open("third", "tester")
        await call(greedy, *(f"g{number}" for number in range(6)))
        await call(modest, "m0", "m1")
        await call(third, "t0")
        order = ["g0", "g1", "m0", "t0", "g2", "m1", "g3", "g4", "g5"]
        await works.end(*order)
        assert works.began == order


async def test_x9_limit_per_user() -> None:
    works = Works()
    async with Harness(works.tool, limits=Limits(per_user=2)) as harness:
        second = await harness.runtime.open("second", "tester")
        other = await harness.runtime.open("other", "someone")
        await call(harness.session, "a")
        await call(second, "b", "c")
        await call(other, "x", "y")
        assert works.began == ["a", "b", "x", "y"], "the third of one user waits, though its session has places"
        assert (live_session(harness.session).user.running, live_session(other).user.running) == (2, 2)
        await works.end("x")
        assert works.began == ["a", "b", "x", "y"]
        await works.end("a")
        assert works.began[-1] == "c"


async def test_x9_fair_between_users_then_between_their_sessions() -> None:
    works = Works()
    async with Harness(works.tool, limits=Limits(total=1)) as harness:
        crowd = [await harness.runtime.open(f"s{number}", "greedy") for number in range(16)]
        modest = await harness.runtime.open("modest", "modest")
        await call(crowd[0], "first")
        for number, session in enumerate(crowd):
            await call(session, f"g{number}a", f"g{number}b")
        await call(modest, "m0", "m1")
        rest = [f"g{number}{letter}" for letter in "ab" for number in range(16)]
        order = ["first", "g0a", "m0", "g1a", "m1", *rest[2:]]
        await works.end(*order)
        assert works.began == order


async def test_x9_fair_between_users_also_where_a_tool_is_full() -> None:
    works = Works(concurrency=1)
    async with Harness(works.tool) as harness:
        crowd = [await harness.runtime.open(f"s{number}", "greedy") for number in range(4)]
        modest = await harness.runtime.open("modest", "modest")
        for number, session in enumerate(crowd):
            await call(session, f"g{number}a", f"g{number}b")
        await call(modest, "m0")
        await works.end("g0a", "g0b")
        assert works.began == ["g0a", "g0b", "m0"]


async def test_x9_one_user_cannot_fill_the_queue_for_the_others() -> None:
    """Any number of users can fill their share of the queue, and the next user still has room."""
    works = Works()
    async with Harness(works.tool, limits=Limits(total=1, queue=100)) as harness:
        await call(harness.session, "first")
        shares: list[int] = []
        for number in range(5):
            sessions = [await harness.runtime.open(f"u{number}-{each}", f"user{number}") for each in range(4)]
            made = [await sessions[turn % 4].call("work", {"name": "w"}) for turn in range(60)]
            refused = next(each for each in made if each.status == "failed")
            assert refused.error is not None
            assert refused.error.category == "resource"
            assert refused.error.retryable
            assert "of this user are queued, which is the user" in refused.error.message
            shares.append(live_session(sessions[0]).user.queued)
        assert shares == [50, 25, 13, 6, 3]
        assert (await harness.session.call("work", {"name": "w"})).queued


async def test_x9_the_next_call_is_found_without_visiting_calls_that_cannot_run() -> None:
    """Sessions that wait for a full tool and users without a free slot do not slow the calls of others down."""
    full, free, steps = Works("full", concurrency=1), Works("free"), 0
    limits = Limits(per_user=1, queue=100_000)

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal steps
        steps += event == "call"

    async def cost(harness: Harness) -> int:
        nonlocal steps
        modest = await harness.runtime.open("modest", "modest")
        free.ends = {"m": asyncio.Event()}
        await call(modest, "m", tool_name="free")
        [last] = await call(modest, "last", tool_name="free")
        steps = 0
        sys.setprofile(count)
        try:
            await free.end("m")
        finally:
            sys.setprofile(None)
        assert free.began[-1] == "last"
        await modest.cancel(last)
        return steps

    async with Harness(full.tool, free.tool, limits=limits) as harness:
        await call(harness.session, "holds", tool_name="full")
        before = await cost(harness)
        for number in range(300):
            session = await harness.runtime.open(f"s{number}", f"u{number}")
            await session.call("free", {"name": "runs"})
            await session.call("free", {"name": "waits"})
            await session.call("full", {"name": "waits"})
        assert harness.runtime.manager.queued == 600
        await cost(harness)  # the first time each of them is looked at, and taken out of the rotation
        assert await cost(harness) < before + 100


async def test_x9_order_within_a_session_is_that_of_the_calls() -> None:
    one, two = Works("one", concurrency=1), Works("two", concurrency=1)
    began: list[str] = []
    one.began = two.began = began
    async with Harness(one.tool, two.tool, limits=Limits(total=1)) as harness:
        for name, which in [("a", "one"), ("b", "one"), ("c", "two"), ("d", "one"), ("e", "two")]:
            await call(harness.session, name, tool_name=which)
        for name in "abcde":
            await (one if name in "abd" else two).end(name)
        assert began == ["a", "b", "c", "d", "e"]


async def test_x9_a_new_call_overtakes_only_calls_that_cannot_run() -> None:
    works, free = Works(concurrency=1), Works("free")
    async with Harness(works.tool, free.tool, limits=Limits(total=2)) as harness:
        await call(harness.session, "a", "b")
        await call(harness.session, "x", "y", tool_name="free")
        assert (works.began, free.began) == (["a"], ["x"])
        await works.end("a")
        assert (works.began, free.began) == (["a", "b"], ["x"]), "b came before y"


async def test_x9_queued_call_is_promoted_after_its_budget() -> None:
    go = asyncio.Event()

    @tool(concurrency=1, inline_budget=3.0)
    async def one(name: Annotated[str, "Which"]) -> str:
        """One at a time."""
        await go.wait()
        return name

    async with Harness(one) as harness:
        await harness.start("one", {"name": "a"})
        queued = await harness.start("one", {"name": "b"})
        await harness.advance(3)
        outcome = await queued
        assert outcome.status == "started"
        assert outcome.queued
        assert outcome.value["status"] == "queued"
        assert outcome.value["message"].startswith("It is queued and has not begun")
        assert harness.session.execution(outcome.execution_id).status == "pending"
        assert (await harness.session.result(outcome.execution_id, timeout=0)).queued
        go.set()
        assert (await harness.session.result(outcome.execution_id)).value == "b"


async def test_x9_many_queued_calls_that_fail_at_once_are_all_answered() -> None:
    """Each call frees its slot as soon as it gets it, which must not recurse."""
    works = Works(concurrency=1)
    async with Harness(works.tool, keep_executions=5_000) as harness:
        await call(harness.session, "first")
        ids = [(await harness.session.call("work", {"nam": "typo"})).execution_id for _ in range(3_000)]
        last = (await call(harness.session, "last"))[0]
        await works.end("first", "last")
        assert {harness.session.execution(each).status for each in ids} == {"failed"}
        assert (await harness.session.result(last)).value == "last"
        assert (live_session(harness.session).running, harness.runtime.manager.queued) == (0, 0)


async def test_x9_long_queue_costs_no_more_per_call() -> None:
    """Cancelling and letting in do not walk through the queue: ten thousand are done in a moment."""
    works, instant = Works(concurrency=1), Works("instant", concurrency=1)
    async with Harness(works.tool, instant.tool, keep_executions=20_000, limits=Limits(queue=20_000)) as harness:
        await call(harness.session, "first")
        instant.ends = {"i": asyncio.Event()}
        instant.ends["i"].set()
        for _ in range(9_000):
            await harness.session.call("work", {"name": "queued"})
        assert harness.runtime.manager.queued == 9_000
        for _ in range(300):
            await harness.session.call("instant", {"name": "i"})
            await settle(3)
        assert len(instant.began) == 300
        assert await harness.session.cancel_all() == 9_001
        await settle()
        assert (live_session(harness.session).running, harness.runtime.manager.queued) == (0, 0)


# Calls of handlers


async def test_x9_parents_do_not_starve_their_nested_calls() -> None:
    @tool
    async def child(name: Annotated[str, "Which"]) -> str:
        """Answer after a while."""
        await harness.clock.sleep(1)
        return name

    @tool
    async def parent(ctx: ToolContext, name: Annotated[str, "Which"]) -> str:
        """Ask a child."""
        return await ctx.call("child", {"name": name})

    async with Harness(parent, child, limits=Limits(total=2, per_session=2)) as harness:
        calls = [await harness.start("parent", {"name": name}) for name in "abc"]
        await harness.advance(3)
        assert [(await each).value for each in calls] == ["a", "b", "c"]


async def test_x9_a_queued_nested_call_is_not_blocked_by_calls_that_wait_for_its_parent() -> None:
    """A queued nested call starts when its tool is free, even if its session has no free slot."""
    go = asyncio.Event()

    @tool(concurrency=1, mode="background")
    async def leaf(ctx: ToolContext) -> str:
        """One at a time."""
        await go.wait()
        return "leaf"

    @tool(mode="background")
    async def parent(ctx: ToolContext) -> str:
        """Ask the leaf."""
        return await ctx.call("leaf")

    async with Harness(parent, leaf, limits=Limits(per_session=1)) as harness:
        other = await harness.runtime.open("other", "someone")
        await other.call("leaf")
        top = await harness.session.call("parent")
        waiting = await harness.session.call("leaf")
        await settle()
        assert harness.runtime.manager.queued == 2
        go.set()
        await settle()
        assert (await harness.session.result(top.execution_id)).value == "leaf"
        assert (await harness.session.result(waiting.execution_id)).value == "leaf"


async def test_x9_a_tool_that_calls_itself_with_one_slot_is_refused() -> None:
    @tool(concurrency=1)
    async def again(ctx: ToolContext, depth: Annotated[int, "How deep"]) -> int:
        """Call itself."""
        return depth if depth == 0 else await ctx.call("again", {"depth": depth - 1})

    async with Harness(again) as harness:
        assert (await harness.session.call("again", {"depth": 0})).value == 0
        outcome = await harness.session.call("again", {"depth": 1})
        assert outcome.error is not None
        assert outcome.error.category == "resource"
        assert "The tool again has no free slot" in outcome.error.message
        assert live_session(harness.session).running == 0
        assert (await harness.session.call("again", {"depth": 0})).value == 0


async def test_x9_tools_that_wait_for_each_others_slots_are_refused() -> None:
    @tool(concurrency=1)
    async def left(ctx: ToolContext, then: Annotated[str, "What to call"]) -> str:
        """Wait, and call another."""
        await go.wait()
        return str(await ctx.call(then, {"then": "leaf"})) if then != "leaf" else "done"

    right = left.with_(name="right")
    go = asyncio.Event()
    async with Harness(left, right) as harness:
        calls = [await harness.start("left", {"then": "right"}), await harness.start("right", {"then": "left"})]
        go.set()
        await settle(20)
        outcomes = [call.result() for call in calls]
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        assert [error.category for error in errors] == ["resource"], "one is refused, so the other goes on"
        assert "wait for it" in errors[0].message
        assert [outcome.value for outcome in outcomes if outcome.error is None] == ["done"]
        assert harness.runtime.manager._slots._holders == {}


async def test_x9_a_nested_call_waits_for_a_slot_that_another_call_will_release() -> None:
    @tool(concurrency=2)
    async def work(ctx: ToolContext, what: Annotated[str, "What to do"]) -> str:
        """Wait, or call itself."""
        if what == "wait":
            await go.wait()
        return str(await ctx.call("work", {"what": "end"})) if what == "call" else what

    go = asyncio.Event()
    async with Harness(work) as harness:
        first, second = [await harness.start("work", {"what": what}) for what in ("wait", "call")]
        assert harness.runtime.manager.queued == 1
        go.set()
        assert (await first).value == "wait"
        assert (await second).value == "end"


async def test_x9_a_session_tool_takes_no_slots_of_other_sessions() -> None:
    async with Harness() as harness:
        sessions = [harness.session, await harness.runtime.open("other", "tester")]
        waits = asyncio.Event()

        @tool(concurrency=1)
        async def pick() -> int:
            """Pick."""
            await waits.wait()
            return 1

        calls: list[asyncio.Future[Outcome]] = []
        for session in sessions:
            live_session(session).toolbox.replace_own_tools([pick.with_()])
            calls.append(asyncio.ensure_future(session.call("pick")))
        await settle()
        assert harness.runtime.manager.queued == 0
        live_session(sessions[0]).toolbox.replace_own_tools([])
        waits.set()
        assert [outcome.value for outcome in await asyncio.gather(*calls)] == [1, 1]
        assert harness.runtime.manager._slots._holders == {}


async def test_x9_slots_are_released_for_every_kind_of_end() -> None:
    @tool(concurrency=1)
    async def fails(how: Annotated[str, "How"]) -> int:
        """End in some way."""
        match how:
            case "raise":
                raise RuntimeError("broken")
            case "tool error":
                raise ToolError("No.")
            case "exit":
                raise SystemExit(1)
            case "cancel":
                raise asyncio.CancelledError
            case "wrong type":
                return "text"  # pyright: ignore[reportReturnType]
            case _:
                return 1

    async with Harness(fails) as harness:
        for how in ["raise", "tool error", "exit", "cancel", "wrong type", "ok"] * 3:
            await harness.session.call("fails", {"how": how})
            assert live_session(harness.session).running == 0
        assert harness.runtime.manager._slots.running == 0
        assert harness.runtime.manager._slots._holders == {}
