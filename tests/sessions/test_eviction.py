"""Idle sessions leave memory, and are loaded again when they are used (E6)."""

import asyncio
import gc
import weakref
from contextlib import aclosing
from typing import Annotated

import pytest

from callboard import Runtime, Session, tool
from callboard.sessions.ids import SessionNotFound
from callboard.sessions.session import live_session
from callboard.testing import Harness, ManualClock, settle

from .conftest import SOON, board_of, ended, seen

pytestmark = pytest.mark.anyio

IDLE = 300.0


@tool
async def quick(number: Annotated[int, "Which"] = 0) -> int:
    """Answer at once."""
    return number


@tool(mode="background", logout="keep_running")
async def hang() -> None:
    """Hang."""
    await asyncio.Event().wait()


@tool(mode="human")
async def pay(amount: Annotated[int, "How much"]) -> int:
    """Pay."""
    return amount


TOOLS = (quick, hang, pay)


async def idle(clock: ManualClock, *sessions: Session) -> None:
    """Advance the clock until idle sessions are evicted."""
    for session in sessions:
        await live_session(session).settle()
    await clock.advance(2 * IDLE)


def is_away(session: Session) -> bool:
    return len(live_session(session).index.by_id) == 0 and session.board.first_seq > session.board.last_seq


async def test_e6_idle_session_without_references_is_freed(shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        await session.call("quick")
        known = weakref.ref(session)
        await idle(clock, session)
        assert len(runtime.sessions) == 0
        del session
        await settle()
        gc.collect()
        assert known() is None, "nothing keeps it"
        session = await runtime.open("s", "ann")
        assert [event.kind for event in await board_of(session)][-1] == "tool_result"


async def test_e6_open_by_another_user_does_not_load_half_a_session(shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as runtime, Runtime(TOOLS, store=shared_url) as other:
        session = await runtime.open("s", "ann")
        await idle(clock, session)
        theirs = await other.open("s", "ann")
        outcome = await theirs.call("hang")
        await theirs.cancel(outcome.execution_id)
        await live_session(theirs).settle()
        with pytest.raises(SessionNotFound):
            await runtime.open("s", "mallory")
        assert await runtime.open("s", "ann") is session
        assert session.has_pending_work, "a result of another process waits"


async def test_e6_referenced_session_works_after_its_eviction(shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        first = await session.call("quick", {"number": 1}, call_id="c")
        await idle(clock, session)
        assert is_away(session)
        assert (await session.call("quick", {"number": 2})).value == 2
        assert await session.call("quick", {"number": 1}, call_id="c") == first, "a call id is known forever"
        assert (await ended(session, first.execution_id)).value == 1
        assert [event.seq for event in await board_of(session)] == list(range(1, 9))
        assert await session.cancel(first.execution_id) is False
        await idle(clock, session)
        assert await runtime.open("s", "ann") is session


async def test_e6_session_that_was_evicted_and_used_again_is_evicted_again(shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        for number in range(3):
            await session.call("quick", {"number": number})
            assert len(runtime.sessions) == 1, "it counts for the limits of its user"
            await idle(clock, session)
            assert (len(runtime.sessions), is_away(session)) == (0, True)


async def test_e6_session_without_references_is_freed_after_it_was_evicted_and_used_again(shared_url: str) -> None:
    @tool
    async def long() -> str:
        """Return a long text, which is charged to the session's memory."""
        return "x" * 10_000

    clock = ManualClock()
    async with Runtime([long], store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        await idle(clock, session)
        await session.call("long")
        assert runtime.sessions.budget.kept > 10_000
        known = weakref.ref(live_session(session))
        await idle(clock, session)
        del session
        await settle()
        gc.collect()
        assert (known(), runtime.sessions.budget.kept) == (None, 0)


async def test_e6_session_in_use_is_not_evicted(shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("quick", {"number": 3})
        for _ in range(3):  # always shorter than that since the last use, though long since it was opened
            await clock.advance(IDLE - 61)
            await session.call("quick")
        await live_session(session).settle()
        await clock.advance(IDLE - 61)
        assert session.execution(outcome.execution_id).value == 3
        await session.notice("still here")
        await clock.advance(IDLE - 61)
        assert session.execution(outcome.execution_id).value == 3
        await idle(clock, session)
        assert is_away(session)


@pytest.mark.parametrize("name", ["hang", "pay"])
async def test_e6_session_that_runs_or_waits_stays(shared_url: str, name: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call(name, {"amount": 1} if name == "pay" else {})
        await idle(clock, session)
        assert session.execution(outcome.execution_id).status in ("executing", "waiting")
        assert len(runtime.sessions) == 1
        await session.cancel(outcome.execution_id)
        await ended(session, outcome.execution_id)
        await idle(clock, session)
        assert len(runtime.sessions) == 0


async def test_e6_reader_of_an_evicted_session_gets_events_of_other_processes(shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as one, Runtime(TOOLS, store=shared_url) as two:
        held = await one.open("s", "ann")
        await held.notice("before")
        await idle(clock, held)
        assert is_away(held)
        other = await two.open("s", "ann")
        await other.notice("meanwhile")
        reading = asyncio.ensure_future(seen(held, "system_notice", message="afterwards"))
        assert [event.data["message"] for event in await board_of(held)] == ["before", "meanwhile"]
        await other.notice("afterwards")
        assert (await reading).seq == 3


async def test_e6_reader_keeps_a_session_in_memory_also_while_it_is_busy(shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as one, Runtime(TOOLS, store=shared_url) as two:
        session, beside = await one.open("s", "ann"), await one.open("beside", "ann")
        await session.notice("first")
        async with aclosing(session.events()) as reading:
            assert (await anext(reading)).data["message"] == "first"
            await idle(clock, session)  # the reader is still at its first event
            await (await two.open("s", "ann")).notice("second")
            await (await two.open("beside", "ann")).notice("and this")
            await seen(beside, "system_notice")  # the first runtime was woken by now
            async with asyncio.timeout(SOON):
                assert (await anext(reading)).data["message"] == "second"
            assert session.board.has_readers
        assert not session.board.has_readers


async def test_e6_cancellation_by_another_process_reaches_a_session_that_was_evicted_and_reloaded(
    shared_url: str,
) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as one, Runtime(TOOLS, store=shared_url) as two:
        held = await one.open("s", "ann")
        await idle(clock, held)
        outcome = await held.call("hang")
        await seen(held, "tool_executing")
        other = await two.open("s", "ann")
        assert await other.cancel(outcome.execution_id) is True
        assert (await ended(other, outcome.execution_id)).status == "cancelled"
        assert (await ended(held, outcome.execution_id)).status == "cancelled"


async def test_e6_results_from_another_process_are_known_when_an_evicted_session_is_reopened(shared_url: str) -> None:
    @tool(mode="background")
    async def late() -> str:
        """Return a late result."""
        return "there"

    clock = ManualClock()
    async with Runtime([late], store=shared_url, clock=clock) as one, Runtime([late], store=shared_url) as two:
        held = await one.open("s", "ann")
        await idle(clock, held)
        other = await two.open("s", "ann")
        await ended(other, (await other.call("late")).execution_id)
        assert await one.open("s", "ann") is held
        assert held.has_pending_work
        assert [outcome.value for outcome in await held.take_results()] == ["there"]


async def test_e6_answer_loads_a_session_that_is_not_open(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", {"amount": 3})
    async with Runtime(TOOLS, store=shared_url) as worker:
        assert len(worker.sessions) == 0
        async with Runtime(store=shared_url, recover=False) as gateway:
            session = await gateway.open("s", "ann")
            (request,) = await session.requests()
            await session.answer(request.id, {"approved": True})
            assert (await ended(session, outcome.execution_id)).value == 3, "the other process has run it"
        assert len(worker.sessions) == 1


async def test_e6_sessions_without_a_store_stay_in_memory() -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("quick")
        await idle(clock, session)
        assert session.execution(outcome.execution_id).status == "succeeded"
        assert len(runtime.sessions) == 1


async def test_m2_dropped_late_results_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool(mode="background")
    async def quick() -> int:
        """Return soon."""
        return 1

    async with Harness(quick, keep_executions=10) as harness:
        for _ in range(100):
            await harness.session.call("quick")
            await settle()
        assert len(await harness.session.take_results()) == 10
    assert caplog.text.count("that were not taken are dropped") == 1


async def test_m2_late_result_stays_in_memory_until_taken_after_any_number_of_calls() -> None:
    @tool(mode="background")
    async def slow() -> str:
        """Take a while."""
        return "late"

    @tool
    async def instant() -> int:
        """Succeed at once."""
        return 1

    async with Harness(slow, instant, keep_executions=5) as harness:
        await harness.session.call("slow")
        await settle()
        ids = [(await harness.session.call("instant")).execution_id for _ in range(100)]
        assert [outcome.value for outcome in await harness.session.take_results()] == ["late"]
        for _ in range(100):
            await harness.session.call("instant")
        kept = {record.id for record in harness.session.executions()}
        assert ids[-1] not in kept
        assert all(record.tool == "instant" for record in harness.session.executions())
