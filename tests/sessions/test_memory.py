"""The memory of sessions is bounded by bytes, and a user does not take the share of another (E6, H5)."""

import asyncio
from typing import Annotated, Any

import pytest

from callboard import Runtime, Session, Settings, ToolContext, ToolError, tool
from callboard.sessions.session import live_session
from callboard.testing import settle

from .conftest import SOON, Make, board_of

pytestmark = pytest.mark.anyio

KB = 1024
MB = 1024 * KB


@tool(idempotent=True)
async def large(size: Annotated[int, "How many characters"], mark: Annotated[str, "Of what"] = "x") -> str:
    """Return a long text."""
    runs.append(mark)
    return mark * size


runs: list[str] = []


@tool(mode="background")
async def later(size: Annotated[int, "How many characters"]) -> str:
    """Return a long text later."""
    return "x" * size


@tool(mode="human")
async def pay(amount: Annotated[int, "How much"]) -> int:
    """Pay."""
    return amount


@tool
async def whole(ctx: ToolContext, size: Annotated[int, "How many characters"]) -> int:
    """Count the result of another tool."""
    return len(await ctx.call("large", {"size": size}))


TOOLS = (large, later, pay, whole)
SMALL = Settings(max_session_bytes=200 * KB, max_user_bytes=300 * KB, max_memory_bytes=1 * MB)


def held(runtime: Runtime, *sessions: Session) -> int:
    """Return the bytes that sessions hold, counted without the budget."""
    lines = [line for each in sessions for line in live_session(each).board._lines]
    executions = [each for session in sessions for each in live_session(session).index.entries]
    parts = [*lines, *(each.result_json or b"" for each in executions), *(each.document for each in executions)]
    return sum(map(len, parts))


async def test_e6_large_results_are_bounded_by_bytes_and_still_found(make: Make, store_url: str) -> None:
    durable = store_url != "memory://"
    async with make(*TOOLS, settings=SMALL) as runtime:
        session = await runtime.open("s", "ann")
        made = [await session.call("large", {"size": 20 * KB, "mark": mark}) for mark in "abcdefghijklmnop"]
        ids = [outcome.execution_id for outcome in made]
        assert held(runtime, session) < 250 * KB
        assert runtime.sessions.budget.kept <= 200 * KB
        last = await session.result(ids[-1])
        assert last.value == "p" * 20 * KB
        if durable:
            assert [(await session.result(each)).value[0] for each in ids] == list("abcdefghijklmnop")
            events = [event for event in await board_of(session) if event.kind == "tool_result"]
            assert [event.data["value"][0] for event in events] == list("abcdefghijklmnop")
            assert [record.value[:1] for record in await session.history()] == list("abcdefghijklmnop")
        else:
            with pytest.raises(ToolError, match="There is no execution"):
                await session.result(ids[0])
            assert session.board.first_seq > 1
        with pytest.raises(ToolError, match="There is no execution"):
            session.execution(ids[0])
        assert len(session.executions()) == len(
            [each for each in live_session(session).index.entries if not each.unloaded]
        )
        assert held(runtime, session) < 250 * KB


async def test_x10_a_call_whose_result_is_only_in_the_store_is_not_run_again(make: Make, store_url: str) -> None:
    if store_url == "memory://":
        pytest.skip("in memory there is no place for it")
    async with make(*TOOLS, settings=SMALL) as runtime:
        session = await runtime.open("s", "ann")
        runs.clear()
        arguments = {"size": 30 * KB, "mark": "a"}
        first = await session.call("large", arguments, call_id="c1")
        for _ in range(10):
            await session.call("large", {"size": 30 * KB, "mark": "b"})
        assert live_session(session).index.by_id[first.execution_id].unloaded
        again = await session.call("large", arguments, call_id="c1")
        assert (again.execution_id, again.value) == (first.execution_id, "a" * 30 * KB)
        other = await session.call("large", {"size": 1, "mark": "a"}, call_id="c1")
        assert other.error is not None
        assert other.error.category == "validation"
        assert runs == ["a", *"b" * 10]


async def test_e3_large_late_results_wait_in_the_store_or_in_memory_up_to_its_limit(
    make: Make, store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with make(*TOOLS, settings=SMALL) as runtime:
        session = await runtime.open("s", "ann")
        ids = [(await session.call("later", {"size": 20 * KB})).execution_id for _ in range(12)]
        async with asyncio.timeout(SOON):
            for each in ids:
                try:
                    await session.result(each)
                except ToolError:
                    assert store_url == "memory://"
        assert held(runtime, session) < 250 * KB
        taken = await session.take_results()
        assert [outcome.execution_id for outcome in taken] == ids[len(ids) - len(taken) :]
        if store_url == "memory://":
            assert 0 < len(taken) < 12
            assert "are dropped" in caplog.text
        else:
            assert len(taken) == 12
        assert all(len(outcome.value) == 20 * KB for outcome in taken)


async def test_h5_memory_of_a_user_is_bounded_over_all_sessions_and_does_not_affect_others(make: Make) -> None:
    async with make(*TOOLS, settings=SMALL) as runtime:
        modest = await runtime.open("modest", "bob")
        kept = await modest.call("large", {"size": 30 * KB})
        sessions = [await runtime.open(f"s{number}", "ann") for number in range(10)]
        for _ in range(3):
            for session in sessions:
                await session.call("large", {"size": 30 * KB})
        assert held(runtime, *sessions) < 350 * KB
        assert modest.execution(kept.execution_id).value == "x" * 30 * KB, "it is still in memory"
        async with asyncio.timeout(SOON):
            for session in sessions:
                await session.close()
        await runtime.store.delete("modest")
        runtime.sessions.delete(live_session(modest))
        if live_session(modest).durable:
            assert runtime.sessions.budget.kept == 0, "all bytes are freed"


async def test_h5_memory_of_all_users_is_bounded(make: Make) -> None:
    async with make(*TOOLS, settings=SMALL) as runtime:
        sessions = [await runtime.open(f"s{number}", f"user{number}") for number in range(20)]
        for session in sessions:
            for _ in range(2):
                await session.call("large", {"size": 40 * KB})
        assert held(runtime, *sessions) < 1.1 * MB


async def test_h5_arguments_of_open_calls_are_bounded_per_user(make: Make) -> None:
    go = asyncio.Event()

    @tool
    async def take(text: Annotated[str, "A long text"]) -> int:
        """Count characters after a release."""
        await go.wait()
        return len(text)

    async with make(take, settings=SMALL) as runtime:
        first, second = await runtime.open("s1", "ann"), await runtime.open("s2", "ann")
        other = await runtime.open("o", "bob")
        text = {"text": "x" * 100 * KB}
        calls = [asyncio.ensure_future(session.call("take", text)) for session in (first, second)]
        await settle()
        refused = await second.call("take", text)
        assert refused.error is not None
        assert refused.error.category == "resource"
        assert refused.error.message.startswith("The arguments of this user's calls that have not ended take 204,")
        calls.append(asyncio.ensure_future(other.call("take", text)))
        go.set()
        async with asyncio.timeout(SOON):
            outcomes = [await each for each in calls]
            assert [outcome.value for outcome in outcomes] == [100 * KB] * 3, outcomes
            assert (live_session(first).user.arguments, live_session(other).user.arguments) == (0, 0)
            assert (await second.call("take", text)).value == 100 * KB


async def test_h5_calls_that_wait_for_a_person_are_bounded_per_user(make: Make) -> None:
    async with make(*TOOLS, settings=Settings(max_user_requests=2)) as runtime:
        first, second = await runtime.open("s1", "ann"), await runtime.open("s2", "ann")
        other = await runtime.open("o", "bob")
        assert (await first.call("pay", {"amount": 1})).status == "waiting"
        assert (await second.call("pay", {"amount": 2})).status == "waiting"
        await second.requests()
        third = await second.call("pay", {"amount": 3})
        error = (await second.result(third.execution_id)).error
        assert error is not None
        assert error.category == "resource"
        assert error.message.startswith("2 calls of this user already wait for a person")
        assert (await other.call("pay", {"amount": 4})).status == "waiting"
        (request,) = await first.requests()
        await first.answer(request.id, {"approved": True})
        async with asyncio.timeout(SOON):
            assert (await first.result(request.execution_id)).value == 1
        assert (await second.call("pay", {"amount": 5})).status == "waiting"


async def test_h5_sessions_in_memory_are_bounded_per_user(make: Make, store_url: str) -> None:
    async with make(*TOOLS, settings=Settings(max_user_sessions=3)) as runtime:
        busy = await runtime.open("busy", "ann")
        await busy.call("pay", {"amount": 1})
        sessions = [await runtime.open(f"s{number}", "ann") for number in range(2)]
        assert (await runtime.open("o", "bob")).user_id == "bob"
        if store_url == "memory://":
            with pytest.raises(ToolError, match="has 3 sessions in memory, which is the limit"):
                await runtime.open("more", "ann")
            assert await runtime.open("s0", "ann") is sessions[0]
            return
        for number in range(5):
            await runtime.open(f"more{number}", "ann")
        assert len(runtime.sessions) == 4
        assert runtime.sessions.find("busy") is live_session(busy), "a session with a running call stays"
        outcome = await sessions[0].call("large", {"size": 1})
        assert outcome.value == "x", "an evicted session can be used"


async def test_e6_large_result_of_a_nested_call_reaches_its_caller(make: Make) -> None:
    async with make(*TOOLS, settings=Settings(max_session_bytes=10 * KB)) as runtime:
        session = await runtime.open("s", "ann")
        outcomes: list[Any] = await asyncio.gather(*(session.call("whole", {"size": 50 * KB}) for _ in range(8)))
        assert [outcome.value for outcome in outcomes] == [50 * KB] * 8


async def test_h5_answered_requests_do_not_accumulate_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callboard.adapters.stores.memory.state.CLOSED_REQUESTS", 3)
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        asked = await session.call("pay", {"amount": 0})
        for amount in range(1, 10):
            outcome = await session.call("pay", {"amount": amount})
            _, request = await session.requests()
            await session.answer(request.id, {"approved": True})
            assert (await session.result(outcome.execution_id)).value == amount
        assert len(await runtime.store.requests(session_id="s")) == 4
        (request,) = await session.requests()
        await session.answer(request.id, {"approved": True})
        assert (await session.result(asked.execution_id)).value == 0
