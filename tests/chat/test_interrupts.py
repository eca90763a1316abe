"""An interrupt at every point of a turn: the transcript stays valid, and the next input works (C3)."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from callboard import Runtime, Session, ToolContext, tool
from callboard.chat.conversation import Conversation
from callboard.chat.turn_lease import TurnLease
from callboard.sessions.conversation_scope import ConversationScope
from callboard.sessions.session import live_session
from callboard.storage.change import Change
from callboard.testing import ManualClock

from .scripted import TOOLS, Script, Step, check, conversation_of, gate, until

pytestmark = pytest.mark.anyio


async def _goes_on(session: Session) -> None:
    """Assert that the next input gets a response, and that no call stays open."""
    await check(session)
    turn = await session.say("And now?")
    assert turn.status == "finished"
    assert turn.text.startswith("told")
    await check(session)
    assert not session.is_processing
    assert not await session.interrupt()


POINTS: dict[str, list[Step]] = {
    "before the first token": [gate("never")],
    "in the text": ["Once upon ", gate("never"), "a time"],
    "between the text and a call": ["Let me see. ", gate("never"), ("add", '{"a":1,"b":2}')],
    "after a call was streamed": [("add", '{"a":1,"b":2}'), gate("never")],
    "in a call": [("slow", "{}")],
    "in two calls": [("slow", "{}"), ("add", '{"a":1,"b":2}'), ("slow", "{}")],
    "in the delay before a retry": [("flaky", "{}")],
}


@pytest.mark.parametrize("point", POINTS)
async def test_c3_an_interrupt_stops_the_turn_at_every_point(point: str, store_url: str) -> None:
    started = asyncio.Event()
    waits_for = {"in a call": "tool_executing", "in two calls": "tool_executing"}.get(point)
    if point == "in the delay before a retry":
        waits_for = "tool_retrying"
    steps = [gate("never") if isinstance(step, asyncio.Event) else step for step in POINTS[point]]
    script = Script([_signal(started), *steps] if waits_for is None else steps)
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turn = asyncio.ensure_future(session.say("Go."))
        if waits_for is None:
            await started.wait()
            for _ in range(20):
                await asyncio.sleep(0)
        else:
            await until(session, waits_for)
        assert session.is_processing
        assert await session.interrupt()
        ended = await turn
        assert ended.status == "interrupted"
        assert ended.text == "".join(step for step in steps[:1] if isinstance(step, str))
        assert (await until(session, "turn_interrupted"))[-1].data["turn_id"] == ended.id
        assert not live_session(session).calls.unfinished
        await _goes_on(session)


def _signal(started: asyncio.Event) -> Step:
    return started.set


async def test_c3_an_interrupt_before_the_turn_has_begun(store_url: str) -> None:
    steps: list[Step] = [gate("never")]
    script = Script(*[steps] * 100)
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        for number in range(100):
            session = await runtime.open(f"s{number}", "u")
            await session.post({"kind": "user_input", "text": "Go."})
            assert session.is_processing
            assert await session.interrupt()
            if not script.requests:
                break
            script.requests.clear()  # the turn had begun before the interrupt: try again
        else:
            pytest.fail("every turn had begun before its interrupt")
        script.turns.clear()
        await _goes_on(session)
        assert len(script.requests[-1][0].parts) == 2  # the earlier input is not lost


async def test_c3_an_interrupt_while_a_person_is_asked_withdraws_the_question(store_url: str) -> None:
    script = Script([("pay", '{"amount":5}'), ("add", '{"a":1,"b":2}')])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Pay.")).status == "paused"
        assert len(await session.requests()) == 1
        assert await session.interrupt()
        assert await session.requests() == []
        assert not session.has_pending_work
        await _goes_on(session)


async def test_c3_an_interrupt_that_comes_while_a_turn_pauses_is_not_lost(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pausing, stopped, end, stop = asyncio.Event(), asyncio.Event(), TurnLease.end, Conversation.stop

    async def slowly(lease: TurnLease, *given: Any) -> None:
        pausing.set()
        await stopped.wait()
        await end(lease, *given)

    def noted(conversation: Conversation) -> None:
        stop(conversation)
        stopped.set()

    script = Script([("pay", '{"amount":5}')])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        monkeypatch.setattr(TurnLease, "end", slowly)
        monkeypatch.setattr(Conversation, "stop", noted)
        turn = asyncio.ensure_future(session.say("Pay."))
        await pausing.wait()
        assert await session.interrupt()
        await turn
        assert await session.requests() == []
        assert (await until(session, "turn_interrupted"))[-1]
        await _goes_on(session)


async def test_c3_by_policy_calls_continue_in_the_background_after_an_interrupt(store_url: str) -> None:
    script = Script([("slow", "{}"), ("pay", '{"amount":5}')])
    async with Runtime(TOOLS, model=script.model(), store=store_url, cancel_on_interrupt=False) as runtime:
        session = await runtime.open("s", "u")
        turn = asyncio.ensure_future(session.say("Go."))
        await until(session, "tool_executing")
        assert await session.interrupt()
        assert (await turn).status == "interrupted"
        await check(session)
        [request] = await session.requests()
        gate("slow").set()
        await until(session, "turn_finished")  # its result wakes the session
        await session.answer(request.id, {"approved": True})
        await until(session, "turn_finished", 2)
        results = [message for message in await session.messages() if message["role"] == "tool"]
        assert [result["tool"] for result in results] == ["slow", "pay", "task_result", "task_result"]
        assert [result["content"] for result in results[2:]] == ["at last", "paid 5"]
        await check(session)


@tool
async def tidy() -> str:
    """Wait, and clean up when it is cancelled."""
    try:
        await gate("never").wait()
    finally:
        for _ in range(50):
            await asyncio.sleep(0)
    return "at last"


@tool
async def nest(ctx: ToolContext) -> str:
    """Wait in another call."""
    return await ctx.call("tidy")


@tool
async def branch() -> str:
    """Wait in tasks of its own."""
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(gate("never").wait())
    return "at last"


@pytest.mark.parametrize("name", ["tidy", "nest", "branch"])
async def test_c3_an_interrupt_waits_for_the_calls_that_it_cancels(name: str, store_url: str) -> None:
    """If a cancelled call ended later, its result would be a late one, which starts another turn."""
    script = Script([(name, "{}"), ("add", '{"a":1,"b":2}')], [(name, "{}")])
    async with Runtime([*TOOLS, tidy, nest, branch], model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turn = asyncio.ensure_future(session.say("Go."))
        await until(session, "tool_executing", 2 if name == "nest" else 1)
        assert await session.interrupt()
        assert (await turn).status == "interrupted"
        assert not await live_session(session).results.waiting()
        await conversation_of(session).idle()
        script.turns.clear()
        await _goes_on(session)
        kinds = [event.kind for event in session.board.read(0) if event.kind.startswith("turn_")]
        assert kinds == ["turn_started", "turn_interrupted", "turn_started", "turn_finished"]


async def test_c3_an_interrupt_does_not_wait_for_ever_for_a_call() -> None:
    @tool
    async def stubborn() -> str:
        """Go on."""
        while not gate("end").is_set():
            with suppress(asyncio.CancelledError):
                await gate("end").wait()
        return "at last"

    script, clock = Script([("stubborn", "{}")]), ManualClock()
    async with Runtime([*TOOLS, stubborn], model=script.model(), clock=clock) as runtime:
        session = await runtime.open("s", "u")
        turn = asyncio.ensure_future(session.say("Go."))
        await until(session, "tool_executing")
        stopped = asyncio.ensure_future(session.interrupt())
        while not stopped.done():
            await clock.advance(1.0)
        assert (await turn).status == "interrupted"
        assert clock.monotonic() < 30.0
        gate("end").set()
        await _goes_on(session)


async def test_c3_an_interrupt_that_comes_while_a_turn_fails_lets_it_end(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing, stopped, end, stop = asyncio.Event(), asyncio.Event(), TurnLease.end, Conversation.stop

    async def slowly(lease: TurnLease, *given: Any) -> None:
        failing.set()
        await stopped.wait()
        await end(lease, *given)

    def noted(conversation: Conversation) -> None:
        stop(conversation)
        stopped.set()

    script = Script([ValueError("broken")])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        with monkeypatch.context() as patched:
            patched.setattr(TurnLease, "end", slowly)
            patched.setattr(Conversation, "stop", noted)
            turn = asyncio.ensure_future(session.say("Go."))
            await failing.wait()
            assert await session.interrupt()
            assert (await turn).status == "failed"
        await until(session, "turn_failed")
        await _goes_on(session)


async def test_c3_an_interrupt_is_not_lost_if_results_are_taken_meanwhile(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking, stopped = asyncio.Event(), asyncio.Event()
    write, stop = ConversationScope.write, Conversation.stop

    def noted(conversation: Conversation) -> None:
        stop(conversation)
        stopped.set()

    async def slowly(scope: ConversationScope, change: Change) -> int:
        if change.consumed and not taking.is_set():
            taking.set()
            await stopped.wait()
            await session.take_results()
        return await write(scope, change)

    script = Script(["Hello."])
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u", wake="wait")
        await session.say("Hi.")
        gate("a").set()
        late = await session.call("build", {"what": "a"})
        await session.result(late.execution_id)
        monkeypatch.setattr(ConversationScope, "write", slowly)
        monkeypatch.setattr(Conversation, "stop", noted)
        turn = asyncio.ensure_future(session.say("Go."))
        await taking.wait()
        assert await session.interrupt()
        assert (await turn).status == "interrupted"
        assert len(script.requests) == 1
        await _goes_on(session)


async def test_c3_an_interrupted_turn_ends_if_results_are_taken_meanwhile(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = ConversationScope.write

    async def late(scope: ConversationScope, change: Change) -> int:
        if change.consumed:
            await session.take_results()
        return await write(scope, change)

    script = Script([("slow", "{}")])
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        monkeypatch.setattr(ConversationScope, "write", late)
        turn = asyncio.ensure_future(session.say("Go."))
        await until(session, "tool_executing")
        assert await session.interrupt()
        assert (await turn).status == "interrupted"
        await _goes_on(session)


async def test_c3_two_interrupts_at_once_are_one(store_url: str) -> None:
    script = Script([("slow", "{}")])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turn = asyncio.ensure_future(session.say("Go."))
        await until(session, "tool_executing")
        assert await asyncio.gather(*(session.interrupt() for _ in range(5))) == [True] * 5
        assert (await turn).status == "interrupted"
        assert len([event for event in session.board.read(0) if event.kind == "turn_interrupted"]) == 1
        await _goes_on(session)


async def test_c4_input_before_an_interrupt_is_delivered_after_it(store_url: str) -> None:
    reached = asyncio.Event()
    script = Script(["Well, ", reached.set, gate("never")])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        first = asyncio.ensure_future(session.say("One."))
        await reached.wait()
        second = asyncio.ensure_future(session.say("Two."))
        third = asyncio.ensure_future(session.say("Three."))
        await until(session, "user_input", 3)
        assert await session.interrupt()
        assert (await first).status == "interrupted"
        assert {(await second).text, (await third).text} <= {"told 2", "Well, "}
        await until(session, "turn_finished")
        users = [message["text"] for message in await session.messages() if message["role"] == "user"]
        assert users == ["One.", "Two.", "Three."]
        await _goes_on(session)
