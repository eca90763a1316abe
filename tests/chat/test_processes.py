"""One conversation in several processes: one turn at a time, each input delivered once (C4, C5, D2, E5)."""

import asyncio
from typing import Any

import pytest

from callboard import Runtime, Session, ToolError, tool
from callboard.chat.transcript import Input
from callboard.chat.turn_lease import TurnLease
from callboard.sessions.conversation_scope import ConversationScope
from callboard.sessions.session import live_session
from callboard.storage.change import Change
from callboard.storage.errors import StoreUnavailable
from callboard.storage.rows import TurnRow
from callboard.testing import ManualClock

from .scripted import TOOLS, Script, check, conversation_of, gate, last_contents, transcript_of, until

pytestmark = pytest.mark.anyio


async def _inputs(session: Session) -> list[str]:
    return [entry.text for entry in await transcript_of(session) if isinstance(entry, Input)]


async def test_d2_an_input_in_another_process_joins_the_running_turn(shared_url: str) -> None:
    reached = asyncio.Event()
    script, other = Script([reached.set, gate("speak"), "One. "]), Script()
    async with (
        Runtime(TOOLS, model=script.model(), store=shared_url) as here,
        Runtime(TOOLS, model=other.model(), store=shared_url) as there,
    ):
        mine, theirs = await here.open("s", "u"), await there.open("s", "u")
        first = asyncio.ensure_future(mine.say("Here."))
        await reached.wait()
        second = asyncio.ensure_future(theirs.say("There."))
        await until(mine, "user_input", 2)
        gate("speak").set()
        assert (await first).text == "One. \n\ntold 1"
        assert (await second).text.endswith("told 1")
        assert last_contents(script.requests[1]) == ["There."]
        assert other.requests == []
        await check(theirs)
        assert await _inputs(theirs) == await _inputs(mine) == ["Here.", "There."]
        assert (await theirs.say("And now?")).text == "told 1"  # the other process runs this turn
        assert len(other.requests[0]) == 5
        await check(mine)


async def test_m7_input_in_another_process_during_a_long_call_gets_a_reply(shared_url: str) -> None:
    script = Script([("slow", "{}")])
    async with (
        Runtime(TOOLS, model=script.model(), store=shared_url) as here,
        Runtime(TOOLS, model=Script().model(), store=shared_url) as there,
    ):
        mine, theirs = await here.open("s", "u"), await there.open("s", "u")
        first = asyncio.ensure_future(mine.say("Go."))
        await until(mine, "tool_executing")
        assert (await theirs.say("Well?")).text.endswith("told 2")  # the acknowledgement and the input
        assert (await first).status == "finished"
        gate("slow").set()
        await until(mine, "turn_finished", 2)
        await check(mine)


async def test_d3_an_interrupt_reaches_the_turn_wherever_it_runs(shared_url: str) -> None:
    script = Script([("slow", "{}")])
    async with (
        Runtime(TOOLS, model=script.model(), store=shared_url) as here,
        Runtime(TOOLS, model=Script().model(), store=shared_url) as there,
    ):
        mine, theirs = await here.open("s", "u"), await there.open("s", "u")
        turn = asyncio.ensure_future(mine.say("Go."))
        await until(mine, "tool_executing")
        assert await theirs.interrupt()
        assert (await turn).status == "interrupted"
        assert not await theirs.interrupt()
        await check(theirs)
        assert (await theirs.say("And now?")).status == "finished"


async def test_c4_inputs_in_two_processes_are_delivered_once_and_in_order(shared_url: str) -> None:
    scripts = [Script(), Script()]
    async with (
        Runtime(TOOLS, model=scripts[0].model(), store=shared_url) as here,
        Runtime(TOOLS, model=scripts[1].model(), store=shared_url) as there,
    ):
        sessions = [await here.open("s", "u"), await there.open("s", "u")]
        async with asyncio.timeout(60):
            turns = await asyncio.gather(*(sessions[number % 2].say(str(number)) for number in range(30)))
        assert {turn.status for turn in turns} == {"finished"}
        written = [event.data["text"] for event in await until(sessions[0], "user_input", 30)]
        for session in sessions:
            assert await _inputs(session) == written
            await check(session)
        contents = [
            message for script in scripts for messages in script.requests for message in last_contents(messages)
        ]
        assert sorted(contents, key=int) == [str(number) for number in range(30)]


async def test_e5_a_process_that_lost_its_turn_writes_nothing(shared_url: str) -> None:
    reached = asyncio.Event()
    script, heir = Script([reached.set, gate("speak"), "Too late."]), Script()
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as here:
        mine = await here.open("s", "u")
        turn = asyncio.ensure_future(mine.say("Go."))
        await reached.wait()
        async with Runtime(TOOLS, model=heir.model(), store=shared_url, recover=False) as there:
            await _take_over(here, there)
            theirs = await there.open("s", "u")
            await until(theirs, "turn_finished")
            gate("speak").set()
            assert (await turn).text.endswith("told 1")
            texts = [message["text"] for message in await theirs.messages() if message["role"] == "assistant"]
            assert texts == ["told 1"]
            await check(theirs)


async def _take_over(here: Runtime, there: Runtime) -> None:
    """Give the work of a process to an heir, as after a lost lease, while the process runs on."""
    await there.sessions._heartbeat.join()
    me = here.sessions._services.owner
    [owner] = [owner for owner in await there.store.owners() if owner.id == me]
    while not (recovered := await there.store.recover(me, owner.beat, there.sessions._services.owner)).found:
        [owner] = [owner for owner in await there.store.owners() if owner.id == me]
    await there.sessions._recovery.take_over(recovered.claims)


async def test_c5_a_turn_continues_after_a_clean_restart(shared_url: str) -> None:
    reached = asyncio.Event()
    script = Script(["Once ", reached.set, gate("never")])
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        turn = asyncio.ensure_future(session.say("Go."))
        await reached.wait()
    assert (await turn).status == "interrupted"
    script = Script()
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        [finished] = await until(session, "turn_finished")
        assert finished.data["turn_id"] == (await turn).id
        assert last_contents(script.requests[0]) == ["Go."]
        await check(session)


async def test_c5_a_process_without_a_model_leaves_the_turn_to_the_next_input(shared_url: str) -> None:
    reached = asyncio.Event()
    async with Runtime(TOOLS, model=Script([reached.set, gate("never")]).model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        await session.post({"kind": "user_input", "text": "Go."})
        await reached.wait()
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        assert await session.history() == []
        assert not session.has_pending_work
    script = Script()
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("And now?")).text == "told 2"
        await check(session)


async def test_m3_a_request_can_be_answered_in_another_process(shared_url: str) -> None:
    script, other = Script([("pay", '{"amount":5}')]), Script()
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as here:
        mine = await here.open("s", "u")
        paused = await mine.say("Pay.")
        async with Runtime(TOOLS, model=other.model(), store=shared_url) as there:
            theirs = await there.open("s", "u")
            [request] = await theirs.requests()
            await theirs.answer(request.id, {"approved": True})
            [finished] = await until(theirs, "turn_finished")
            assert finished.data["turn_id"] == paused.id
            requests = [*script.requests[1:], *other.requests]
            assert [last_contents(messages) for messages in requests] == [["paid 5"]]
            await check(theirs)


async def test_b6_a_conflict_about_late_results_is_settled(shared_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another reader takes a result while a turn delivers it."""
    script = Script()
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        late = await session.call("build", {"what": "a"})
        gate("a").set()
        await session.result(late.execution_id)
        write = TurnLease.write

        async def write_after_another_reader(
            self: TurnLease, entries: Any, *, results: Any = (), events: Any = ()
        ) -> None:
            if results:
                monkeypatch.setattr(TurnLease, "write", write)
                await live_session(session).ledger.write(Change(session.id, consumed=results))
            await write(self, entries, results=results, events=events)

        monkeypatch.setattr(TurnLease, "write", write_after_another_reader)
        assert (await session.say("Hello.")).status == "finished"
        assert last_contents(script.requests[0]) == ["Hello."]
        await check(session)


async def test_e5_background_work_continues_after_a_clean_restart(shared_url: str) -> None:
    script = Script([("build", '{"what":"a"}')])
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        await session.say("Go.")
    script = Script()
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        [record] = await session.history()
        assert not record.status.terminal  # it was stopped, not cancelled, and started again
        gate("a").set()
        await until(session, "turn_finished", 2)
        assert last_contents(script.requests[0]) == ["built a"]
        await check(session)


async def test_c5_input_while_a_process_ends_is_delivered_by_the_next(shared_url: str) -> None:
    async with Runtime(TOOLS, model=Script().model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        assert runtime._conversations is not None
        await runtime._conversations.close()
        assert (await session.say("Too late?")).status == "interrupted"
    script = Script()
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        await until(session, "turn_finished")
        assert last_contents(script.requests[0]) == ["Too late?"]


async def _rests(session: Session) -> None:
    """Return when no turn runs here."""
    while (task := conversation_of(session)._task) is not None and not task.done():
        await asyncio.wait([task])


async def test_m4_input_is_delivered_once_if_another_process_ends_its_turn_meanwhile(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process delivers the input and ends its turn between two reads here: transcript, then turn."""
    reached, script, other = asyncio.Event(), Script(), Script()
    script.turns.append([reached.set, gate("speak"), "One. "])
    async with (
        Runtime(TOOLS, model=script.model(), store=shared_url) as here,
        Runtime(TOOLS, model=other.model(), store=shared_url) as there,
    ):
        mine, theirs = await here.open("s", "u"), await there.open("s", "u")
        first = asyncio.ensure_future(mine.say("Here."))
        await reached.wait()
        looking, look = asyncio.Event(), ConversationScope.turn

        async def looks_late(self: ConversationScope, number: int) -> Any:
            if self.session is live_session(theirs):
                looking.set()
                await first
            return await look(self, number)

        monkeypatch.setattr(ConversationScope, "turn", looks_late)
        second = asyncio.ensure_future(theirs.say("There."))
        await looking.wait()
        await until(mine, "user_input", 2)
        gate("speak").set()
        await second
        assert await _inputs(theirs) == await _inputs(mine) == ["Here.", "There."]
        assert [last_contents(messages) for messages in (*script.requests[1:], *other.requests)] == [["There."]]
        await check(theirs)


async def test_e2_the_turn_of_a_deleted_session_ends(store_url: str) -> None:
    reached = asyncio.Event()
    script = Script([reached.set, gate("speak"), "Gone? "])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        saying = asyncio.ensure_future(session.say("Go."))
        await reached.wait()
        runtime.sessions.delete(live_session(session))
        await runtime.store.delete("s")
        gate("speak").set()
        async with asyncio.timeout(90):
            await asyncio.wait([saying])
            await _rests(session)
        assert (await (await runtime.open("s", "other")).say("Mine now?")).status == "finished"


async def test_e2_cancelled_calls_of_a_deleted_session_start_no_turn(store_url: str) -> None:
    script = Script([("build", '{"what":"a"}')])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Go.")).status == "finished"
        conversation = conversation_of(session)
        [execution] = live_session(session).calls.unfinished
        runtime.sessions.delete(live_session(session))
        await runtime.store.delete("s")
        async with asyncio.timeout(90):
            await runtime.manager.wait(execution)
        assert not conversation.is_processing


async def test_m5_a_late_result_wakes_the_session_when_the_store_answers_again(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, clock = Script([("build", '{"what":"a"}')]), ManualClock()
    async with Runtime(TOOLS, model=script.model(), store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "u")
        await session.say("Go.")
        failed, look = asyncio.Event(), ConversationScope.written_after

        async def unavailable(*_: Any) -> Any:
            failed.set()
            raise StoreUnavailable("gone for a while")

        monkeypatch.setattr(ConversationScope, "written_after", unavailable)
        gate("a").set()
        await failed.wait()
        monkeypatch.setattr(ConversationScope, "written_after", look)
        async with asyncio.timeout(90):
            await _rests(session)
        await clock.advance(1.0)
        await until(session, "turn_finished", 2)
        assert last_contents(script.requests[-1]) == ["built a"]


async def test_m5_results_of_a_process_that_ended_reach_the_model_at_the_next_start(shared_url: str) -> None:
    @tool(mode="background")
    async def deliver() -> None:
        """Deliver something; it cannot be done twice."""
        await asyncio.Event().wait()

    told = asyncio.Event()
    script = Script([("deliver", "{}")], ["It runs."], [told.set, "It was cancelled."])
    async with Runtime([deliver], model=script.model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        await session.say("Go.")
        await until(session, "tool_executing")
    assert not told.is_set()
    async with Runtime([deliver], model=script.model(), store=shared_url) as runtime, asyncio.timeout(90):
        await told.wait()
        assert "cancelled" in str(last_contents(script.requests[-1]))
        await until(await runtime.open("s", "u"), "turn_finished", 2)
        assert await runtime.store.sessions_to_wake() == []


async def test_h5_a_user_with_many_results_does_not_delay_that_of_another_at_a_start(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool(mode="background")
    async def deliver() -> None:
        """Deliver something; it cannot be done twice."""
        await asyncio.Event().wait()

    users = {**{f"m{number}": "mallory" for number in range(8)}, "z": "alice"}
    script = Script()
    for _ in users:
        script.turns.append([("deliver", "{}")])
        script.turns.append(["It runs."])
    async with Runtime([deliver], model=script.model(), store=shared_url) as runtime:
        for session_id, user_id in users.items():
            session = await runtime.open(session_id, user_id)
            await session.say("Go.")
            await until(session, "tool_executing")
    monkeypatch.setattr("callboard.sessions.waker.AT_ONCE", 4)
    runtime = Runtime([deliver], model=Script().model(), store=shared_url)
    turns = Turns(len(users))
    runtime.sessions.watch(turns)
    async with runtime, asyncio.timeout(90):
        await turns.all_ended.wait()
        assert turns.began.index("z") < 4
        assert turns.most_at_once <= 3
        assert sorted(turns.began) == sorted(users)
        while len(runtime.sessions):  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert await runtime.store.sessions_to_wake() == []


class Turns:
    """Notes which sessions have turns, and how many at once."""

    def __init__(self, expected: int) -> None:
        self.began: list[str] = []
        self.most_at_once = 0
        self.all_ended = asyncio.Event()
        self._expected = expected
        self._running = 0

    def turn_began(self, session_id: str, turn_id: str) -> None:
        self.began.append(session_id)
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)

    def turn_ended(self, session_id: str, turn_id: str, status: str, usage: Any) -> None:
        self._running -= 1
        if len(self.began) == self._expected and not self._running:
            self.all_ended.set()


async def test_m5_results_of_a_process_that_ended_reach_the_model_in_another_one(shared_url: str) -> None:
    @tool(mode="background")
    async def deliver() -> None:
        """Deliver something; it cannot be done twice."""
        await asyncio.Event().wait()

    told = asyncio.Event()
    script = Script([("deliver", "{}")], ["It runs."], [told.set, "It was cancelled."])
    async with Runtime([deliver], model=script.model(), store=shared_url) as other:
        async with Runtime([deliver], model=script.model(), store=shared_url) as runtime:
            await until_known(other, 2)
            session = await runtime.open("s", "u")
            await session.say("Go.")
            await until(session, "tool_executing")
        async with asyncio.timeout(90):
            await told.wait()
        await until(await other.open("s", "u"), "turn_finished", 2)


async def until_known(runtime: Runtime, processes: int) -> None:
    """Wait until a process knows of so many processes."""
    heartbeat = runtime.sessions._heartbeat  # pyright: ignore[reportPrivateUsage]
    while len(heartbeat._silence) < processes:  # pyright: ignore[reportPrivateUsage]
        await heartbeat.poll()


async def test_b6_an_unavailable_store_is_logged_once_and_so_is_its_return(
    shared_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock, look = ManualClock(), ConversationScope.written_after
    gone = "turns wait until the store answers again: gone for a while"
    back = "the store answers again; turns continue"

    async def unavailable(*_: Any) -> Any:
        raise StoreUnavailable("gone for a while")

    async with Runtime(TOOLS, model=Script().model(), store=shared_url, clock=clock) as runtime:
        sessions = [await runtime.open(name, "u") for name in "abc"]
        for times in (1, 2):
            monkeypatch.setattr(ConversationScope, "written_after", unavailable)
            for session in sessions:
                await session.post({"kind": "user_input", "text": "Hello."})
            for _ in range(3):
                for session in sessions:
                    await _rests(session)
                await clock.advance(1.0)
            monkeypatch.setattr(ConversationScope, "written_after", look)
            for session in sessions:
                await _rests(session)
            await clock.advance(1.0)
            for session in sessions:
                await until(session, "turn_finished", times)
                await _rests(session)
            said = [record.getMessage() for record in caplog.records if record.name == "callboard.chat"]
            assert said == [gone, back] * times


async def _waits_for_others(session: Session) -> None:
    """Return when the conversation waits for a turn of another process."""
    async with asyncio.timeout(90):
        while not conversation_of(session)._awaits_other_process:
            await live_session(session).settle()
            await asyncio.sleep(0)


async def test_d2_a_waiting_process_takes_over_a_turn_whose_process_ends(shared_url: str) -> None:
    reached, script = asyncio.Event(), Script()
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as there:
        theirs = await there.open("s", "u")
        async with Runtime(TOOLS, model=Script([reached.set, gate("never")]).model(), store=shared_url) as here:
            mine = await here.open("s", "u")
            await mine.post({"kind": "user_input", "text": "Here."})
            await reached.wait()
            second = asyncio.ensure_future(theirs.say("There."))
            await _waits_for_others(theirs)
        async with asyncio.timeout(90):
            assert (await second).status == "finished"
        assert await _inputs(theirs) == ["Here.", "There."]
        assert not theirs.is_processing
        await check(theirs)
        script.turns.append([("slow", "{}")])
        turn = asyncio.ensure_future(theirs.say("Once more."))
        await until(theirs, "tool_executing")
        assert await theirs.interrupt(), "it is a turn of this process now"
        assert (await turn).status == "interrupted"


async def test_e2_all_waits_end_when_a_session_is_deleted_elsewhere(shared_url: str) -> None:
    script = Script([("slow", "{}")])
    async with (
        Runtime(TOOLS, model=script.model(), store=shared_url) as here,
        Runtime(TOOLS, model=Script().model(), store=shared_url) as there,
        Runtime(store=shared_url, recover=False) as third,
    ):
        mine, theirs = await here.open("s", "u"), await there.open("s", "u")
        turn = asyncio.ensure_future(mine.say("Here."))
        [executing] = await until(mine, "tool_executing")
        second = asyncio.ensure_future(theirs.say("There."))
        result = asyncio.ensure_future(theirs.result(executing.data["execution_id"]))
        reader = asyncio.ensure_future(_read_to_the_end(theirs))
        await _waits_for_others(theirs)
        assert await third.store.delete("s")
        async with asyncio.timeout(90):
            assert (await turn).status == (await second).status == "interrupted"
            with pytest.raises(ToolError, match="no execution"):
                await result
            assert "tool_executing" in await reader
            for session in (mine, theirs):
                await _rests(session)
                assert not await session.interrupt()


async def _read_to_the_end(session: Session) -> list[str]:
    return [event.kind async for event in session.events(0)]


async def test_e2_an_interrupt_ends_if_the_session_is_deleted_meanwhile(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = asyncio.Event()
    script = Script([reached.set, gate("never")])
    async with (
        Runtime(TOOLS, model=script.model(), store=shared_url) as here,
        Runtime(TOOLS, model=Script().model(), store=shared_url) as there,
        Runtime(store=shared_url, recover=False) as third,
    ):
        mine, theirs = await here.open("s", "u"), await there.open("s", "u")
        turn = asyncio.ensure_future(mine.say("Here."))
        await reached.wait()
        look = TurnLease.running_elsewhere

        async def deleted_meanwhile(lease: TurnLease) -> TurnRow | None:
            row = await look(lease)
            await third.store.delete("s")
            while not there.sessions._cache.is_stale("s"):  # noqa: ASYNC110
                await asyncio.sleep(0)
            return row

        monkeypatch.setattr(TurnLease, "running_elsewhere", deleted_meanwhile)
        async with asyncio.timeout(90):
            assert await theirs.interrupt()
            assert (await turn).status == "interrupted"


@pytest.mark.parametrize("model", [True, False])
async def test_c3_a_stop_is_carried_out_by_the_next_process_if_the_first_ended(
    shared_url: str, model: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script()
    async with Runtime(TOOLS, model=script.model() if model else None, store=shared_url) as there:
        async with Runtime(TOOLS, model=Script([("slow", "{}")]).model(), store=shared_url) as here:
            mine = await here.open("s", "u")
            await mine.post({"kind": "user_input", "text": "Go."})
            [started] = await until(mine, "turn_started")
            await until(mine, "tool_executing")

            async def is_deaf(*_: object) -> None:
                return

            monkeypatch.setattr(here.sessions._recovery, "stop_cancelled", is_deaf)
            theirs = await there.open("s", "u")
            row = await there.store.turn("s", 1)
            assert row is not None
            if model:
                stopping = asyncio.ensure_future(theirs.interrupt())
            else:
                change = Change("s", stop_turns=[row.number])
                stopping = asyncio.ensure_future(live_session(theirs).ledger.write(change))
            async with asyncio.timeout(90):
                while not (row and row.cancelling):
                    row = await there.store.turn("s", 1)
        async with asyncio.timeout(90):
            assert await stopping
            [ended] = await until(theirs, "turn_interrupted")
            assert ended.data["turn_id"] == started.data["turn_id"]
        assert script.requests == []
        if model:
            await check(theirs)
            assert (await theirs.say("And now?")).status == "finished"


async def test_e3_a_result_that_another_process_delivers_is_no_pending_work(shared_url: str) -> None:
    script = Script()
    async with (
        Runtime(TOOLS, model=script.model(), store=shared_url) as first,
        Runtime(TOOLS, model=script.model(), store=shared_url) as second,
    ):
        one, two = [await each.open("s", "u", wake="wait") for each in (first, second)]
        await one.say("First.")
        gate("a").set()
        late = await one.call("build", {"what": "a"})
        await one.result(late.execution_id)
        assert one.has_pending_work
        await two.say("Second.")
        assert last_contents(script.requests[1]) == ["built a", "Second."]
        await one.say("Third.")
        assert last_contents(script.requests[2]) == ["Third."]
        assert not one.has_pending_work
