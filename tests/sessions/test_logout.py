"""Logout and login: calls that are waited for, calls that continue, and the results afterwards (E3, E4)."""

import asyncio
from typing import Annotated, Any

import anyio
import pytest

from callboard import Limits, Runtime, ToolContext, tool
from callboard.sessions.session import live_session
from callboard.storage.patience import patience
from callboard.storage.rows import ExecutionRow
from callboard.testing import ManualClock, settle

from .conftest import Make, board_of, ended, seen

pytestmark = pytest.mark.anyio


class Doors:
    """Releases handlers, and records how they ended."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.entered = asyncio.Event()
        self.cleaned: list[str] = []

    async def wait(self, name: str) -> str:
        self.entered.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cleaned.append(name)
            raise
        return name


doors: Doors


@pytest.fixture(autouse=True)
def fresh() -> None:
    global doors
    doors = Doors()


@tool(mode="background")
async def careful() -> str:
    """Finish before the logout."""
    return await doors.wait("careful")


@tool(mode="background", logout="keep_running")
async def long() -> str:
    """Continue after the logout."""
    return await doors.wait("long")


@tool(mode="background", logout="cancel_on_logout")
async def futile() -> str:
    """Be cancelled at the logout."""
    return await doors.wait("futile")


@tool(mode="human")
async def pay(amount: Annotated[int, "How much"]) -> int:
    """Pay."""
    return amount


@tool
async def quick(ctx: ToolContext) -> str | None:
    """Answer at once."""
    return ctx.session_id


TOOLS = (careful, long, futile, pay, quick)


async def test_e3_logout_waits_for_calls_that_finish_in_time(make: Make) -> None:
    async with make(*TOOLS, clock=ManualClock()) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("careful")
        closing = asyncio.ensure_future(session.close())
        await doors.entered.wait()
        await settle()
        assert not closing.done()
        doors.go.set()
        await closing
        assert session.is_open is False
        session = await runtime.open("s", "ann")
        assert session.is_open is True
        assert session.has_pending_work
        assert [each.value for each in await session.take_results()] == ["careful"]
        assert not session.has_pending_work
        events = await board_of(session)
        assert [event.kind for event in events][-1] == "tool_result"
        assert (await ended(session, outcome.execution_id)).value == "careful"


async def test_e3_cancelled_logout_leaves_nothing_behind(make: Make) -> None:
    clock = ManualClock()
    async with make(*TOOLS, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("careful")
        await doors.entered.wait()
        await settle()
        tasks = asyncio.all_tasks()
        closing = asyncio.ensure_future(session.close(grace=60))
        await settle()
        closing.cancel()
        await asyncio.wait([closing])
        await settle()
        assert asyncio.all_tasks() <= tasks
        await clock.advance(61)
        assert session.is_open
        doors.go.set()
        assert (await ended(session, outcome.execution_id)).value == "careful"


async def test_e3_call_that_runs_after_the_grace_time_fails_with_a_notice(make: Make) -> None:
    clock = ManualClock()
    async with make(*TOOLS, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("careful")
        await doors.entered.wait()
        closing = asyncio.ensure_future(session.close())
        await clock.advance(29.9)
        assert not closing.done()
        assert session.execution(outcome.execution_id).status == "executing"
        await clock.advance(0.1)
        await closing
        assert doors.cleaned == ["careful"], "its clean-up ran"
        session = await runtime.open("s", "ann")
        result = await ended(session, outcome.execution_id)
        assert (result.status, result.error and result.error.category) == ("failed", "timeout")
        assert result.error is not None
        assert "session was closed while careful ran" in result.error.message
        *_, last, notice = await board_of(session)
        assert (last.kind, last.data["error"]["category"]) == ("tool_result", "timeout")
        assert notice.kind == "system_notice"
        assert notice.data["message"] == "Work was still running at the logout and was ended: careful."
        assert [each.status for each in await session.take_results()] == ["failed"], "the model gets it once"
        assert await session.take_results() == []


async def test_e3_call_that_never_began_says_that_nothing_was_done(make: Make) -> None:
    clock = ManualClock()
    async with make(*TOOLS, clock=clock, limits=Limits(per_session=1)) as runtime:
        session = await runtime.open("s", "ann")
        first, second = await session.call("careful"), await session.call("careful")
        await doors.entered.wait()
        await session.close(grace=0)
        session = await runtime.open("s", "ann")
        messages = {each.execution_id: each.error and each.error.message for each in await session.take_results()}
        assert messages == {
            first.execution_id: "The session was closed while careful ran. It is not known whether it took effect.",
            second.execution_id: "The session was closed before careful began. Nothing was done.",
        }


async def test_e3_logout_with_a_grace_time(make: Make) -> None:
    clock = ManualClock()
    async with make(*TOOLS, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("careful")
        await doors.entered.wait()
        closing = asyncio.ensure_future(session.close(grace=0.0))
        await clock.advance(0)
        await closing
        session = await runtime.open("s", "ann")
        assert (await ended(session, outcome.execution_id)).status == "failed"


async def test_e3_handler_that_ignores_cancellation_does_not_delay_the_logout(make: Make) -> None:
    stubborn_goes_on = asyncio.Event()

    @tool(mode="background")
    async def stubborn() -> str:
        """Ignore every cancellation."""
        doors.entered.set()
        while True:
            try:
                await stubborn_goes_on.wait()
                return "too late"
            except asyncio.CancelledError:
                continue

    clock = ManualClock()
    async with make(stubborn, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("stubborn")
        await doors.entered.wait()
        closing = asyncio.ensure_future(session.close(grace=5))
        await clock.advance(5)
        await closing
        stubborn_goes_on.set()
        await settle()
        session = await runtime.open("s", "ann")
        assert (await ended(session, outcome.execution_id)).status == "failed"
        ends = [event for event in await board_of(session) if event.kind == "tool_result"]
        assert [event.data["status"] for event in ends] == ["failed"], "later reports are discarded"


async def test_e4_keep_running_does_not_delay_the_logout_and_its_result_waits(make: Make) -> None:
    async with make(*TOOLS, clock=ManualClock()) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("long")
        await doors.entered.wait()
        await session.close()
        assert session.is_open is False
        doors.go.set()
        await seen(session, "tool_result")
        session = await runtime.open("s", "ann")
        assert session.has_pending_work
        (late,) = await session.take_results()
        assert (late.value, late.execution_id) == ("long", outcome.execution_id)


async def test_e4_cancel_on_logout_cancels_the_call(make: Make) -> None:
    async with make(*TOOLS, clock=ManualClock()) as runtime:
        session = await runtime.open("s", "ann")
        kept, ended_now = await session.call("long"), await session.call("futile")
        await doors.entered.wait()
        await settle()
        await session.close()
        session = await runtime.open("s", "ann")
        assert (await ended(session, ended_now.execution_id)).status == "cancelled"
        assert (await session.result(kept.execution_id, timeout=0)).status == "started"
        assert not [event for event in await board_of(session) if event.kind == "system_notice"]
        doors.go.set()
        assert (await ended(session, kept.execution_id)).value == "long"


@pytest.mark.parametrize("name", ["careful", "futile"])
async def test_e4_nested_calls_follow_the_policy_of_their_caller(name: str, make: Make) -> None:
    @tool(mode="background", logout="keep_running")
    async def outer(ctx: ToolContext) -> str:
        """Call a tool whose own calls do not outlive a logout."""
        return f"outer of {await ctx.call(name)}"

    async with make(*TOOLS, outer, clock=ManualClock()) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("outer")
        await doors.entered.wait()
        await session.close(grace=0)
        doors.go.set()
        await seen(session, "tool_result", tool="outer")
        assert doors.cleaned == []
        session = await runtime.open("s", "ann")
        assert (await ended(session, outcome.execution_id)).value == f"outer of {name}"
        assert not [event for event in await board_of(session) if event.kind == "system_notice"]


async def test_e4_nested_calls_of_a_cancelled_caller_are_not_waited_for(make: Make) -> None:
    @tool(mode="background", logout="cancel_on_logout")
    async def outer(ctx: ToolContext) -> Any:
        """Call a tool that a logout waits for."""
        return await ctx.call("careful")

    async with make(*TOOLS, outer, clock=ManualClock()) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("outer")
        await doors.entered.wait()
        await session.close()
        session = await runtime.open("s", "ann")
        assert (await ended(session, outcome.execution_id)).status == "cancelled"
        assert doors.cleaned == ["careful"]


@pytest.mark.parametrize("steps", range(6))
async def test_e3_result_of_a_call_that_a_logout_ends_is_delivered_once(steps: int, make: Make) -> None:
    async with make(*TOOLS, clock=ManualClock()) as runtime:
        session = await runtime.open("s", "ann")
        call = asyncio.ensure_future(session.call("pay", {"amount": 3}))
        await settle(steps)
        await session.close(grace=0)
        outcome = await call
        session = await runtime.open("s", "ann")
        late = [each.execution_id for each in await session.take_results()]
        waits = [request.execution_id for request in await session.requests()]
        acknowledged = outcome.status in ("started", "waiting")
        assert late + waits == ([outcome.execution_id] if acknowledged else [])


async def test_e4_logout_does_not_wait_for_people_and_requests_stay_open(make: Make) -> None:
    async with make(*TOOLS, clock=ManualClock()) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", {"amount": 3})
        await session.close()
        session = await runtime.open("s", "ann")
        assert session.has_pending_work
        (request,) = await session.requests()
        await session.answer(request.id, {"approved": True})
        assert (await ended(session, outcome.execution_id)).value == 3


async def test_e4_approval_that_no_process_owns_is_cancelled_by_the_logout(shared_url: str) -> None:
    @tool(mode="human", logout="cancel_on_logout")
    async def offer() -> str:
        """Make an offer that is valid until the logout."""
        return "accepted"

    async with Runtime([offer, pay], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcome, kept = await session.call("offer"), await session.call("pay", {"amount": 3})
    async with Runtime([offer, pay], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert len(await session.requests()) == 2
        await session.close()
        session = await runtime.open("s", "ann")
        assert (await ended(session, outcome.execution_id)).status == "cancelled"
        assert [request.execution_id for request in await session.requests()] == [kept.execution_id]


async def test_e3_logout_waits_for_a_running_inline_call(make: Make) -> None:
    @tool
    async def inline() -> str:
        """Take a while."""
        return await doors.wait("inline")

    async with make(inline, clock=ManualClock()) as runtime:
        session = await runtime.open("s", "ann")
        call = asyncio.ensure_future(session.call("inline"))
        await doors.entered.wait()
        closing = asyncio.ensure_future(session.close())
        await settle()
        assert not closing.done()
        doors.go.set()
        assert (await call).value == "inline"
        await closing
        assert await (await runtime.open("s", "ann")).take_results() == [], "its caller has it"


async def test_e3_results_are_read_in_pages(shared_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @tool(mode="background")
    async def number(which: Annotated[int, "Which"]) -> int:
        """Return the number."""
        return which

    async with Runtime([number], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        for which in range(5):
            await ended(session, (await session.call("number", {"which": which})).execution_id)
    monkeypatch.setattr("callboard.sessions.results.PAGE", 2)
    async with Runtime([number], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        pages: list[int] = []
        read = runtime.store.executions

        async def counted(session_id: str, **options: Any) -> list[ExecutionRow]:
            rows = await read(session_id, **options)
            pages.append(len(rows))
            return rows

        monkeypatch.setattr(runtime.store, "executions", counted)
        assert [each.value for each in await session.take_results()] == [0, 1, 2, 3, 4]
        assert pages == [2, 2, 1]


async def test_e3_unconsumed_results_are_available_after_a_restart_once_and_in_order(shared_url: str) -> None:
    @tool(mode="background")
    async def number(which: Annotated[int, "Which"]) -> int:
        """Return the number."""
        return which

    @tool(mode="background")
    async def fails() -> int:
        """Fail."""
        raise RuntimeError("broken")

    tools = (number, fails, quick)
    async with Runtime(tools, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        for which in (3, 1, 2):
            await ended(session, (await session.call("number", {"which": which})).execution_id)
        await ended(session, (await session.call("fails")).execution_id)
        await session.call("quick")
        await session.close()
    async with Runtime(tools, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert session.has_pending_work
        taken = await session.take_results()
        assert [each.value for each in taken] == [3, 1, 2, None], "in the order in which they came"
        assert taken[3].error is not None
        assert taken[3].error.category == "execution"
        assert await session.take_results() == []
        assert not session.has_pending_work
    async with Runtime(tools, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert not session.has_pending_work
        assert await session.take_results() == []


async def test_e3_concurrent_takers_share_the_results(shared_url: str) -> None:
    @tool(mode="background")
    async def number(which: Annotated[int, "Which"]) -> int:
        """Return the number."""
        return which

    async with Runtime([number], store=shared_url) as one, Runtime([number], store=shared_url) as two:
        first, second = await one.open("s", "ann"), await two.open("s", "ann")
        for which in range(4):
            taker = (first, second)[which % 2]
            await ended(taker, (await taker.call("number", {"which": which})).execution_id)
        found = await asyncio.gather(*(each.take_results() for each in (first, second, first, second)))
        assert sorted(outcome.value for taken in found for outcome in taken) == [0, 1, 2, 3]
        assert not first.has_pending_work
        assert await second.take_results() == []
        assert not second.has_pending_work, "a result taken by the other no longer waits"


async def test_e3_results_taken_by_a_cancelled_caller_are_not_lost(make: Make) -> None:
    async with make(long) as runtime:
        session = await runtime.open("s", "ann")
        doors.go.set()
        for turns in range(12):
            outcome = await session.call("long")
            await ended(session, outcome.execution_id)
            taking = asyncio.ensure_future(session.take_results())
            for _ in range(turns):
                await asyncio.sleep(0)
            taking.cancel()
            await asyncio.wait([taking])
            found = [] if taking.cancelled() else taking.result()
            found += await session.take_results()
            assert [each.execution_id for each in found] == [outcome.execution_id]
            assert not session.has_pending_work


@pytest.mark.parametrize("leave", ["cancelled", "out of time", "unconfirmed"])
async def test_e3_results_are_put_back_if_their_taker_leaves(
    shared_url: str, monkeypatch: pytest.MonkeyPatch, leave: str
) -> None:
    async with Runtime([long], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        doors.go.set()
        outcome = await session.call("long")
        await ended(session, outcome.execution_id)
        commit, asked, go = runtime.store.commit, asyncio.Event(), asyncio.Event()
        scope = anyio.CancelScope()

        async def held(changes: Any) -> Any:
            results = await commit(changes)
            asked.set()
            await go.wait()
            return results

        async def take() -> None:
            with scope, patience(0.5 if leave == "unconfirmed" else None):
                await session.take_results()

        taking = asyncio.get_running_loop().create_future()
        with monkeypatch.context() as patch:
            patch.setattr(runtime.store, "commit", held)
            while not asked.is_set():  # again if the patience ends before the results are taken
                taking, asking = asyncio.ensure_future(take()), asyncio.ensure_future(asked.wait())
                await asyncio.wait([taking, asking], return_when=asyncio.FIRST_COMPLETED)
                asking.cancel()
            if leave == "cancelled":
                taking.cancel()
            elif leave == "out of time":
                scope.cancel()  # cancels again at every further wait
            await asyncio.wait([taking])
            go.set()
        assert taking.cancelled() or taking.exception() or scope.cancelled_caught
        await settle()
        assert session.has_pending_work
        assert [each.execution_id for each in await session.take_results()] == [outcome.execution_id]
        assert await session.take_results() == []


async def test_e3_pending_work_is_known_after_a_restart(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert not session.has_pending_work
        outcome = await session.call("pay", {"amount": 3})
        assert session.has_pending_work
        await session.close()
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert session.has_pending_work, "a person is still asked"
        (request,) = await session.requests()
        await session.answer(request.id, {"approved": True})
        assert (await ended(session, outcome.execution_id)).value == 3
        assert session.has_pending_work, "and now the result waits"
        assert [each.value for each in await session.take_results()] == [3]
        assert not session.has_pending_work


async def test_e3_pending_work_of_another_process_is_known(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        first = await one.open("s", "ann")
        outcome = await first.call("long")
        await doors.entered.wait()
        second = await two.open("s", "ann")
        assert second.has_pending_work
        assert await second.take_results() == []
        assert second.has_pending_work, "it still runs over there"
        doors.go.set()
        assert (await ended(second, outcome.execution_id)).value == "long"
        assert [each.value for each in await second.take_results()] == ["long"]
        assert not second.has_pending_work


async def test_e3_logout_twice_and_calls_after_it(make: Make) -> None:
    async with make(*TOOLS, clock=ManualClock()) as runtime:
        session = await runtime.open("s", "ann")
        await asyncio.gather(session.close(), session.close())
        await session.close()
        assert (await session.call("quick")).value == "s", "a reference still works; a login opens the session again"
        assert [event.seq for event in await board_of(session)] == [1, 2, 3, 4]
        again = await runtime.open("s", "ann")
        assert again is session
        assert again.is_open is True


async def test_e2_logout_does_not_recreate_a_session_that_another_process_deleted(shared_url: str) -> None:
    async with Runtime(store=shared_url) as here, Runtime(store=shared_url, recover=False) as there:
        session = await here.open("s", "ann")
        assert await there.store.delete("s")
        await session.close()
        assert await there.store.session("s") is None


async def test_e3_memory_is_freed_if_everything_is_stored(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("quick", call_id="c")
        await session.close()
        assert len(runtime.sessions) == 0
        assert (len(live_session(session).index.by_id), session.board.first_seq) == (0, session.board.last_seq + 1)
        session = await runtime.open("s", "ann")
        assert (await session.call("quick", call_id="c")) == outcome
        assert [record.id for record in await session.history()] == [outcome.execution_id]
