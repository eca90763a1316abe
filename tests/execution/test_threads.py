"""Handlers that are not async run in a bounded number of threads, and do not block other calls (X11)."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import pytest

from callboard import BreakerPolicy, Limits, ToolContext, ToolError, tool
from callboard.execution.threads import Threads
from callboard.testing import Harness, settle

pytestmark = pytest.mark.anyio


async def until(condition: threading.Event) -> None:
    assert await asyncio.to_thread(condition.wait, 90)


async def test_x11_sync_handlers_are_bounded_and_do_not_block_the_loop() -> None:
    go, full = threading.Event(), threading.Event()
    lock = threading.Lock()
    inside, most = 0, 0
    idents: set[int] = set()

    @tool(mode="background")
    def block(number: Annotated[int, "Any"]) -> int:
        """Block a thread."""
        nonlocal inside, most
        with lock:
            inside, most = inside + 1, max(most, inside + 1)
            idents.add(threading.get_ident())
            if inside == 3:
                full.set()
        go.wait(90)
        with lock:
            inside -= 1
        return number

    @tool
    async def quick() -> str:
        """Answer at once."""
        return "here"

    async with Harness(block, quick, limits=Limits(threads=3)) as harness:
        ids = [(await harness.session.call("block", {"number": n})).execution_id for n in range(10)]
        await until(full)
        assert (await harness.session.call("quick")).value == "here"
        assert threading.get_ident() not in idents
        go.set()
        assert [(await harness.session.result(each)).value for each in ids] == list(range(10))
        assert most == 3


async def test_x11_abandoned_threads_count_until_they_end() -> None:
    go, entered = threading.Event(), threading.Event()
    count = 0

    @tool(timeout=1.0, breaker=BreakerPolicy(failure_threshold=100))
    def hang(ctx: ToolContext) -> None:
        """Hang."""
        nonlocal count
        count += 1
        if count == 2:
            entered.set()
        go.wait(90)

    async with Harness(hang, limits=Limits(threads=2)) as harness:
        calls = [await harness.start("hang") for _ in range(2)]
        await until(entered)
        await harness.advance(1)
        assert [(await call).status for call in calls] == ["failed"] * 2
        late = [await harness.start("hang") for _ in range(5)]
        await harness.advance(1)
        assert [(await call).status for call in late] == ["failed"] * 5
        assert count == 2, "no thread was free for them"
        assert harness.runtime.manager._runner.threads.busy == 2
        go.set()
        again = await harness.start("hang")
        assert (await again).status == "succeeded"
        async with asyncio.timeout(90):
            # The abandoned ones end in their own time.
            while harness.runtime.manager._runner.threads.busy:  # noqa: ASYNC110
                await asyncio.sleep(0.002)


async def test_x11_a_thread_is_released_when_the_function_fails_or_never_runs() -> None:
    threads = Threads(1)

    def fail() -> None:
        raise ToolError("No.")

    for _ in range(3):
        with pytest.raises(ToolError):
            await threads.run(fail)
        await settle()
    for _ in range(20):  # cancelled at any moment before, while and after the thread takes it
        task = asyncio.ensure_future(threads.run(lambda: 1))
        await settle(1)
        task.cancel()
        await asyncio.wait([task])
    assert await threads.run(lambda: 2) == 2
    await settle()
    assert threads.busy == 0


async def test_x11_context_is_there_in_a_thread() -> None:
    @tool
    def who(ctx: ToolContext) -> list[str | None]:
        """Say who asks."""
        return [ctx.session_id, ctx.user_id, ctx.call_id]

    async with Harness(who) as harness:
        assert (await harness.session.call("who", call_id="c")).value == ["test", "tester", "c"]


async def test_x11_one_user_cannot_take_all_threads_and_free_ones_go_to_each_user_in_turn() -> None:
    ends = {name: threading.Event() for name in "abcdexy"}
    entered = {name: threading.Event() for name in "abcdexy"}
    began: list[str] = []

    @tool(mode="background")
    def block(name: Annotated[str, "Which"]) -> str:
        """Block a thread."""
        began.append(name)
        entered[name].set()
        ends[name].wait(90)
        return name

    async def has_begun(*names: str) -> None:
        await until(entered[names[-1]])
        assert sorted(began) == sorted(names)

    async with Harness(block, limits=Limits(threads=4)) as harness:
        other = await harness.runtime.open("other", "someone")
        try:
            for name in "abcde":
                await harness.session.call("block", {"name": name})
                await settle()
                if name < "d":
                    await until(entered[name])
            await has_begun("a", "b", "c")
            await other.call("block", {"name": "x"})
            await has_begun("a", "b", "c", "x")
            await other.call("block", {"name": "y"})
            await settle()
            ends["a"].set()
            await has_begun("a", "b", "c", "x", "d")
            ends["b"].set()
            await has_begun("a", "b", "c", "x", "d", "y")
        finally:
            for each in ends.values():
                each.set()


async def test_x11_a_caller_that_stops_waiting_for_a_thread_leaves_the_queue() -> None:
    threads, go = Threads(1), threading.Event()
    holds = asyncio.ensure_future(threads.run(lambda: go.wait(90), "ann"))
    await settle()
    waits = [asyncio.ensure_future(threads.run(lambda: True, user)) for user in ("ann", "bob", "bob")]
    await settle()
    for each in waits[:2]:
        each.cancel()
    await asyncio.wait(waits[:2])
    go.set()
    assert (await holds, await waits[2]) == (True, True)
    await settle()
    assert (threads.busy, threads._waiting, dict(threads._used)) == (0, {}, {})


async def test_x11_context_in_a_threads_own_event_loop_is_refused_and_says_what_to_use() -> None:
    @tool
    def quick() -> int:
        """Answer."""
        return 1

    @tool(mode="background")
    def work(ctx: ToolContext, use: Annotated[str, "Method to use"]) -> None:
        """Use the context as an async handler does."""
        uses: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
            "progress": lambda: ctx.progress("working"),
            "partial": lambda: ctx.partial(1),
            "call": lambda: ctx.call("quick"),
            "is_running": lambda: ctx.is_running("x"),
        }
        asyncio.run(uses[use]())

    async with Harness(quick, work) as harness:
        for use in ("progress", "partial", "call", "is_running"):
            call = await harness.session.call("work", {"use": use})
            error = (await harness.session.result(call.execution_id)).error
            assert error is not None
            assert (error.category, error.message) == (
                "configuration",
                "The tool is not set up correctly; a person must look at it.",
            )
            assert f"use anyio.from_thread.run(ctx.{use}, …) instead of asyncio.run" in str(error.report)
