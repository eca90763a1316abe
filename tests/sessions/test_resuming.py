"""Calls that continue in another process keep their deadlines, and end (E5)."""

import asyncio
from dataclasses import replace
from typing import Annotated

import pytest

from callboard import Limits, Runtime, tool
from callboard.execution.admission import MAX_INTERRUPTIONS
from callboard.sessions.session import live_session
from callboard.storage.change import Change, ExecutionWrite
from callboard.storage.rows import ExecutionRow, SessionRow
from callboard.testing import ManualClock, settle

from .conftest import SOON, board_of, ended, left_behind, stored

pytestmark = pytest.mark.anyio

begun: asyncio.Event
going: asyncio.Event


@tool(mode="background", idempotent=True, total_timeout=60)
async def dig() -> str:
    """Dig for a long time."""
    begun.set()
    await asyncio.Event().wait()
    return "never"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    global begun, going
    begun, going = asyncio.Event(), asyncio.Event()


async def test_e5_time_that_passed_in_a_dead_process_counts(shared_url: str) -> None:
    clock = ManualClock()
    async with asyncio.timeout(SOON):
        async with Runtime([dig], store=shared_url, clock=clock) as runtime:
            outcome = await (await runtime.open("s1", "ann")).call("dig")
            await begun.wait()
            await clock.advance(50)
        begun.clear()
        async with Runtime([dig], store=shared_url, clock=clock) as runtime:
            session = await runtime.open("s1", "ann")
            await begun.wait()
            await clock.advance(9)
            assert not (await session.result(outcome.execution_id, timeout=0)).done
            await clock.advance(2)
            result = await ended(session, outcome.execution_id)
            assert result.error is not None
            assert (result.status, result.error.category, result.error.retryable) == ("failed", "timeout", False)


async def test_e5_events_of_a_call_that_continues_have_its_mode(shared_url: str) -> None:
    async with asyncio.timeout(SOON):
        async with Runtime([dig], store=shared_url) as runtime:
            outcome = await (await runtime.open("s1", "ann")).call("dig")
            await begun.wait()
        begun.clear()
        async with Runtime([dig], store=shared_url) as runtime:
            session = await runtime.open("s1", "ann")
            await begun.wait()
            await session.cancel(outcome.execution_id)
            await ended(session, outcome.execution_id)
            events = await board_of(session)
            assert [each.kind for each in events][-3:] == ["tool_executing", "tool_executing", "tool_result"]
            assert {each.data.get("mode") for each in events} == {"background"}


async def test_e5_deadline_that_passed_before_recovery_ends_the_call(shared_url: str) -> None:
    clock = ManualClock()
    async with asyncio.timeout(SOON):
        async with Runtime([dig], store=shared_url, clock=clock) as runtime:
            outcome = await (await runtime.open("s1", "ann")).call("dig")
            await begun.wait()
        await clock.advance(3_600)
        async with Runtime([dig], store=shared_url, clock=clock) as runtime:
            result = await ended(await runtime.open("s1", "ann"), outcome.execution_id)
            assert result.error is not None
            assert result.error.category == "timeout"


def _killed(row: ExecutionRow) -> ExecutionRow:
    """Return the row of a call as it is if its process is killed instead of stopped."""
    return replace(row, status="executing")


async def test_e5_call_that_ends_its_process_repeatedly_is_not_restarted_forever(sqlite_url: str) -> None:
    async with asyncio.timeout(SOON):
        async with Runtime([dig], store=sqlite_url) as runtime:
            outcome = await (await runtime.open("s1", "ann")).call("dig")
            await begun.wait()
        for _ in range(MAX_INTERRUPTIONS - 1):
            await left_behind(sqlite_url, outcome.execution_id, "s1", _killed)
            begun.clear()
            async with Runtime([dig], store=sqlite_url) as runtime:
                session = await runtime.open("s1", "ann")
                await begun.wait()
                await live_session(session).settle()
        await left_behind(sqlite_url, outcome.execution_id, "s1", _killed)
        begun.clear()
        async with Runtime([dig], store=sqlite_url) as runtime:
            session = await runtime.open("s1", "ann")
            result = await ended(session, outcome.execution_id)
            assert result.error is not None
            assert (result.status, result.error.category) == ("failed", "interrupted")
            assert f"started {MAX_INTERRUPTIONS} times" in result.error.message
            assert not begun.is_set()


@tool(mode="background")
async def crunch() -> str:
    """Crunch numbers, not idempotently."""
    begun.set()
    await going.wait()
    return "crunched"


async def test_e5_results_match_the_store_if_a_live_process_was_declared_dead(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(SOON), Runtime([crunch], store=shared_url) as runtime:
        session = await runtime.open("s1", "ann")
        outcome = await session.call("crunch")
        await begun.wait()
        await live_session(session).settle()
        async with stored(shared_url) as store:  # another process has ended it, and this one does not know
            row = await store.execution("s1", outcome.execution_id)
            assert row is not None
            error = b'{"category":"interrupted","message":"The system stopped.","retryable":false}'
            ended = replace(row, status="failed", error=error, completed_at=row.queued_at + 1, owner=None)
            await store.commit([Change("s1", executions=[ExecutionWrite(ended)], late=[row.id])])
        read = runtime.store.session

        async def meanwhile(session_id: str) -> SessionRow | None:
            going.set()
            await runtime.manager.wait(live_session(session).index.by_id[outcome.execution_id])
            return await read(session_id)

        monkeypatch.setattr(runtime.store, "session", meanwhile)
        (result,) = await session.take_results()
        assert (result.status, result.error and result.error.category) == ("failed", "interrupted")


async def test_x9_queued_calls_are_queued_again_after_a_restart(shared_url: str) -> None:
    """A user with many queued calls does not get slots for all of them at once."""
    go = asyncio.Event()
    began: list[int] = []

    @tool(mode="background", idempotent=True)
    async def work(number: Annotated[int, "Which"]) -> int:
        """Work until a release."""
        began.append(number)
        await go.wait()
        return number

    @tool
    async def tick() -> str:
        """Answer at once."""
        return "tock"

    limits = Limits(total=4, per_user=2, queue=8)
    async with Runtime([work, tick], store=shared_url, limits=limits) as runtime:
        session = await runtime.open("s", "ann")
        made = [await session.call("work", {"number": number}) for number in range(6)]
        assert [outcome.queued for outcome in made] == [False, False, True, True, True, True]
    began.clear()
    async with Runtime([work, tick], store=shared_url, limits=limits) as runtime:
        session = await runtime.open("s", "ann")
        async with asyncio.timeout(SOON):
            while runtime.manager.queued < 4 or len(began) < 2:
                await settle()
        assert sorted(began) == [0, 1]
        other = await runtime.open("o", "bob")
        assert (await other.call("tick")).value == "tock"
        go.set()
        async with asyncio.timeout(SOON):
            assert [(await session.result(each.execution_id)).value for each in made] == list(range(6))
