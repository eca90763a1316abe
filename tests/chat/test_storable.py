"""Every response can be stored and read again, so that its conversation continues after a restart (C5)."""

from typing import Any

import pytest
from pydantic_ai.messages import (
    CompactionPart,
    ModelResponse,
    NativeToolCallPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from callboard import Runtime
from callboard.chat.storable import storable_response
from callboard.chat.transcript import Reply, decode_entry, encode_entry
from callboard.testing.providers import Call, GeminiDouble, Text, Turn

from .scripted import TOOLS, Script, last_contents

BROKEN = "a\ud800"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.anyio
@pytest.mark.parametrize("depth", [100, 193, 250])
async def test_c5_a_conversation_with_deeply_nested_arguments_continues_after_a_restart(
    depth: int, store_url: str
) -> None:
    turns = [Turn(Call("add", {"a": nested(depth), "b": 2})), Turn(Text("Sorry."))]
    async with GeminiDouble(turns) as provider, Runtime(TOOLS, model=provider.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turn = await session.say("Go.")
        assert (turn.status, turn.text) == ("finished", "Sorry.")
        assert len((await session.latest_messages()).messages) == 4
        assert provider.refusals == []
    script = Script()
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("And now?")).status == "finished"
        assert last_contents(script.requests[0]) == ["And now?"]


PARTS: list[Any] = [
    TextPart("Yes.", id=BROKEN, provider_name="p"),
    TextPart("Yes.", provider_name="p", provider_details={"a": BROKEN}),
    TextPart("Yes.", provider_name="p", provider_details=nested(230)),
    ThinkingPart("Hm.", signature=BROKEN, provider_name="p"),
    ToolCallPart("add", "{}", "c1", id=BROKEN, provider_name="p"),
    ToolCallPart("add", nested(3_000), "c1"),
    NativeToolCallPart("search", {"query": BROKEN}, "n1", provider_name="p"),
    CompactionPart(BROKEN, provider_name="p"),
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.part_kind)
def test_c5_a_response_with_values_that_cannot_be_stored_keeps_texts_and_calls(part: Any) -> None:
    usage = RequestUsage(input_tokens=3, output_tokens=4)
    given = ModelResponse(parts=[TextPart("Well."), part], usage=usage, model_name="m")
    entry = decode_entry(encode_entry(Reply(storable_response(given))))
    assert isinstance(entry, Reply)
    assert (entry.response.usage, entry.response.model_name) == (usage, "m")
    assert isinstance(entry.response.parts[0], TextPart)
    if isinstance(part, TextPart | ThinkingPart | ToolCallPart):
        kept = entry.response.parts[1]
        assert type(kept) is type(part)
        assert getattr(kept, "content", "") == getattr(part, "content", "")
        assert getattr(kept, "tool_name", "") == getattr(part, "tool_name", "")


def test_c5_metadata_of_a_provider_that_cannot_be_stored_is_left_out() -> None:
    broken: dict[str, Any] = {"model_name": BROKEN, "provider_response_id": BROKEN, "provider_details": {"a": BROKEN}}
    for name, value in broken.items():
        made = storable_response(ModelResponse(parts=[TextPart("Yes.")], **{name: value}))
        assert made.text == "Yes."
        encode_entry(Reply(made))


def test_c5_a_response_that_can_be_stored_keeps_all_of_it() -> None:
    text = TextPart("Yes.", id="m1", provider_name="p", provider_details={"a": 1})
    parts = [text, ToolCallPart("add", {"a": 1}, "c")]
    given = ModelResponse(parts=parts, provider_response_id="r1", provider_details={"b": 2})
    assert storable_response(given) == given
