"""The states of an execution and the events that report them (X1, X3)."""

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callboard import BreakerPolicy, Limits, RetryPolicy, ToolContext, ToolError, tool
from callboard.execution.lifecycle import (
    REPLACEMENTS,
    TRANSITIONS,
    IllegalTransition,
    Status,
    StatusInvalid,
    move,
    replace_refused,
    restore_status,
)
from callboard.execution.storing import restored
from callboard.sessions.session import live_session
from callboard.testing import Harness, settle
from callboard.testing.store_rows import execution_row

pytestmark = pytest.mark.anyio

FIXED = RetryPolicy(max_attempts=3, base_delay=1.0, strategy="fixed")  # pyright: ignore[reportArgumentType]


def test_x1_table_has_every_status_and_only_the_moves_of_the_specification() -> None:
    p, v, e, w = Status.PENDING, Status.VALIDATING, Status.EXECUTING, Status.WAITING
    ends = {Status.SUCCEEDED, Status.FAILED, Status.CANCELLED}
    bad = {Status.FAILED, Status.CANCELLED}
    expected = {p: {v, *bad}, v: {e, w, *bad}, e: {w, *ends}, w: {e, v, *ends}, **{end: set[Status]() for end in ends}}
    assert {status: set(moves) for status, moves in TRANSITIONS.items()} == expected
    assert set(TRANSITIONS) == set(Status)
    assert {status for status in Status if status.terminal} == ends


@pytest.mark.parametrize("current", Status)
@pytest.mark.parametrize("target", Status)
def test_x1_move_admits_exactly_the_transitions_of_the_table(current: Status, target: Status) -> None:
    if target in TRANSITIONS[current]:
        assert move(current, target) is target
    else:
        with pytest.raises(IllegalTransition, match=f"from {current} to {target}"):
            move(current, target)


@pytest.mark.parametrize("refused", Status)
def test_x1_state_that_the_store_refused_is_replaced_by_failed_alone(refused: Status) -> None:
    assert REPLACEMENTS[refused] == (Status.FAILED,)
    assert replace_refused(refused, Status.FAILED) is Status.FAILED
    with pytest.raises(IllegalTransition, match=f"from {refused} to succeeded"):
        replace_refused(refused, Status.SUCCEEDED)


@pytest.mark.parametrize("stored", [*(status.value for status in Status), "unknown"])
def test_x1_only_unfinished_states_are_restored(stored: str) -> None:
    if stored in ("pending", "validating", "executing", "waiting"):
        assert restore_status(stored) is Status(stored)
    else:
        with pytest.raises(StatusInvalid, match=f"with the status '{stored}', which must be one of: pending, "):
            restore_status(stored)


@tool
async def add(a: Annotated[int, "One"]) -> int:
    """Add."""
    return a


async def test_x1_row_with_an_end_is_not_continued() -> None:
    row = execution_row(status="succeeded")
    async with Harness(add) as harness:
        scope = live_session(harness.session)
        with pytest.raises(StatusInvalid):
            restored(row, add, scope, harness.clock)
        assert restored(replace(row, status="waiting"), add, scope, harness.clock).status is Status.WAITING


async def test_x3_events_of_a_success_with_all_their_data() -> None:
    @tool(mode="background", idempotent=True, retry=FIXED)
    async def work(ctx: ToolContext, city: Annotated[str, "Where"]) -> dict[str, int]:
        """Work."""
        await ctx.progress("counting", 0.5, "half")
        await ctx.partial({"so": "far"})
        if ctx.attempt == 1:
            raise ToolError("Busy.", category="transient", details={"code": 7})
        return {"count": 3}

    async with Harness(work) as harness:
        outcome = await harness.session.call("work", {"city": "Basel"}, call_id="c1")
        await settle()
        await harness.advance(1)
        ids = {"execution_id": outcome.execution_id, "call_id": "c1", "tool": "work", "mode": "background"}
        error = {"category": "transient", "message": "Busy.", "details": {"code": 7}}
        progress = {"stage": "counting", "fraction": 0.5, "message": "half"}
        assert [(event.kind, event.data) for event in harness.events()] == [
            ("tool_started", {**ids, "arguments": {"city": "Basel"}}),
            ("tool_validating", ids),
            ("tool_executing", {**ids, "attempt": 1, "maximum": 3}),
            ("tool_progress", {**ids, **progress}),
            ("tool_partial", {**ids, "value": {"so": "far"}}),
            ("tool_retrying", {**ids, "attempt": 1, "maximum": 3, "error": error, "delay": 1.0}),
            ("tool_executing", {**ids, "attempt": 2, "maximum": 3}),
            ("tool_progress", {**ids, **progress}),
            ("tool_partial", {**ids, "value": {"so": "far"}}),
            ("tool_result", {**ids, "status": "succeeded", "value": {"count": 3}}),
        ]


async def test_x3_events_of_failures_and_cancellations() -> None:
    @tool
    async def fail(ctx: ToolContext) -> int:
        """Fail."""
        raise ToolError("No.", category="permanent")

    @tool
    async def hang(number: Annotated[int, "Any"]) -> int:
        """Hang."""
        await asyncio.Event().wait()
        return number

    async with Harness(fail, hang) as harness:
        failed = await harness.session.call("fail")
        invalid = await harness.session.call("hang", {"number": "many"})
        hanging = await harness.start("hang", {"number": 1}, call_id="h")
        assert await harness.session.cancel_call("h")
        cancelled = await hanging
        started = ["tool_started", "tool_validating"]
        assert harness.kinds(failed.execution_id) == [*started, "tool_executing", "tool_result"]
        assert harness.kinds(invalid.execution_id) == [*started, "tool_result"]
        assert harness.kinds(cancelled.execution_id) == [*started, "tool_executing", "tool_result"]
        ends = [event.data for event in harness.events() if event.kind == "tool_result"]
        assert [(end["status"], end["error"]["category"]) for end in ends] == [
            ("failed", "permanent"),
            ("failed", "validation"),
            ("cancelled", "cancelled"),
        ]
        assert all("value" not in end for end in ends)


async def test_x3_events_of_a_queued_call_come_when_they_happen() -> None:
    go = asyncio.Event()

    @tool(concurrency=1)
    async def one() -> int:
        """One at a time."""
        await go.wait()
        return 1

    async with Harness(one) as harness:
        first, second = await harness.start("one"), await harness.start("one")
        queued = harness.session.executions()[1]
        assert (queued.status, queued.attempt, queued.started_at) == (Status.PENDING, 0, None)
        assert harness.kinds(queued.id) == ["tool_started"]
        go.set()
        await first
        assert (await second).value == 1
        assert harness.kinds(queued.id) == ["tool_started", "tool_validating", "tool_executing", "tool_result"]


# Random sequences

LEGAL = re.compile(r"S(V(EP*(REP*)*R?)?)?Z")
"""Started; validating; attempts with progress, a retrying between two; the result, last and once."""

LETTERS = {
    "tool_started": "S",
    "tool_validating": "V",
    "tool_executing": "E",
    "tool_progress": "P",
    "tool_retrying": "R",
    "tool_result": "Z",
}

TOOLS = ("inline", "background", "limited", "stubborn")
step = st.one_of(
    st.tuples(st.just("call"), st.sampled_from([*TOOLS, "unknown"])),
    st.tuples(st.just("call and cancel"), st.sampled_from(TOOLS)),
    st.tuples(st.sampled_from(["progress", "ok", "raise", "transient", "exit"]), st.integers(0, 5)),
    st.tuples(st.sampled_from(["cancel", "cancel twice"]), st.integers(0, 5)),
    st.tuples(st.just("advance"), st.sampled_from([0.0, 0.5, 1.0, 3.0, 10.0, 60.0])),
    st.tuples(st.just("cancel all"), st.just(0)),
)


class Play:
    """A runtime with handlers that the test controls."""

    def __init__(self) -> None:
        self.inboxes: dict[str, asyncio.Queue[str]] = {}

        async def act(ctx: ToolContext, stubborn: bool = False) -> int:
            inbox = self.inboxes[ctx.execution_id or ""] = asyncio.Queue()
            while True:
                try:
                    order = await inbox.get()
                except asyncio.CancelledError:
                    if stubborn:
                        continue
                    raise
                match order:
                    case "progress":
                        await ctx.progress("on")
                    case "ok":
                        return ctx.attempt
                    case "raise":
                        raise RuntimeError("broken")
                    case "exit":
                        raise SystemExit(3)
                    case _:
                        raise ToolError("Later.", category="transient")

        shared: dict[str, Any] = {"idempotent": True, "retry": FIXED, "description": "Act.", "timeout": 5.0}
        breaker = BreakerPolicy(failure_threshold=2, recovery_time=10)

        @tool(name="inline", breaker=breaker, inline_budget=2.0, **shared)
        async def inline(ctx: ToolContext) -> int:
            return await act(ctx)

        @tool(name="background", mode="background", total_timeout=12.0, **shared)
        async def background(ctx: ToolContext) -> int:
            return await act(ctx)

        @tool(name="limited", concurrency=1, **shared)
        async def limited(ctx: ToolContext) -> int:
            return await act(ctx)

        @tool(name="stubborn", **shared)
        async def stubborn(ctx: ToolContext) -> int:
            return await act(ctx, stubborn=True)

        limits = Limits(total=3, queue=3)
        self.harness = Harness(inline, background, limited, stubborn, limits=limits, grace=0.02)

    async def run(self, steps: list[tuple[str, Any]], tidy: bool) -> None:
        calls: list[asyncio.Task[Any]] = []
        async with self.harness as harness:
            session = harness.session
            for what, which in steps:
                known = session.executions()
                chosen = known[which % len(known)].id if known and isinstance(which, int) else None
                match what:
                    case "call":
                        calls.append(await harness.start(str(which)))
                    case "call and cancel":  # within one turn of the loop, before a task begins
                        calls.append(asyncio.ensure_future(session.call(str(which))))
                        await asyncio.sleep(0)
                        await session.cancel(session.executions()[-1].id)
                    case "advance":
                        await harness.advance(which)
                    case "cancel all":
                        await session.cancel_all()
                    case "cancel" | "cancel twice" if chosen is not None:
                        for _ in range(1 + (what == "cancel twice")):
                            await session.cancel(chosen)
                    case _ if chosen in self.inboxes:
                        self.inboxes[chosen].put_nowait(what)
                    case _:
                        pass
                await settle()
                self.check_running()
            if tidy:
                await session.cancel_all()
                await harness.advance(2)  # the stubborn ones are given up
        self.check_ended()
        await asyncio.gather(*calls)
        for task in tuple(harness.runtime.manager._finishing._abandoned):
            while not task.done():
                for inbox in self.inboxes.values():
                    inbox.put_nowait("ok")
                await settle()
        assert session.board.last_seq == self.last, "something was posted after the end"

    def check_running(self) -> None:
        for record in self.harness.session.executions():
            kinds = self.harness.kinds(record.id)
            assert kinds.count("tool_result") == record.status.terminal
            assert record.attempt <= record.max_attempts

    def check_ended(self) -> None:
        session = self.harness.session
        events = self.harness.events()
        self.last = len(events)
        assert [event.seq for event in events] == list(range(1, self.last + 1))
        for record in session.executions():
            own = self.harness.events(record.id)
            story = "".join(LETTERS[event.kind] for event in own)
            assert LEGAL.fullmatch(story), story
            assert own[-1].data["status"] == record.status
            assert record.status.terminal
            assert story.count("R") == len(record.previous_errors)
        assert (live_session(session).running, self.harness.runtime.manager.queued) == (0, 0)
        assert self.harness.runtime.manager.live == ()


def no_faults(run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run the state machine, and check that the runtime logged no error."""
    seen: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    log = logging.getLogger("callboard.execution")
    log.addHandler(handler)
    try:
        asyncio.run(run())
    finally:
        log.removeHandler(handler)
    assert not [line for line in seen if line.startswith("the runtime failed")]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(step, max_size=25), st.booleans())
def test_x1_no_sequence_of_operations_reaches_an_illegal_state(steps: list[tuple[str, Any]], tidy: bool) -> None:
    """X1, X3, X8: exactly one terminal event, last; a legal order; no gaps; nothing after the end."""
    no_faults(lambda: Play().run(steps, tidy))


async def test_x3_progress_with_a_name_that_is_no_unicode_is_reported() -> None:
    @tool
    async def pack(ctx: ToolContext) -> str:
        """Pack a file whose name is not UTF-8."""
        await ctx.progress("packing", 0.5, "caf\udce9.txt")
        return "packed"

    async with Harness(pack) as harness:
        assert (await harness.session.call("pack")).value == "packed"
        (reported,) = [event for event in harness.events() if event.kind == "tool_progress"]
        assert reported.data["message"] == "caf?.txt"
