"""A turn that was paused when its process stopped continues in the next one, without a client (M3, E5)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from callboard import Runtime, Session, tool
from callboard.testing import ManualClock

from .scripted import Script, check, last_contents, until

pytestmark = pytest.mark.anyio

running: asyncio.Event


@pytest.fixture(autouse=True)
def _fresh() -> None:
    global running
    running = asyncio.Event()


@tool(mode="human")
async def pay() -> str:
    """Pay."""
    return "paid"


@tool(mode="human")
async def ship() -> str:
    """Ship, for a long time, and not twice."""
    running.set()
    await asyncio.Event().wait()
    return "shipped"


@tool(mode="human", expires=60)
async def sign() -> str:
    """Sign."""
    return "signed"


TOOLS = [pay, ship, sign]
WAKES = ["wake", "wait", "ui_only", "closed"]
"""What late results do in the idle session, or that its user has logged out."""


async def paused(runtime: Runtime, wake: str) -> Session:
    """Return a session whose turn waits for a person."""
    session = await runtime.open("s", "u", wake="wake" if wake == "closed" else wake)
    assert (await session.say("Go.")).status == "paused"
    if wake == "closed":
        await session.close()
    return session


async def approve(session: Session) -> None:
    [request] = await session.requests()
    await session.answer(request.id, {"approved": True})


async def approve_elsewhere(url: str, wake: str) -> None:
    """Approve the call in a process that continues nothing, such as `callboard requests answer`."""
    async with Runtime(TOOLS, store=url, recover=False) as command:
        session = await command.open("s", "u")
        if wake == "closed":
            await session.close()
        await approve(session)


async def continues(
    url: str, contents: str, meanwhile: Callable[[], Awaitable[None]] | None = None, **options: Any
) -> None:
    """Start a process, and return when the turn has finished there with a result, before any client opens it."""
    asked = asyncio.Event()
    script = Script([asked.set, "Done."])
    async with Runtime(TOOLS, model=script.model(), store=url, **options) as runtime, asyncio.timeout(90):
        if meanwhile is not None:
            await meanwhile()
        await asked.wait()
        assert contents in str(last_contents(script.requests[0]))
        session = await runtime.open("s", "u")
        [finished] = await until(session, "turn_finished")
        [begun, *_] = await until(session, "turn_started")
        assert finished.data["turn_id"] == begun.data["turn_id"]
        assert not session.has_pending_work
        await check(session)


def model(name: str) -> Any:
    return Script([(name, "{}")]).model()


@pytest.mark.parametrize("wake", WAKES)
async def test_m3_answer_just_before_a_stop_continues_the_turn_after_the_restart(wake: str, shared_url: str) -> None:
    async with Runtime(TOOLS, model=model("pay"), store=shared_url) as runtime:
        await approve(await paused(runtime, wake))
    await continues(shared_url, "paid")


@pytest.mark.parametrize("wake", WAKES)
async def test_m3_answer_between_two_processes_continues_the_turn(wake: str, shared_url: str) -> None:
    async with Runtime(TOOLS, model=model("pay"), store=shared_url) as runtime:
        await paused(runtime, wake)
    await approve_elsewhere(shared_url, wake)
    await continues(shared_url, "paid")


@pytest.mark.parametrize("wake", WAKES)
async def test_m3_answer_in_another_process_after_the_restart_continues_the_turn(wake: str, shared_url: str) -> None:
    async with Runtime(TOOLS, model=model("pay"), store=shared_url) as runtime:
        await paused(runtime, wake)
    await continues(shared_url, "paid", lambda: approve_elsewhere(shared_url, wake))


@pytest.mark.parametrize("wake", WAKES)
async def test_m3_call_that_a_process_without_a_model_ended_continues_the_turn(wake: str, shared_url: str) -> None:
    async with Runtime(TOOLS, model=model("pay"), store=shared_url) as runtime:
        await paused(runtime, wake)
    async with Runtime(TOOLS, store=shared_url) as runtime, asyncio.timeout(90):
        session = await runtime.open("s", "u")
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        await session.result(request.execution_id)
        if wake == "closed":
            await session.close()
    await continues(shared_url, "paid")


@pytest.mark.parametrize("wake", WAKES)
async def test_m3_approved_call_that_a_stop_cancels_continues_the_turn(wake: str, shared_url: str) -> None:
    async with Runtime(TOOLS, model=model("ship"), store=shared_url) as runtime:
        await approve(await paused(runtime, wake))
        await running.wait()
    await continues(shared_url, "cancelled")


@pytest.mark.parametrize("wake", WAKES)
async def test_m3_request_that_expired_without_a_process_continues_the_turn(wake: str, shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, model=model("sign"), store=shared_url, clock=clock) as runtime:
        await paused(runtime, wake)
    await clock.advance(61)
    await continues(shared_url, "expired", clock=clock)
