"""A call of which no attempt runs ends at once when it is cancelled: no clock has to move (X8)."""

import asyncio

import pytest

from callboard import Limits, Outcome, RetryPolicy, Runtime, Session, ToolError, tool
from callboard.execution.execution import Execution
from callboard.sessions.session import live_session
from callboard.testing import ManualClock, settle

from .conftest import SOON, Make, ended, seen, until

pytestmark = pytest.mark.anyio

runs: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    runs.clear()


@tool(mode="background", idempotent=True, retry=RetryPolicy(9, base_delay=3_600.0, max_delay=3_600.0))
async def fetch() -> None:
    """Fail, so that the next attempt is made much later."""
    runs.append("fetch")
    raise ToolError("Busy.", category="transient", retry_after=3_600)


@tool(mode="human")
async def pay() -> None:
    """Pay."""
    runs.append("pay")


@tool(mode="background", idempotent=True)
async def hold() -> None:
    """Hold a slot."""
    await asyncio.Event().wait()


@tool(mode="background", idempotent=True)
async def work() -> None:
    """Work."""
    runs.append("work")


TOOLS = [fetch, pay, hold, work]
ONE = Limits(total=1)
WAITS = ["retry", "slot", "approval", "slot after approval"]


async def waiting(session: Session, wait: str) -> Outcome:
    """Return a call that waits for one of the things that calls wait for."""
    if wait == "slot":
        await session.call("hold")
    outcome = await session.call({"retry": "fetch", "slot": "work"}.get(wait, "pay"))
    if wait == "retry":
        await seen(session, "tool_retrying")
    if wait == "slot after approval":
        await session.call("hold")
        (request,) = await session.requests()
        await session.answer(request.id, {"approved": True})
        await until(lambda: live_session(session).services.manager.queued == 1)
    await live_session(session).settle()
    runs.clear()
    return outcome


@pytest.mark.parametrize("wait", WAITS)
async def test_x8_call_that_waits_ends_at_once_when_it_is_cancelled(wait: str, make: Make) -> None:
    async with make(*TOOLS, clock=ManualClock(), limits=ONE) as runtime, asyncio.timeout(SOON):
        session = await runtime.open("s", "ann")
        outcome = await waiting(session, wait)
        assert await session.cancel(outcome.execution_id) is True
        assert session.execution(outcome.execution_id).status == "cancelled", "when `cancel` has returned"
        assert runtime.manager.queued == 0
        assert live_session(session).running == ("slot" in wait)
        await settle()
        assert await session.requests() == []
        assert runs == []


@pytest.mark.parametrize("wait", WAITS)
async def test_x8_call_that_waits_ends_when_another_process_cancels_it(wait: str, shared_url: str) -> None:
    async with (
        asyncio.timeout(SOON),
        Runtime(TOOLS, store=shared_url, clock=ManualClock(), limits=ONE) as runtime,
        Runtime(TOOLS, store=shared_url, recover=False) as other,
    ):
        session = await runtime.open("s", "ann")
        outcome = await waiting(session, wait)
        assert await (await other.open("s", "ann")).cancel(outcome.execution_id) is True
        assert (await ended(session, outcome.execution_id)).status == "cancelled"
        assert runs == []


@pytest.mark.parametrize("wait", WAITS)
async def test_x8_call_that_waits_after_a_restart_ends_when_it_is_cancelled(wait: str, shared_url: str) -> None:
    async with asyncio.timeout(SOON):
        async with Runtime(TOOLS, store=shared_url, clock=ManualClock(), limits=ONE) as runtime:
            outcome = await waiting(await runtime.open("s", "ann"), wait)
        async with Runtime(TOOLS, store=shared_url, clock=ManualClock(), limits=ONE) as runtime:
            session = await runtime.open("s", "ann")
            if wait != "approval":
                await until(lambda: outcome.execution_id in live_session(session).index.by_id)
            assert await session.cancel(outcome.execution_id) is True
            assert (await ended(session, outcome.execution_id)).status == "cancelled"
            assert runs == []


@pytest.mark.parametrize("wait", WAITS)
async def test_x8_call_is_cancelled_in_the_moment_in_which_a_process_continues_it(
    wait: str, shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(SOON):
        async with Runtime(TOOLS, store=shared_url, clock=ManualClock(), limits=ONE) as runtime:
            outcome = await waiting(await runtime.open("s", "ann"), wait)
        if wait == "approval":
            async with Runtime(TOOLS, store=shared_url, recover=False) as command:
                session = await command.open("s", "ann")
                (request,) = await session.requests()
                await session.answer(request.id, {"approved": True})
        runtime = Runtime(TOOLS, store=shared_url, clock=ManualClock())
        resume = runtime.manager.resume

        def resume_and_cancel(execution: Execution) -> None:
            resume(execution)
            if execution.id == outcome.execution_id:
                runtime.manager.cancel(execution)

        monkeypatch.setattr(runtime.manager, "resume", resume_and_cancel)
        async with runtime:
            session = await runtime.open("s", "ann")
            assert (await ended(session, outcome.execution_id)).status == "cancelled"
            assert runs == []
