"""Turns: late results that wake, people who decide, inputs in between, interrupts, restarts (C1 to C6, M4, M5, M7)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_core import from_json

import callboard
from callboard import Runtime
from callboard.demo.offline import offline_model

from .scripted import TOOLS, add, check, gate, until

pytestmark = pytest.mark.anyio


async def test_c2_several_calls_of_one_response_run_together_and_are_answered_in_order() -> None:
    async with Runtime(TOOLS, model="offline") as runtime:
        session = await runtime.open("s", user_id="u")
        turn = await session.say('add {"a": 1, "b": 2}')
        assert (turn.status, turn.text) == ("finished", "add gives 3.")
        assert [event.kind for event in session.board.read(0)][-1] == "turn_finished"
        await check(session)


async def test_m7_a_renderer_that_fails_leaves_no_call_unanswered() -> None:
    def render(value: Any) -> str:
        raise KeyError(value)

    async with Runtime([add.with_(renderers={"voice": render})], model="offline") as runtime:
        session = await runtime.open("s", user_id="u", channel="voice")
        turn = await session.say('add {"a": 1, "b": 2}')
        assert (turn.status, turn.text) == ("finished", "add gives 3.")
        await check(session)


async def test_m5_a_late_result_wakes_an_idle_session_and_two_make_one_turn() -> None:
    async with Runtime(TOOLS, model="offline") as runtime:
        session = await runtime.open("s", user_id="u")
        await session.say('build {"what": "a"}')
        await session.say('build {"what": "b"}')
        gate("a").set()
        gate("b").set()
        texts = [event.data["text"] for event in await until(session, "text", 3)]
        assert texts[-1] == "A result came in from build: built a. A result came in from build: built b."
        assert await session.take_results() == []
        await check(session)


async def test_m3_a_turn_continues_when_the_person_has_answered() -> None:
    async with Runtime(TOOLS, model="offline") as runtime:
        session = await runtime.open("s", user_id="u")
        turn = await session.say('pay {"amount": 5}')
        assert turn.status == "paused"
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        [text] = await until(session, "text", 1)
        assert text.data["text"] == "pay gives paid 5."
        await check(session)


async def test_m7_input_while_a_request_is_open_gets_a_reply() -> None:
    async with Runtime(TOOLS, model="offline") as runtime:
        session = await runtime.open("s", user_id="u")
        await session.say('pay {"amount": 5}')
        turn = await session.say('add {"a": 1, "b": 1}')
        assert turn.status == "finished"
        assert "is waiting for a person" in turn.text
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        texts = await until(session, "text", 3)
        assert texts[-1].data["text"] == "A result came in from pay: paid 5."
        await check(session)


async def test_m7_input_while_a_long_call_runs_gets_a_reply() -> None:
    async with Runtime(TOOLS, model="offline") as runtime:
        session = await runtime.open("s", user_id="u")
        first = asyncio.ensure_future(session.say("slow"))
        await until(session, "tool_executing", 1)
        second = await session.say('add {"a": 2, "b": 2}')
        assert "add gives 4." in second.text
        assert "slow is running" in second.text
        assert await first == second
        gate("slow").set()
        texts = await until(session, "text", 3)
        assert texts[-1].data["text"] == "A result came in from slow: at last."
        await check(session)


async def test_c3_an_interrupt_in_the_text_keeps_the_text_so_far() -> None:
    started = asyncio.Event()

    async def talks(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "Once upon "
        started.set()
        await asyncio.Event().wait()
        yield "a time"

    async with Runtime(model=FunctionModel(stream_function=talks)) as runtime:
        session = await runtime.open("s", user_id="u")
        heard: list[bytes] = []
        with session.board.listening(heard.append):
            turn = asyncio.ensure_future(session.say("tell me"))
            await started.wait()
            await session.interrupt()
        assert (await turn).text == "Once upon "
        assert b'"delta":"Once upon "' in heard[0]
        await check(session)


async def test_h3_pieces_and_messages_have_the_id_that_the_conversation_shows() -> None:
    async with Runtime(TOOLS, model="offline") as runtime:
        session = await runtime.open("s", user_id="u")
        heard: list[bytes] = []
        with session.board.listening(heard.append):
            for text in ("hello", 'add {"a": 1, "b": 2}', "and then"):
                await session.say(text)
        shown = {each["id"]: each["text"] for each in await session.messages() if each.get("text")}
        spoken: dict[str, str] = {}
        for piece in (from_json(each)["data"] for each in heard):
            spoken[piece["message_id"]] = spoken.get(piece["message_id"], "") + piece["delta"]
        finished = {
            event.data["message_id"]: event.data["text"] for event in session.board.read(0) if event.kind == "text"
        }
        assert len(spoken) == 3
        assert spoken == finished
        assert spoken.items() <= shown.items()


async def test_c5_results_and_requests_reach_the_model_after_a_restart(tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path}/c.db"
    async with Runtime(TOOLS, model="offline", store=store) as runtime:
        session = await runtime.open("s", user_id="u")
        assert (await session.say('pay {"amount": 7}')).status == "paused"
    async with Runtime(TOOLS, model="offline", store=store) as runtime:
        session = await runtime.open("s", user_id="u")
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        [text] = await until(session, "text", 1)
        assert text.data["text"] == "pay gives paid 7."
        await check(session)


async def test_x10_unknown_tools_and_broken_arguments_are_answered_with_an_error() -> None:
    async def errs(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        if results := [part for part in last.parts if isinstance(part, ToolReturnPart)]:
            contents: list[Any] = [part.content for part in results]
            yield " ".join(content["category"] for content in contents)
        else:
            yield {
                0: DeltaToolCall("nothing", "{}", tool_call_id="c1"),
                1: DeltaToolCall("add", '{"a":', tool_call_id="c2"),
            }

    async with Runtime(TOOLS, model=FunctionModel(stream_function=errs)) as runtime:
        session = await runtime.open("s", user_id="u")
        assert (await session.say("go")).text == "not_found validation"
        await check(session)


async def test_m4_another_sessions_results_are_not_found() -> None:
    async with Runtime(TOOLS, model="offline") as runtime:
        other = await runtime.open("other", user_id="v")
        mine = await runtime.open("mine", user_id="u")
        theirs = await other.call("build", {"what": "a"})
        turn = await mine.say(f"result of {theirs.execution_id}")
        assert "There is no execution" in turn.text


async def test_c1_an_external_agent_uses_the_same_tools() -> None:
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", user_id="u")
        agent = Agent(offline_model(), toolsets=[callboard.toolset(session)])
        async with agent.run_stream_events('add {"a": 20, "b": 22}') as events:
            async for _ in events:
                pass
        assert "tool_result" in [event.kind for event in session.board.read(0)]
