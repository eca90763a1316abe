"""The timer for all time limits: it acts on each at its time, and its cost hardly grows with their number (X7)."""

from collections.abc import Iterator
from math import log2
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard import ToolContext, ToolError, tool
from callboard.execution.deadlines import SLACK, Deadlines
from callboard.execution.execution import Execution
from callboard.execution.manager import NO_TOOL
from callboard.execution.time_limits import Due
from callboard.testing import Harness, ManualClock

pytestmark = pytest.mark.anyio


def execution(execution_id: str) -> Execution:
    scope: Any = None
    return Execution(execution_id, execution_id, NO_TOOL, "none", scope, b"{}", 0.0, 0.0)


class Watched:
    """Deadlines of executions without a runtime. One whose total time is over ends."""

    def __init__(self, live: dict[str, Execution]) -> None:
        self.clock = ManualClock()
        self.live = live
        self.deadlines = Deadlines(self.clock, live, self._due)
        self.due: list[tuple[float, str, Due]] = []
        """The limits that have passed: the time of the clock, the execution, and which limit."""

    def add(self, execution_id: str) -> None:
        self.live[execution_id] = execution(execution_id)

    def set(self, execution_id: str, limit: Due, when: float) -> None:
        setattr(self.live[execution_id], limit, when)
        self.deadlines.watch(self.live[execution_id], when)

    def end(self, execution_id: str) -> None:
        del self.live[execution_id]

    def _due(self, execution: Execution, now: float) -> None:
        due = execution.take_due(now)
        self.due.extend((now, execution.id, limit) for limit in due)
        if Due.TOTAL in due:
            self.end(execution.id)


class Model:
    """The same, looking at every limit each time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.live: dict[str, dict[Due, float]] = {}
        self.due: list[tuple[float, str, Due]] = []

    def advance(self, seconds: float) -> None:
        target = self.now + seconds
        while times := [when for limits in self.live.values() for when in limits.values() if when <= target]:
            self.now = max(self.now, min(times))
            for execution_id, limits in tuple(self.live.items()):
                due = [limit for limit in Due if limit in limits and limits[limit] <= self.now]
                self.due.extend((self.now, execution_id, limit) for limit in due)
                for limit in due:
                    del limits[limit]
                if Due.TOTAL in due:
                    del self.live[execution_id]
        self.now = target


_steps = st.one_of(
    st.tuples(st.just("set"), st.integers(0, 7), st.sampled_from(list(Due)), st.integers(0, 12)),
    st.tuples(st.just("end"), st.integers(0, 7), st.just(Due.TOTAL), st.just(0)),
    st.tuples(st.just("advance"), st.just(0), st.just(Due.TOTAL), st.integers(0, 6)),
)


@settings(deadline=None)
@given(st.lists(_steps, max_size=60), st.sampled_from([0, 3, SLACK]))
async def test_x7_every_limit_passes_once_at_its_time(steps: list[tuple[str, int, Due, int]], slack: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("callboard.execution.deadlines.SLACK", slack)
        watched, model = Watched({}), Model()
        for step, number, limit, seconds in [*steps, ("advance", 0, Due.TOTAL, 20)]:
            name = f"x{number}"
            if step == "advance":
                await watched.clock.advance(seconds)
                model.advance(seconds)
                assert sorted(watched.due) == sorted(model.due)
                assert watched.live.keys() == model.live.keys()
            elif step == "end":
                if name in model.live:
                    watched.end(name)
                    del model.live[name]
            else:
                if name not in model.live:
                    watched.add(name)
                    model.live[name] = {}
                watched.set(name, limit, model.now + seconds)
                model.live[name][limit] = model.now + seconds
            limits = 8 * len(Due)  # all that can be set at once
            assert len(watched.deadlines) <= 2 * limits + slack + 1
    assert len(watched.deadlines) == 0
    assert watched.clock.pending == 0


class Counted(dict[str, Execution]):
    """Live executions. Counts those that are looked at."""

    looked_at = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.looked_at += 1
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.looked_at += 1
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self.looked_at += len(self)
        return super().__iter__()

    def values(self) -> Any:
        self.looked_at += len(self)
        return super().values()


class Time(float):
    """A time. Counts comparisons."""

    compared = 0

    def __lt__(self, other: float) -> bool:
        Time.compared += 1
        return super().__lt__(other)

    def __eq__(self, other: object) -> bool:
        Time.compared += 1
        return super().__eq__(other)

    __hash__ = float.__hash__


def _scattered(count: int) -> list[float]:
    """Return times from 100 to 1,100 seconds in an order that is neither rising nor falling."""
    return [100.0 + (number * 7_919 % count) * 1_000.0 / count for number in range(count)]


async def cost(calls: int) -> tuple[float, float]:
    """Return the steps of setting a limit and of acting on one, with so many calls that have limits."""
    watched = Watched(live := Counted())
    Time.compared = 0
    for number, when in enumerate(_scattered(calls)):
        watched.add(f"x{number}")
        watched.set(f"x{number}", Due.TOTAL, Time(when))
    for number in range(calls):
        watched.add(f"short {number}")
        watched.set(f"short {number}", Due.BUDGET, Time(5_000.0 + number))
        watched.end(f"short {number}")
    setting = (Time.compared + live.looked_at) / (2 * calls)
    Time.compared = live.looked_at = 0
    await watched.clock.advance(150)
    assert len(watched.due) > calls / 30
    return setting, (Time.compared + live.looked_at) / len(watched.due)


async def test_x7_cost_of_a_limit_hardly_grows_with_the_number_of_calls() -> None:
    few, many = await cost(500), await cost(8_000)
    growth = log2(8_000) / log2(500)
    assert many[0] <= few[0] * growth + 2, (few, many)
    assert many[1] <= few[1] * growth + 2, (few, many)
    assert max(many) < 8 * log2(8_000), (few, many)


async def test_x7_limits_of_calls_that_have_ended_take_no_memory_and_set_no_timer() -> None:
    watched = Watched({})
    for number in range(20_000):
        watched.add("short")
        watched.set("short", Due.BUDGET, 10.0 + number / 1_000)
        watched.end("short")
        assert len(watched.deadlines) <= SLACK + 2
    assert watched.clock.pending == 1
    await watched.clock.advance(10.0)
    assert watched.clock.pending == 0
    assert len(watched.deadlines) == 0


async def test_x7_many_attempts_of_one_call_take_no_memory() -> None:
    watched = Watched({})
    watched.add("x")
    for number in range(5_000):
        watched.set("x", Due.ATTEMPT, 10.0 + number)
        assert len(watched.deadlines) <= SLACK + 3
    await watched.clock.advance(6_000)
    assert watched.due == [(5_009.0, "x", Due.ATTEMPT)]


async def test_x7_a_failure_at_one_limit_does_not_keep_others_from_passing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, seen = ManualClock(), list[str]()
    live = {name: execution(name) for name in ("a", "b", "c")}

    def due(execution: Execution, now: float) -> None:
        seen.append(execution.id)
        if execution.id != "c":
            raise RuntimeError("broken")

    deadlines = Deadlines(clock, live, due)
    for each, when in zip(live.values(), (1.0, 1.0, 2.0), strict=True):
        deadlines.watch(each, when)
    await clock.advance(2.0)
    assert seen == ["a", "b", "c"]
    assert "failed when a time limit of none passed" in caplog.text


async def test_x7_an_attempt_is_limited_also_if_it_made_many_calls_in_its_first_step() -> None:
    @tool(timeout=5.0)
    async def outer(ctx: ToolContext) -> None:
        """Make calls that end at their limits, and hang."""
        for number in range(SLACK):
            await ctx.call("quick", {"number": number})
        with pytest.raises(ToolError):
            await ctx.call("hang", {})
        await harness.clock.sleep(1_000)

    @tool(timeout=100.0)
    async def quick(number: Annotated[int, "Any"]) -> int:
        """Return at once."""
        return number

    @tool(timeout=1.0)
    async def hang() -> None:
        """Take too long."""
        await harness.clock.sleep(1_000)

    async with Harness(outer, quick, hang) as harness:
        call = await harness.start("outer")
        await harness.advance(4.9)
        assert not call.done()
        await harness.advance(0.1)
        error = (await call).error
        assert error is not None
        assert error.category == "timeout"
