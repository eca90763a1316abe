"""Images and sounds of tools reach each provider in its own form."""

import json
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import callboard
from callboard import Runtime, dynamic_tool, tool
from callboard.content import Content, Image, Text
from callboard.testing.providers import (
    AnthropicDouble,
    Call,
    Double,
    Failure,
    GeminiDouble,
    OpenAIChatDouble,
    OpenAIResponsesDouble,
    Turn,
)
from callboard.testing.providers import Text as Said

from .scripted import check

pytestmark = pytest.mark.anyio
every_provider = pytest.mark.parametrize(
    "double", [AnthropicDouble, OpenAIChatDouble, OpenAIResponsesDouble, GeminiDouble]
)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "mimeType": "image/png", "data": PNG}
WAV = {"type": "audio", "mimeType": "audio/wav", "data": "UklGRgAAAABXQVZF"}
BAD = {"type": "image", "mimeType": "image/png", "data": "bm90IGFuIGltYWdl"}
LINK = {"type": "resource_link", "uri": "https://a.example/readme", "name": "readme"}
SCRIPT = [Turn(Call("look", {})), Turn(Said("I see."))]


def look(*blocks: dict[str, Any]) -> Any:
    """A tool that returns content in the form of MCP, without declaring it."""

    async def function(arguments: dict[str, Any]) -> Any:
        return list(blocks)

    return dynamic_tool("look", {"type": "object"}, function, description="Look.")


@every_provider
async def test_h4_m1_a_model_gets_an_image_in_the_form_of_its_provider(double: type[Double]) -> None:
    tools = [look({"type": "text", "text": "see:"}, IMAGE, LINK)]
    async with double(list(SCRIPT)) as provider, Runtime(tools, model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Look.")).text == "I see."
        assert provider.refusals == []
        sent = json.dumps(provider.bodies[-1]).replace("-", "+").replace("_", "/")  # Gemini has other letters in base64
        assert sent.count(PNG) == 1
        assert "see:" in sent
        assert "(link to readme: https://a.example/readme)" in sent
        await check(session)


@every_provider
async def test_h4_m1_a_model_that_cannot_read_a_file_gets_a_note(double: type[Double]) -> None:
    async with double(list(SCRIPT)) as provider, Runtime([look(WAV, BAD)], model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Listen.")).text == "I see."
        assert provider.refusals == []
        sent = json.dumps(provider.bodies[-1])
        assert BAD["data"] not in sent  # its data is not that of an image
        assert "(audio, audio/wav, 12 bytes; shown to the user)" in sent
        assert (WAV["data"] in sent) is (double is GeminiDouble)


async def test_h4_m1_a_conversation_goes_on_without_an_image_that_a_provider_rejects() -> None:
    script = [SCRIPT[0], Failure(400, "Could not process image"), SCRIPT[1]]
    async with AnthropicDouble(script) as provider, Runtime([look(IMAGE)], model=provider.model()) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Look.")).text == "I see."
        assert [PNG in json.dumps(body) for body in provider.bodies] == [False, True, False]
        assert "shown to the user" in json.dumps(provider.bodies[-1])


async def test_h4_m1_an_agent_of_pydantic_ai_gets_files() -> None:
    received: list[Any] = []

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        found = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        received.extend(part.content for part in found)
        return ModelResponse(parts=[TextPart("done") if found else ToolCallPart("picture", {})])

    @tool
    async def picture() -> list[Content]:
        """Return a picture."""
        return [Text(text="see:"), Image(data=PNG, mime_type="image/png")]

    async with Runtime([picture]) as runtime:
        session = await runtime.open("s", "u")
        await Agent(FunctionModel(respond), toolsets=[callboard.toolset(session)]).run("Look.")
    text, image = received[0]
    assert text.startswith("see:")
    assert isinstance(image, BinaryContent)
    assert image.media_type == "image/png"


async def test_h4_m1_content_is_described_in_texts() -> None:
    file = {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"}}
    binary = {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "a/b", "blob": "AAAA"}}
    async with Runtime([look(IMAGE, file, binary)]) as runtime:
        session = await runtime.open("s", "u")
        outcome = await session.call("look", {})
        text = session.result_text(outcome.execution_id)
    assert text == (
        "(image, image/png, 72 bytes; shown to the user)\n\n"
        "(file file:///a.txt)\ninside\n\n"
        "(file file:///b, a/b, 3 bytes; shown to the user)"
    )


@pytest.mark.parametrize(
    "value",
    [
        [],
        "text",
        [{"type": "text", "text": "only text"}],
        [{"type": []}],
        [IMAGE, "text"],
        [{**IMAGE, "more": 1}],
        [{"type": "image"}],
        {"type": "image"},
    ],
)
async def test_h4_m1_other_results_are_json(value: Any) -> None:
    async def function(arguments: dict[str, Any]) -> Any:
        return value

    async with Runtime([dynamic_tool("look", {"type": "object"}, function, description="Look.")]) as runtime:
        session = await runtime.open("s", "u")
        outcome = await session.call("look", {})
        shown = session.result_text(outcome.execution_id)
    assert shown == value if isinstance(value, str) else json.loads(shown) == value
