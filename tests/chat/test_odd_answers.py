"""A turn continues after any response of the model, in every store and with every provider (C2, C5)."""

from typing import Any

import pytest

from callboard import Runtime, TurnLimits, tool
from callboard.testing.providers import (
    AnthropicDouble,
    Call,
    Double,
    GeminiDouble,
    OpenAIChatDouble,
    OpenAIResponsesDouble,
    Text,
    Turn,
)

from .scripted import TOOLS, Script, check, flattened, gate, last_contents, until

pytestmark = pytest.mark.anyio

DOUBLES = [AnthropicDouble, OpenAIChatDouble, OpenAIResponsesDouble, GeminiDouble]
ODD_NAMES = ["add\x00", "\x00", "", "a" * 200, "größe \U0001f6e0", "add\ud800", "functions.add"]


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
async def test_c2_a_name_that_no_tool_can_have_is_answered(name: str, store_url: str) -> None:
    script = Script([(name, '{"a":"\x00"}'), ("add", '{"a":"\ud800\x00"}')])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turn = await session.say("Go.")
        assert (turn.status, turn.error) == ("finished", None)
        assert [answer["category"] for answer in last_contents(script.requests[1])] == ["not_found", "validation"]
        await check(session)


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "\x00"], ids=ascii)
async def test_c2_a_text_with_characters_that_cannot_be_stored_is_kept(text: str, store_url: str) -> None:
    script = Script([text, "!"])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turn = await session.say("Go.\x00" if store_url.startswith("memory") else "Go.")
        assert (turn.status, turn.error) == ("finished", None)
        assert turn.text.endswith("!")
        assert (await session.say("And?")).status == "finished"


@pytest.mark.parametrize("double", DOUBLES)
@pytest.mark.parametrize("blank", ["\n\n", " ", "\u200b", "\ufeff\u2060"], ids=ascii)
async def test_c5_a_blank_text_beside_a_call(double: type[Double], blank: str) -> None:
    script = [Turn(Text(blank), Call("add", {"a": 1, "b": 2})), Turn(Text(blank)), Turn(Text("Yes."))]
    async with double(script) as provider, Runtime(TOOLS, model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Add.")).status == "finished"
        assert (await session.say("\u200b")).text == "Yes."
        assert provider.refusals == []


@pytest.mark.parametrize("double", DOUBLES)
@pytest.mark.slow
async def test_c5_a_thousand_calls_in_one_answer(double: type[Double]) -> None:
    calls = [Call("add", {"a": number, "b": 1}) for number in range(1000)]
    limits = TurnLimits(tool_calls=None)
    script = [Turn(*calls), Turn(Text("That was much.")), Turn(*calls[:300]), Turn(Text("Enough."))]
    async with double(script) as provider, Runtime(TOOLS, model=provider.model(), turn_limits=limits) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Add.")).text == "That was much."
        assert (await session.say("More.")).text == "Enough."
        assert provider.refusals == []
        results = [message for message in await session.messages() if message["role"] == "tool"]
        assert [result["content"] for result in results[:1000]] == [str(number + 1) for number in range(1000)]


async def test_c5_ids_of_another_provider_after_a_restart(tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path}/c.db"
    ids = ["functions.add:0", "functions.add:1", "x" * 100, "call|1"]
    script = [Turn(*(Call("add", {"a": 1, "b": 2}, identity) for identity in ids)), Turn(Text("Three."))]
    async with (
        OpenAIChatDouble(script) as first,
        Runtime(TOOLS, model=first.model(), store=store) as runtime,
    ):
        session = await runtime.open("s", "u")
        assert (await session.say("Add.")).text == "Three."
        shown = [call["call_id"] for message in await session.messages() for call in message.get("calls", ())]
        assert shown == ids  # people see the ids that the executions have
    for double in DOUBLES:
        async with (
            double([Turn(Text("Still three."))]) as provider,
            Runtime(TOOLS, model=provider.model(), store=store) as runtime,
        ):
            session = await runtime.open("s", "u")
            assert (await session.say("Really?")).text == "Still three."
            assert provider.refusals == []


@pytest.mark.parametrize("double", DOUBLES)
@pytest.mark.parametrize("answered", ["", "\n", "line one\nline two", '"quoted"', "null"], ids=ascii)
async def test_m2_a_text_result_is_text(double: type[Double], answered: str) -> None:
    @tool
    async def speak() -> str:
        """Speak."""
        return answered

    script = [Turn(Call("speak", {})), Turn(Text("Heard."))]
    async with double(script) as provider, Runtime([speak], model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Speak.")).text == "Heard."
        assert provider.refusals == []
        [result] = [message for message in await session.messages() if message["role"] == "tool"]
        assert result["content"] == answered
        if answered.strip():
            assert answered in _strings(provider.bodies[1])


async def test_m4_late_and_shortened_text_results_are_text() -> None:
    @tool(mode="background", idempotent=True, result_limit=20)
    async def write() -> str:
        """Write."""
        await gate("write").wait()
        return "one\ntwo\n" * 10

    script = Script([("write", "{}")])
    async with Runtime([write], model=script.model()) as runtime:
        session = await runtime.open("s", "u")
        await session.say("Go.")
        gate("write").set()
        await until(session, "turn_finished", 2)
        [text] = last_contents(script.requests[2])
        assert text.startswith("one\ntwo\none\n")
        assert text.endswith("two\n")


async def test_m4_a_late_result_follows_the_sent_messages_after_a_failed_request() -> None:
    script = Script([("build", '{"what":"a"}')], ["It runs."], [ConnectionError("gone")])
    async with Runtime(TOOLS, model=script.model()) as runtime:
        session = await runtime.open("s", "u")
        await session.say("Build a.")
        assert (await session.say("Well?")).status == "failed"
        gate("a").set()
        await until(session, "turn_finished", 2)
        for before, after in zip(script.requests, script.requests[1:], strict=False):
            assert flattened(after)[: len(flattened(before))] == flattened(before)
        assert last_contents(script.requests[-1]) == ["built a"]
        await check(session)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _strings(each)]
