"""Every provider accepts late results at any time (M4, M7, C5). The doubles refuse what the providers refuse."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callboard import Runtime, Session, dynamic_tool
from callboard.testing.providers import (
    AnthropicDouble,
    Call,
    Double,
    GeminiDouble,
    OpenAIChatDouble,
    OpenAIResponsesDouble,
    Text,
    Thinking,
    Turn,
)

from .scripted import TOOLS, check, gate, until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("double", [AnthropicDouble, OpenAIChatDouble, OpenAIResponsesDouble, GeminiDouble]),
]

BUILD_A, BUILD_B, PAY = Call("build", {"what": "a"}), Call("build", {"what": "b"}), Call("pay", {"amount": 1})


async def _end(session: Session, provider: Double, *turns: int) -> None:
    """Assert that the provider accepted every request, and that the transcript is valid."""
    assert provider.refusals == []
    assert not session.has_pending_work
    await check(session)


async def _finish(session: Session, *names: str) -> None:
    """Let builds end, and return when their results are waiting or delivered."""
    for name in names:
        gate(name).set()
    records = [record for record in await session.history() if record.tool == "build"]
    for record in records:
        if record.arguments["what"] in names:
            await session.result(record.id)


async def test_m4_a_late_result(double: type[Double]) -> None:
    script = [Turn(BUILD_A), Turn(Text("It runs.")), Turn(Text("Here it is."))]
    async with double(script) as provider, Runtime(TOOLS, model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Build a.")).text == "It runs."
        gate("a").set()
        await until(session, "turn_finished", 2)
        assert [message["text"] for message in await session.messages() if message.get("text")][-1] == "Here it is."
        await _end(session, provider)


async def test_m4_two_late_results_at_once(double: type[Double]) -> None:
    script = [Turn(BUILD_A, BUILD_B), Turn(Text("Both run.")), Turn(Text("Here they are."))]
    async with double(script) as provider, Runtime(TOOLS, model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        await session.say("Build both.")
        await _finish(session, "a", "b")
        await until(session, "turn_finished", 2)
        calls = [call for message in await session.messages() for call in message.get("calls", ())]
        assert [call["tool"] for call in calls] == ["build", "build", "task_result", "task_result"]
        await _end(session, provider)


async def test_m4_a_late_result_and_then_another(double: type[Double]) -> None:
    script = [Turn(BUILD_A), Turn(BUILD_B), Turn(Text("Both run.")), Turn(Text("One.")), Turn(Text("Two."))]
    async with double(script) as provider, Runtime(TOOLS, model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        await session.say("Build both.")
        gate("a").set()
        await until(session, "turn_finished", 2)
        gate("b").set()
        await until(session, "turn_finished", 3)
        await _end(session, provider)


async def test_m7_a_late_result_while_a_person_is_asked(double: type[Double]) -> None:
    script = [Turn(BUILD_A, PAY), Turn(Text("Paid, and here it is."))]
    async with double(script) as provider, Runtime(TOOLS, model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Build and pay.")).status == "paused"
        await _finish(session, "a")
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        await until(session, "turn_finished")
        await _end(session, provider)


async def test_m7_a_late_result_while_a_person_is_asked_and_the_user_writes(double: type[Double]) -> None:
    script = [Turn(BUILD_A, PAY), Turn(Text("You will be asked; here it is.")), Turn(Text("Paid."))]
    async with double(script) as provider, Runtime(TOOLS, model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Build and pay.")).status == "paused"
        await _finish(session, "a")
        assert (await session.say("Well?")).status == "finished"
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        await until(session, "turn_finished", 2)
        await _end(session, provider)


async def test_c5_a_late_result_after_a_restart(double: type[Double], tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'callboard.db'}"
    script = [Turn(BUILD_A, PAY), Turn(Text("Well.")), Turn(Text("Here it is.")), Turn(Text("Paid."))]
    async with double(script) as provider:
        async with Runtime(TOOLS, model=provider.model(), store=store) as runtime:
            session = await runtime.open("s", "u")
            assert (await session.say("Build and pay.")).status == "paused"
            assert (await session.say("Well?")).text == "Well."
        async with Runtime(TOOLS, model=provider.model(), store=store) as runtime:
            session = await runtime.open("s", "u")
            gate("a").set()  # the call was started again
            await until(session, "turn_finished", 2)
            [request] = await session.requests()
            await session.answer(request.id, {"approved": True})
            await until(session, "turn_finished", 3)
            await _end(session, provider)


async def test_c5_an_interrupt_and_then_a_late_result(double: type[Double]) -> None:
    script = [
        Turn(BUILD_A),
        Turn(Text("It runs.")),
        Turn(Call("slow", {})),
        Turn(Text("Stopped; here it is.")),
        Turn(Text("Yes.")),
    ]
    async with double(script) as provider, Runtime(TOOLS, model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Build.")).status == "finished"
        turn = asyncio.ensure_future(session.say("Wait."))
        await until(session, "tool_executing", 2)
        assert await session.interrupt()
        assert (await turn).status == "interrupted"
        gate("a").set()
        await until(session, "turn_finished", 2)
        assert (await session.say("Go on.")).text == "Yes."
        await _end(session, provider)


async def test_m4_a_late_result_with_thinking_on(double: type[Double]) -> None:
    """Providers have rules about the position of thoughts; the call joins the text that follows them."""
    settings: dict[Any, Any] = {
        AnthropicDouble: {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096},
        OpenAIResponsesDouble: {"openai_reasoning_effort": "low", "openai_reasoning_summary": "auto"},
        GeminiDouble: {"google_thinking_config": {"include_thoughts": True}},
    }
    thinks = double is not OpenAIChatDouble
    thought = [Thinking("Hm.")] if thinks else []
    script = [
        Turn(*thought, BUILD_A),
        Turn(*thought, Text("It runs.")),
        Turn(*thought, Text("Here it is.")),
        Turn(*thought, BUILD_B),
        Turn(*thought, Text("That runs.")),
        Turn(*thought, Text("All done.")),
    ]
    async with (
        double(script) as provider,
        Runtime(TOOLS, model=provider.model(), model_settings=settings.get(double)) as runtime,
    ):
        session = await runtime.open("s", "u")
        assert (await session.say("Build a.")).status == "finished"
        gate("a").set()
        await until(session, "turn_finished", 2)
        assert (await session.say("Build b.")).status == "finished"
        gate("b").set()
        await until(session, "turn_finished", 4)
        await _end(session, provider)


async def test_m4_late_result_before_the_first_input_is_delivered(double: type[Double]) -> None:
    script = [Turn(Text("Hello; here it is."))]
    async with double(script) as provider, Runtime(TOOLS, model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        await session.call("build", {"what": "a"})
        await _finish(session, "a")
        assert (await session.say("Hello.")).status == "finished"
        await _end(session, provider)


async def test_s1_tools_of_any_schema_are_offered_in_a_form_that_the_provider_accepts(double: type[Double]) -> None:
    numbers = {name: {"type": "integer", "description": "A number."} for name in ("$top", "x")}

    async def handler(arguments: Any) -> Any:
        return arguments

    filtered = dynamic_tool("filtered", {"type": "object", "properties": numbers}, handler, description="Filter.")
    branches = [{"properties": {name: each}, "required": [name]} for name, each in numbers.items() if name == "x"]
    union = dynamic_tool("union", {"type": "object", "anyOf": branches}, handler, description="Choose.")
    script = [Turn(Call("union", {"x": 1})), Turn(Text("Done."))]
    async with double(script) as provider, Runtime([filtered, union], model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Go.")).text == "Done."
        await _end(session, provider)
        (call,) = await session.history()
        assert (call.tool, call.value) == ("union", {"x": 1})
