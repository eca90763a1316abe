"""A nested call with a key is made once, however often its parent runs."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any

import pytest

from callboard import RetryPolicy, Runtime, Session, Settings, ToolContext, ToolError, tool
from callboard.sessions.session import live_session
from callboard.storage.errors import StoreUnavailable
from callboard.testing import Harness, ManualClock, settle

from .conftest import SOON, ended, until

pytestmark = pytest.mark.anyio

runs: Counter[str] = Counter()
FIXED = RetryPolicy(max_attempts=3, base_delay=1.0, strategy="fixed")


@pytest.fixture(autouse=True)
def _fresh() -> None:
    runs.clear()


@tool
async def count(name: Annotated[str, "What to count"]) -> int:
    """Count how often this runs."""
    runs[name] += 1
    return runs[name]


@tool
async def refuse(name: Annotated[str, "What to refuse"]) -> int:
    """Fail, and count how often."""
    runs[name] += 1
    raise ToolError(f"No {name} today, {runs[name]}.", category="permission")


@tool(mode="human", idempotent=True)
async def sign(text: Annotated[str, "What to sign"]) -> str:
    """Sign a text, once a person agrees."""
    runs[text] += 1
    return f"{text}, signed"


@tool(mode="background", idempotent=True)
async def publish(ctx: ToolContext, texts: Annotated[list[str], "What to publish"]) -> list[str]:
    """Count a run, have every text signed at once, and count the end."""
    runs["publish"] += 1
    first = await ctx.call("count", {"name": "steps"}, key="first")
    signed = await asyncio.gather(*(ctx.call("sign", {"text": text}, key=f"sign {text}") for text in texts))
    return [str(first), *signed]


TOOLS = (count, refuse, sign, publish)


async def test_x2_key_that_was_used_returns_the_recorded_value() -> None:
    @tool
    async def twice(ctx: ToolContext) -> list[int]:
        """Count twice with one key, and once with another."""
        return [await ctx.call("count", {"name": "a"}, key=key) for key in ("k", "k", "other")]

    async with Harness(count, twice) as harness:
        assert (await harness.session.call("twice")).value == [1, 1, 2]
        assert (await harness.session.call("twice")).value == [3, 3, 4], "a key belongs to one call of the parent"
        parent, child = harness.session.executions()[:2]
        assert (child.parent_id, child.call_id) == (parent.id, f"{parent.id}:k")


async def test_x2_concurrent_calls_with_one_key_are_one_call() -> None:
    @tool
    async def together(ctx: ToolContext) -> list[int]:
        """Count with one key, concurrently."""
        return await asyncio.gather(*(ctx.call("count", {"name": "a"}, key="k") for _ in range(3)))

    async with Harness(count, together) as harness:
        assert (await harness.session.call("together")).value == [1, 1, 1]


async def test_x2_next_attempt_gets_the_recorded_value_and_the_recorded_error() -> None:
    seen: list[str] = []

    @tool(idempotent=True, retry=FIXED)
    async def stubborn(ctx: ToolContext) -> str:
        """Fail twice, after two steps."""
        value = await ctx.call("count", {"name": "a"}, key="count")
        try:
            await ctx.call("refuse", {"name": "b"}, key="refuse")
        except ToolError as error:
            seen.append(f"{value} {error.category} {error.message}")
        if ctx.attempt < 3:
            raise ToolError("Busy.", category="transient")
        return "done"

    async with Harness(count, refuse, stubborn) as harness:
        call = await harness.start("stubborn")
        await harness.clock.advance(10)
        assert (await call).value == "done"
    assert seen == ["1 permission No b today, 1."] * 3
    assert runs == {"a": 1, "b": 1}


@tool(mode="background", idempotent=True, retry=RetryPolicy(max_attempts=2, base_delay=0.0))
async def sweep(ctx: ToolContext, steps: Annotated[int, "How many steps"]) -> int:
    """Make many calls with keys, and fail once after them."""
    for step in range(steps):
        await ctx.call("count", {"name": f"{step}"}, key=f"step {step}")
    if ctx.attempt == 1:
        raise ToolError("Busy.", category="transient")
    return steps


async def test_x2_keys_are_known_to_the_next_attempt_however_many_there_are() -> None:
    async with Runtime([count, sweep], keep_executions=10) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("sweep", {"steps": 300})
        assert (await ended(session, outcome.execution_id)).value == 300
        assert set(runs.values()) == {1}
        for _ in range(100):
            await session.call("count", {"name": "another"})
        assert len(session.executions()) < 100, "they are dropped when no attempt can ask for them"


async def test_x2_key_that_may_have_been_used_is_refused_when_memory_is_full() -> None:
    async with Runtime([count, sweep], keep_executions=10, settings=Settings(max_session_bytes=100_000)) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("sweep", {"steps": 300})
        failed = (await ended(session, outcome.execution_id)).error
        assert failed is not None
        assert failed.category == "resource"
        assert failed.message.startswith("The call with the key 'step 0' was not made")
        assert set(runs.values()) == {1}
        assert len(runs) == 300, "the first attempt is not limited"
        assert len(session.executions()) < 250


async def test_h5_caller_holds_no_nested_calls_whose_ends_are_stored(sqlite_url: str) -> None:
    held: list[int] = []

    @tool(idempotent=True)
    async def loop(ctx: ToolContext) -> None:
        """Call again and again."""
        parent = live_session(session).index.by_id[ctx.execution_id or ""]
        for step in range(3):
            await ctx.call("count", {"name": "a"}, key=f"{step}")
            held.append(len(parent.children or ()))

    async with Runtime([count, loop], store=sqlite_url) as runtime:
        session = await runtime.open("s", "ann")
        assert (await session.call("loop")).error is None
    assert held == [0, 0, 0]


async def test_x2_next_attempt_waits_for_the_call_of_an_attempt_that_timed_out() -> None:
    release = asyncio.Event()

    @tool
    async def slow() -> int:
        """Wait to be released."""
        runs["slow"] += 1
        await release.wait()
        return runs["slow"]

    @tool(mode="background", idempotent=True, timeout=5, retry=FIXED)
    async def impatient(ctx: ToolContext) -> list[int]:
        """Wait at most five seconds for a call."""
        if ctx.attempt == 2:
            release.set()
        return [ctx.attempt, await ctx.call("slow", key="slow")]

    async with Harness(slow, impatient) as harness:
        outcome = await harness.session.call("impatient")
        await settle()
        await harness.clock.advance(7)
        assert (await ended(harness.session, outcome.execution_id)).value == [2, 1]


async def test_x2_key_with_other_arguments_is_refused() -> None:
    @tool
    async def confused(ctx: ToolContext) -> str:
        """Use a key for two calls."""
        await ctx.call("count", {"name": "a"}, key="k")
        with pytest.raises(ToolError, match=r"The key 'k' was used before, for count with other arguments"):
            await ctx.call("count", {"name": "b"}, key="k")
        with pytest.raises(ToolError, match=r"The key 'k' was used before"):
            await ctx.call("refuse", {"name": "a"}, key="k")
        return "checked"

    async with Harness(count, refuse, confused) as harness:
        assert (await harness.session.call("confused")).value == "checked"
    assert runs == {"a": 1}


@pytest.mark.parametrize("key", ["", "x" * 101, "a\nb"])
async def test_x2_key_must_be_short_and_printable(key: str) -> None:
    @tool
    async def odd(ctx: ToolContext) -> str:
        """Use an odd key."""
        with pytest.raises(ValueError, match="a key has 1 to 100 printable characters"):
            await ctx.call("count", {"name": "a"}, key=key)
        return "checked"

    async with Harness(count, odd) as harness:
        assert (await harness.session.call("odd")).value == "checked"


def unavailable(runtime: Runtime, monkeypatch: pytest.MonkeyPatch, times: float) -> list[str]:
    """Let so many look-ups of calls fail, and return the list of all that are made."""
    look_up, made = runtime.store.execution_of_call, list[str]()

    async def fail(session_id: str, call_id: str) -> Any:
        made.append(call_id)
        if len(made) <= times:
            raise StoreUnavailable("The server restarts.")
        return await look_up(session_id, call_id)

    monkeypatch.setattr(runtime.store, "execution_of_call", fail)
    return made


@tool(mode="background", total_timeout=60)
async def stepwise(ctx: ToolContext) -> int:
    """Count with a key."""
    return int(await ctx.call("count", {"name": "a"}, key="k"))


async def test_b6_call_with_a_key_waits_for_a_store_that_does_not_answer(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    async with Runtime([count, stepwise], store=sqlite_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        made = unavailable(runtime, monkeypatch, 5)
        outcome = await session.call("stepwise")
        await until(lambda: len(made) == 1)
        await clock.advance(30)
        assert (await ended(session, outcome.execution_id)).value == 1
        assert len(made) == 6


@pytest.mark.parametrize("category", ["timeout", "cancelled"])
async def test_b6_call_with_a_key_waits_for_the_store_no_longer_than_its_caller(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, category: str
) -> None:
    nested: list[asyncio.Task[Any]] = []

    @tool(mode="background", total_timeout=60)
    async def spread(ctx: ToolContext) -> None:
        """Count with a key, in a task that is not cancelled."""
        nested.append(asyncio.create_task(ctx.call("count", {"name": "a"}, key="k")))
        await asyncio.Event().wait()

    clock = ManualClock()
    async with Runtime([count, spread], store=sqlite_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        made = unavailable(runtime, monkeypatch, float("inf"))
        outcome = await session.call("spread")
        await until(lambda: len(made) == 1)
        if category == "timeout":
            await clock.advance(60)
        else:
            await session.cancel(outcome.execution_id)
        error = (await ended(session, outcome.execution_id)).error
        assert error is not None
        assert error.category == category
        await clock.advance(5)
        assert nested[0].cancelled()
    assert not runs


async def asked(session: Session, number: int) -> dict[str, str]:
    """Return the ids of the open requests by text, once there are so many."""
    while len(requests := await session.requests()) < number:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return {request.payload["text"]: request.id for request in requests}


async def test_e5_request_of_a_keyed_call_survives_the_end_of_its_process(shared_url: str) -> None:
    async with asyncio.timeout(SOON):
        async with Runtime(TOOLS, store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            outcome = await session.call("publish", {"texts": ["one", "two"]})
            first = await asked(session, 2)
            await session.answer(first["one"], {"approved": True})
            await until(lambda: runs["one"] == 1)
        async with Runtime(TOOLS, store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            await until(lambda: runs["publish"] == 2)
            assert await asked(session, 1) == {"two": first["two"]}
            await session.answer(first["two"], {"approved": True})
            result = await ended(session, outcome.execution_id)
            assert result.value == ["1", "one, signed", "two, signed"]
            history = await session.history()
            assert sorted(record.tool for record in history) == ["count", "publish", "sign", "sign"]
    assert runs == {"publish": 2, "steps": 1, "one": 1, "two": 1}


async def test_e5_request_of_a_call_without_a_key_is_withdrawn_when_its_process_ends(shared_url: str) -> None:
    @tool(mode="background")
    async def hasty(ctx: ToolContext) -> str:
        """Have a text signed."""
        return str(await ctx.call("sign", {"text": "one"}))

    async with asyncio.timeout(SOON):
        async with Runtime([sign, hasty], store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            await session.call("hasty")
            await asked(session, 1)
        async with Runtime([sign, hasty], store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            assert await session.requests() == []


async def test_e5_cancelling_a_recovered_parent_withdraws_the_requests_of_its_keyed_calls(shared_url: str) -> None:
    async with asyncio.timeout(SOON):
        async with Runtime(TOOLS, store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            outcome = await session.call("publish", {"texts": ["one"]})
            await asked(session, 1)
        async with Runtime(TOOLS, store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            await until(lambda: runs["publish"] == 2)
            assert await session.cancel(outcome.execution_id)
            assert (await ended(session, outcome.execution_id)).status == "cancelled"
            assert await session.requests() == []
            assert {record.status for record in await session.history() if record.tool == "sign"} == {"cancelled"}


CHILD = """
import asyncio, sys
from callboard import Runtime
from tests.sessions.test_keyed_calls import TOOLS

async def main() -> None:
    async with Runtime(TOOLS, store=sys.argv[1]) as runtime:
        session = await runtime.open("s", "ann")
        if sys.argv[2] == "begin":
            await session.call("publish", {"texts": ["one", "two"]}, call_id="c")
        while len(await session.requests()) < 2:
            await asyncio.sleep(0.01)
        print("asked", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_e5_keyed_calls_survive_a_kill_at_each_step(shared_url: str) -> None:
    """The process dies while people are asked, after an answer, and again; nothing is asked or run twice."""

    def run_and_kill(mode: str) -> None:
        child = subprocess.Popen(
            [sys.executable, "-c", dedent(CHILD), shared_url, mode],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"asked\n"
        child.send_signal(signal.SIGKILL)
        child.communicate()

    async with asyncio.timeout(SOON * 2):
        await asyncio.to_thread(run_and_kill, "begin")
        await asyncio.to_thread(run_and_kill, "continue")
        async with Runtime(TOOLS, store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            requests = await asked(session, 2)
            assert len({*requests.values()}) == 2
            for request_id in requests.values():
                await session.answer(request_id, {"approved": True})
            outcome = await session.call("publish", {"texts": ["one", "two"]}, call_id="c")
            result = await ended(session, outcome.execution_id)
            assert result.value == ["1", "one, signed", "two, signed"]
            assert runs == {"publish": 1, "one": 1, "two": 1}, "the step of the first process is not repeated"
            assert len(await session.history()) == 4


async def test_e5_handler_that_waits_in_tasks_of_its_own_does_not_go_on_in_a_process_that_ends(sqlite_url: str) -> None:
    values: list[object] = []

    @tool(mode="background", idempotent=True)
    async def spread(ctx: ToolContext) -> None:
        """Wait for a person in another task."""

        async def ask() -> None:
            try:
                values.append(await ctx.call("sign", {"text": "one"}, key="sign"))
            except ToolError as error:
                values.append(error)

        await asyncio.wait([asyncio.create_task(ask())])

    async with asyncio.timeout(SOON):
        async with Runtime([sign, spread], store=sqlite_url) as runtime:
            session = await runtime.open("s", "ann")
            outcome = await session.call("spread")
            requests = await asked(session, 1)
        assert values == []
        async with Runtime([sign, spread], store=sqlite_url) as runtime:
            session = await runtime.open("s", "ann")
            await session.answer(requests["one"], {"approved": True})
            assert (await ended(session, outcome.execution_id)).status == "succeeded"
    assert values == ["one, signed"]
