"""The same call twice runs once (X10)."""

import asyncio
from typing import Annotated, Any

import pytest

from callboard import tool
from callboard.execution.storing import fingerprint_of
from callboard.testing import Harness

pytestmark = pytest.mark.anyio

runs: list[Any] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    runs.clear()


@tool
async def slow(a: Annotated[int, "One"], b: Annotated[dict[str, int] | None, "Two"] = None) -> int:
    """Take a turn of the loop."""
    runs.append((a, b))
    await asyncio.sleep(0)
    return len(runs)


@tool(mode="background")
async def fails() -> int:
    """Fail."""
    runs.append("fails")
    raise RuntimeError("broken")


async def test_x10_same_call_id_at_the_same_time_runs_once() -> None:
    async with Harness(slow) as harness:
        outcomes = await asyncio.gather(*(harness.session.call("slow", {"a": 1}, call_id="c") for _ in range(10)))
        assert runs == [(1, None)]
        assert len(set(outcomes)) == 1
        assert outcomes[0].value == 1
        assert harness.kinds().count("tool_result") == 1
        assert harness.runtime.registry.stats("slow").calls == 1


async def test_x10_same_call_id_after_the_end_gives_the_first_result() -> None:
    async with Harness(slow, fails) as harness:
        first = await harness.session.call("slow", {"a": 1}, call_id="c")
        assert await harness.session.call("slow", {"a": 1}, call_id="c") == first
        failed = await harness.session.call("fails", call_id="f")
        await harness.session.result(failed.execution_id)
        again = await harness.session.call("fails", call_id="f")
        assert (again.status, again.execution_id) == ("failed", failed.execution_id)
        assert runs == [(1, None), "fails"]


async def test_x10_order_of_keys_and_space_do_not_matter() -> None:
    async with Harness(slow) as harness:
        first = await harness.session.call("slow", '{"a":1,"b":{"x":1,"y":2}}', call_id="c")
        for same in (
            '{ "b": {"y": 2,\n "x": 1}, "a": 1 }',
            b'{"a":1,"b":{"y":2,"x":1}}',
            {"b": {"y": 2, "x": 1}, "a": 1},
        ):
            assert await harness.session.call("slow", same, call_id="c") == first
        assert len(runs) == 1


@pytest.mark.parametrize(
    ("name", "arguments"), [("slow", {"a": 2}), ("slow", {"a": 1, "b": {}}), ("fails", {}), ("unknown", {"a": 1})]
)
async def test_x10_other_arguments_or_another_tool_under_the_same_id_are_a_conflict(name: str, arguments: Any) -> None:
    async with Harness(slow, fails) as harness:
        first = await harness.session.call("slow", {"a": 1}, call_id="c")
        outcome = await harness.session.call(name, arguments, call_id="c")
        assert outcome.status == "failed"
        assert outcome.error is not None
        assert outcome.error.category == "validation"
        assert outcome.error.message == (
            "The call id 'c' was used before, for slow with other arguments. Use a new id."
        )
        assert runs == [(1, None)]
        assert await harness.session.call("slow", {"a": 1}, call_id="c") == first, "the first is untouched"


@tool
async def echo(a: Annotated[Any, "Anything"]) -> str:
    """Return the argument as text."""
    runs.append(a)
    return repr(a)


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ('{"a":1}', '{"a":true}'),
        ('{"a":false}', '{"a":0}'),
        ('{"a":1}', '{"a":1.0}'),
        ('{"a":[{"b":[0]}]}', '{"a":[{"b":[false]}]}'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"a":2}', '{"a":1,"a":2}'),
        ('{"a":{"b":":","b":1}}', '{"a":{"b":1}}'),
    ],
)
async def test_x10_values_that_are_equal_only_in_python_are_not_the_same_call(first: str, other: str) -> None:
    async with Harness(echo) as harness:
        made = await harness.session.call("echo", first, call_id="c")
        outcome = await harness.session.call("echo", other, call_id="c")
        assert outcome.error is not None
        assert outcome.error.message == (
            "The call id 'c' was used before, for echo with other arguments. Use a new id."
        )
        assert await harness.session.call("echo", first, call_id="c") == made
        assert len(runs) == (made.status == "succeeded")
    assert fingerprint_of(first.encode()) != fingerprint_of(other.encode())


@pytest.mark.parametrize("same", ['{ "a" : {"c": "\\u003a:", "b": 1.50} }', '{"a":{"b":15e-1,"c":"\\u003a\\u003a"}}'])
async def test_x10_another_spelling_of_the_same_arguments_is_the_same_call(same: str) -> None:
    async with Harness(echo) as harness:
        first = await harness.session.call("echo", {"a": {"b": 1.5, "c": "::"}}, call_id="c")
        assert await harness.session.call("echo", same, call_id="c") == first
        assert len(runs) == 1
    assert fingerprint_of(same.encode()) == fingerprint_of(b'{"a":{"b":1.5,"c":"::"}}')


async def test_x10_refused_call_is_recorded_once() -> None:
    async with Harness(slow) as harness:
        first = await harness.session.call("unknown", {}, call_id="c")
        assert await harness.session.call("unknown", {}, call_id="c") == first
        assert harness.kinds() == ["tool_started", "tool_result"]


async def test_x10_ids_belong_to_their_session_and_calls_without_one_are_all_different() -> None:
    async with Harness(slow) as harness:
        other = await harness.runtime.open("other", "someone")
        await harness.session.call("slow", {"a": 1}, call_id="c")
        await other.call("slow", {"a": 2}, call_id="c")
        await harness.session.call("slow", {"a": 3})
        await harness.session.call("slow", {"a": 3})
        assert [a for a, _ in runs] == [1, 2, 3, 3]


async def test_x10_second_caller_waits_with_the_first_and_is_promoted_with_it() -> None:
    @tool(inline_budget=2.0)
    async def long() -> int:
        """Take long."""
        await harness.clock.sleep(5)
        return 5

    async with Harness(long) as harness:
        first = await harness.start("long", call_id="c")
        await harness.advance(1)
        second = await harness.start("long", call_id="c")
        await harness.advance(1)
        assert (await first).status == (await second).status == "started"
        assert (await harness.session.call("long", call_id="c")).status == "started"
        await harness.advance(3)
        assert (await harness.session.call("long", call_id="c")).value == 5
