"""A process without a model beside one that has one: it runs tools, and leaves conversations alone (C5, E5, M2, M3)."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from callboard import Runtime, Session, tool

from .scripted import Script, check, last_contents, until

pytestmark = pytest.mark.anyio


class Work:
    """What the tools of a test wait for, and how often they began."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.began = 0
        self.progress = asyncio.Event()

    async def until_begun(self, times: int) -> None:
        async with asyncio.timeout(90):
            while self.began < times:
                self.progress.clear()
                await self.progress.wait()

    def tools(self) -> list[Any]:
        async def wait() -> str:
            self.began += 1
            self.progress.set()
            await self.may_end.wait()
            return "arrived"

        @tool(mode="background", idempotent=True)
        async def travel() -> str:
            """Travel for a long time."""
            return await wait()

        @tool(idempotent=True, inline_budget=3600.0)
        async def walk() -> str:
            """Walk, while the model waits."""
            return await wait()

        @tool(mode="human")
        async def pay() -> str:
            """Pay."""
            return "paid"

        return [travel, walk, pay]


@asynccontextmanager
async def restarted(url: str, work: Work) -> AsyncGenerator[tuple[Script, asyncio.Event]]:
    """Start a process with a model, which has searched all sessions for results when this returns.

    Returns its script, and an event that its first request to the model sets.
    """
    asked, searched = asyncio.Event(), asyncio.Event()
    script = Script([asked.set, "Done."])
    runtime = Runtime(work.tools(), model=script.model(), store=url)
    search = runtime.store.sessions_to_wake

    async def searches(**options: Any) -> list[tuple[str, str]]:
        found = await search(**options)
        searched.set()
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(runtime.store, "sessions_to_wake", searches)
        async with runtime, asyncio.timeout(90):
            await searched.wait()
            yield script, asked


async def told(script: Script, asked: asyncio.Event) -> str:
    """Return what the model is told, once it is asked."""
    async with asyncio.timeout(90):
        await asked.wait()
    return str(last_contents(script.requests[0]))


async def one_turn(session: Session) -> bool:
    """Return whether the first turn to finish is the first one, and was not interrupted."""
    [begun] = await until(session, "turn_started")
    [finished] = await until(session, "turn_finished")
    async for event in session.events(0):
        if event.kind == "turn_interrupted":
            return False
        if event.kind == "turn_finished":
            break
    return bool(begun.data["turn_id"] == finished.data["turn_id"])


async def ask(runtime: Runtime, **options: Any) -> Session:
    session = await runtime.open("s", "u", **options)
    await session.post({"kind": "user_input", "text": "Go."})
    return session


async def test_m2_result_of_a_call_that_a_process_without_a_model_continued_wakes_the_model(shared_url: str) -> None:
    work, first = Work(), Script([("travel", "{}")], ["It runs."])
    async with Runtime(work.tools(), store=shared_url):
        async with Runtime(work.tools(), model=first.model(), store=shared_url) as runtime:
            session = await runtime.open("s", "u")
            assert (await session.say("Go.")).text == "It runs."
            await work.until_begun(1)
        await work.until_begun(2)
        async with restarted(shared_url, work) as (script, asked):
            work.may_end.set()
            assert "arrived" in await told(script, asked)


@pytest.mark.parametrize("wake", ["wake", "wait", "ui_only"])
async def test_m3_answer_in_a_process_without_a_model_continues_the_turn(wake: str, shared_url: str) -> None:
    work = Work()
    async with Runtime(work.tools(), model=Script([("pay", "{}")]).model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u", wake=wake)
        paused = await session.say("Go.")
        assert paused.status == "paused"
    async with restarted(shared_url, work) as (script, asked), Runtime(work.tools(), store=shared_url) as beside:
        theirs = await beside.open("s", "u")
        [request] = await theirs.requests()
        await theirs.answer(request.id, {"approved": True})
        assert "paid" in await told(script, asked)
        [finished] = await until(theirs, "turn_finished")
        assert finished.data["turn_id"] == paused.id


async def test_c5_turn_waits_for_a_process_with_a_model(shared_url: str) -> None:
    work, reached = Work(), asyncio.Event()
    first = Script([reached.set, asyncio.Event()])
    async with Runtime(work.tools(), store=shared_url) as beside:
        async with Runtime(work.tools(), model=first.model(), store=shared_url) as runtime:
            await ask(runtime)
            await reached.wait()
        for _ in range(3):
            await beside.sessions._heartbeat.poll()
        async with restarted(shared_url, work) as (script, asked):
            assert await told(script, asked) == "['Go.']"
            assert await one_turn(await beside.open("s", "u"))


async def test_e5_call_of_the_model_goes_on_without_it_and_the_turn_gets_its_result(shared_url: str) -> None:
    work, first = Work(), Script([("walk", "{}")])
    async with Runtime(work.tools(), store=shared_url) as beside:
        async with Runtime(work.tools(), model=first.model(), store=shared_url) as runtime:
            await ask(runtime)
            await work.until_begun(1)
        await work.until_begun(2)
        work.may_end.set()
        theirs = await beside.open("s", "u")
        await until(theirs, "tool_result")  # else the turn may be told first that the call is still running
        async with restarted(shared_url, work) as (script, asked):
            assert "arrived" in await told(script, asked)
            assert await one_turn(theirs)
        assert work.began == 2, "the call is not made again"


async def test_c5_input_waits_for_a_process_with_a_model(shared_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work()
    async with Runtime(work.tools(), store=shared_url) as beside:
        async with Runtime(work.tools(), model=Script().model(), store=shared_url) as runtime:
            with monkeypatch.context() as dying:  # it stops before its turn begins
                dying.setattr("callboard.chat.conversation.Conversation._start", lambda *_: None)
                await ask(runtime)
        for _ in range(3):
            await beside.sessions._heartbeat.poll()
        async with restarted(shared_url, work) as (script, asked):
            assert await told(script, asked) == "['Go.']"
            assert await one_turn(await beside.open("s", "u"))


async def test_d2_left_turns_cost_a_process_without_a_model_no_transactions(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, reached = Work(), asyncio.Event()
    async with Runtime(work.tools(), store=shared_url) as beside:
        first = Script([reached.set, asyncio.Event()])
        async with Runtime(work.tools(), model=first.model(), store=shared_url) as runtime:
            await ask(runtime)
            await reached.wait()
        heartbeat = beside.sessions._heartbeat
        await heartbeat.poll()
        recovered: list[str] = []
        recover = beside.store.recover

        async def counted(owner_id: str | None, *arguments: Any, **options: Any) -> Any:
            if owner_id is not None:
                recovered.append(owner_id)
            return await recover(owner_id, *arguments, **options)

        monkeypatch.setattr(beside.store, "recover", counted)
        for _ in range(5):
            await heartbeat.poll()
        assert recovered == []
        script = Script()
        async with Runtime(work.tools(), model=script.model(), store=shared_url) as last:
            session = await last.open("s", "u")
            await until(session, "turn_finished")
            await check(session)
