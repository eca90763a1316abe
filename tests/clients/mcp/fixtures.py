"""The tools, prompts and resources that the conformance suite of MCP calls, as ordinary tools of Callboard."""

import asyncio
import base64
from typing import Annotated, Any

from pydantic import BaseModel, Field

from callboard import Registry, ToolContext, ToolError, dynamic_tool, tool
from callboard.content import Audio, BinaryResource, Content, Embedded, Image, Text, TextResource
from callboard.protocols.mcp.client_tools import roots_tool, sampling_tool

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
STEP = 0.05
"""Seconds between two reports, as the suite asks for."""

registry = Registry(strict=False)


def add(function: Any) -> Any:
    registry.register(function)
    return function


# Content


@add
@tool
async def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@add
@tool
async def test_image_content() -> Image:
    """Return an image."""
    return Image.of(PNG, "image/png")


@add
@tool
async def test_audio_content() -> Audio:
    """Return a sound."""
    return Audio.of(WAV, "audio/wav")


@add
@tool
async def test_embedded_resource() -> Embedded:
    """Return a resource."""
    resource = TextResource(uri="test://embedded-resource", text="This is an embedded resource content.")
    return Embedded(resource=resource)


@add
@tool
async def test_multiple_content_types() -> list[Content]:
    """Return content of several types."""
    data = TextResource(
        uri="test://mixed-content-resource", mime_type="application/json", text='{"test":"data","value":123}'
    )
    return [Text(text="Multiple content types test:"), Image.of(PNG, "image/png"), Embedded(resource=data)]


# Reports and errors


async def _report(ctx: ToolContext) -> None:
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.progress("log", message=message)
        await asyncio.sleep(STEP)


@add
@tool
async def test_tool_with_logging(ctx: ToolContext) -> str:
    """Report three times."""
    await _report(ctx)
    return "done"


@add
@tool
async def test_logging_tool(ctx: ToolContext) -> str:
    """Report three times."""
    await _report(ctx)
    return "done"


@add
@tool
async def test_tool_with_progress(ctx: ToolContext) -> str:
    """Report progress."""
    for fraction in (0.0, 0.5, 1.0):
        await ctx.progress("step", fraction)
        await asyncio.sleep(STEP)
    return "done"


@add
@tool
async def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@add
@tool(inline_budget=0.1, tags=["mcp-polled"])
async def test_reconnection() -> str:
    """Take longer than the client stays connected."""
    await asyncio.sleep(0.5)
    return "Reconnection test completed successfully."


@add
@tool(tags=["mcp-sampling-required"])
async def test_missing_capability() -> str:
    """Need a client with a model."""
    return "done"


@add
@tool
async def test_trigger_tool_change() -> str:
    """Change the list of tools."""
    registry.replace(test_simple_text)
    return "changed"


@add
@tool
async def test_trigger_prompt_change() -> str:
    """Change the list of prompts."""
    registry.replace(test_simple_prompt)
    return "changed"


# Schemas

JSON_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


async def _echo(arguments: dict[str, Any]) -> Any:
    return arguments


registry.register(
    dynamic_tool("json_schema_2020_12_tool", JSON_SCHEMA, _echo, description="Tool with JSON Schema 2020-12 features")
)
registry.register(
    dynamic_tool(
        "test_custom_header",
        {
            "type": "object",
            "properties": {
                "region": {"type": "string", "description": "The region", "x-mcp-header": "Region"},
                "count": {"type": "integer", "description": "How many", "x-mcp-header": "Count"},
            },
        },
        _echo,
        description="Tool with arguments that are repeated in headers",
    )
)

# People and the client's model


class Name(BaseModel):
    name: str = Field(description="The name")


class Confirmation(BaseModel):
    ok: bool = Field(description="Whether it is right")


class Confirm(BaseModel):
    confirm: bool = Field(description="Whether to go on")


class Colour(BaseModel):
    color: str = Field(description="The colour")


class UserContext(BaseModel):
    context: str = Field(description="The context")


class Contact(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: str = Field("active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = True


def _titled(*pairs: tuple[str, str]) -> Any:
    return [{"const": value, "title": title} for value, title in pairs]


class Enums(BaseModel):
    untitledSingle: str = Field(json_schema_extra={"enum": ["option1", "option2", "option3"]})
    titledSingle: str = Field(
        json_schema_extra={
            "oneOf": _titled(("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option"))
        }
    )
    legacyEnum: str = Field(
        json_schema_extra={
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        }
    )
    untitledMulti: list[str] = Field(
        json_schema_extra={"items": {"type": "string", "enum": ["option1", "option2", "option3"]}}
    )
    titledMulti: list[str] = Field(
        json_schema_extra={
            "items": {"anyOf": _titled(("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third"))}
        }
    )


def question(name: str, answer: Any) -> None:
    @tool(name=name, answer=answer)
    async def ask(message: Annotated[str, "The question"]) -> None:
        """Ask the user."""

    registry.register(ask)


for _name, _answer in {
    "user_name": Name,
    "confirm": Confirmation,
    "confirm_deletion": Confirm,
    "step1": Name,
    "step2": Colour,
    "user_context": UserContext,
    "contact": Contact,
    "defaults": Defaults,
    "enums": Enums,
}.items():
    question(_name, _answer)
for _name in ("capital_question", "greeting"):
    registry.register(sampling_tool(_name))
registry.register(roots_tool("client_roots"))


async def _ask(ctx: ToolContext, name: str, message: str) -> Any:
    return await ctx.call(name, {"message": message})


def _text(completion: Any) -> str:
    content = completion["content"]
    return str(content["text"] if isinstance(content, dict) else content)


@add
@tool
async def test_sampling(ctx: ToolContext, prompt: Annotated[str, "The prompt"]) -> str:
    """Ask the client's model."""
    return f"LLM response: {_text(await ctx.call('greeting', {'prompt': prompt, 'max_tokens': 100}))}"


@add
@tool
async def test_elicitation(ctx: ToolContext, message: Annotated[str, "The message"]) -> str:
    """Ask the user."""
    return f"User response: {await _ask(ctx, 'contact', message)}"


@add
@tool
async def test_elicitation_sep1034_defaults(ctx: ToolContext) -> str:
    """Ask with defaults."""
    return f"Elicitation completed: {await _ask(ctx, 'defaults', 'Please review')}"


@add
@tool
async def test_elicitation_sep1330_enums(ctx: ToolContext) -> str:
    """Ask with choices."""
    return f"Elicitation completed: {await _ask(ctx, 'enums', 'Please choose')}"


async def _hello(ctx: ToolContext) -> str:
    return f"Hello, {(await _ask(ctx, 'user_name', 'What is your name?'))['name']}!"


@add
@tool
async def test_streaming_elicitation(ctx: ToolContext) -> str:
    """Ask the user."""
    return await _hello(ctx)


@add
@tool
async def test_input_required_result_elicitation(ctx: ToolContext) -> str:
    """Ask the user."""
    return await _hello(ctx)


@add
@tool
async def test_input_required_result_sampling(ctx: ToolContext) -> str:
    """Ask the client's model."""
    asked = {"prompt": "What is the capital of France?", "max_tokens": 100}
    return _text(await ctx.call("capital_question", asked))


@add
@tool
async def test_input_required_result_list_roots(ctx: ToolContext) -> str:
    """Ask for the client's folders."""
    return str((await ctx.call("client_roots"))["roots"])


@add
@tool
async def test_input_required_result_request_state(ctx: ToolContext) -> str:
    """Ask the user, and check the state."""
    await _ask(ctx, "confirm", "Please confirm")
    return "state-ok"


@add
@tool
async def test_input_required_result_tampered_state(ctx: ToolContext) -> str:
    """Ask the user, and check the state."""
    await _ask(ctx, "confirm", "Please confirm")
    return "state-ok"


@add
@tool
async def test_input_required_result_multiple_inputs(ctx: ToolContext) -> str:
    """Ask for three things at once."""
    name, greeting, roots = await asyncio.gather(
        _ask(ctx, "user_name", "What is your name?"),
        ctx.call("greeting", {"prompt": "Generate a greeting", "max_tokens": 50}),
        ctx.call("client_roots"),
    )
    return f"{_text(greeting)} {name['name']}: {roots['roots']}"


@add
@tool
async def test_input_required_result_multi_round(ctx: ToolContext) -> str:
    """Ask twice, one after the other."""
    name = await _ask(ctx, "step1", "Step 1: What is your name?")
    colour = await _ask(ctx, "step2", "Step 2: What is your favorite color?")
    return f"{name['name']} likes {colour['color']}"


@add
@tool
async def test_input_required_result_capabilities(ctx: ToolContext) -> str:
    """Ask for what the client can do."""
    await asyncio.gather(
        _ask(ctx, "user_name", "What is your name?"),
        ctx.call("greeting", {"prompt": "Generate a greeting", "max_tokens": 50}),
    )
    return "done"


# Prompts


@add
@tool(as_prompt=True)
async def test_simple_prompt() -> str:
    """A simple prompt."""
    return "This is a simple prompt for testing."


@add
@tool(as_prompt=True)
async def test_prompt_with_arguments(
    arg1: Annotated[str, "First test argument"], arg2: Annotated[str, "Second test argument"]
) -> str:
    """A prompt with arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@add
@tool(as_prompt=True)
async def test_prompt_with_embedded_resource(
    resourceUri: Annotated[str, "URI of the resource to embed"],
) -> list[Content]:
    """A prompt with a resource."""
    resource = TextResource(uri=resourceUri, text="Embedded resource content for testing.")
    return [Embedded(resource=resource), Text(text="Please process the embedded resource above.")]


@add
@tool(as_prompt=True)
async def test_prompt_with_image() -> list[Content]:
    """A prompt with an image."""
    return [Image.of(PNG, "image/png"), Text(text="Please analyze the image above.")]


@add
@tool(as_prompt=True)
async def test_input_required_result_prompt(ctx: ToolContext) -> str:
    """A prompt that asks the user."""
    return str(await _ask(ctx, "user_context", "What context should the prompt use?"))


# Resources


@add
@tool(resource="test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@add
@tool(resource="test://static-binary", mime_type="image/png")
async def static_binary() -> BinaryResource:
    """An image."""
    return BinaryResource.of("test://static-binary", PNG, "image/png")


@add
@tool(resource="test://template/{id}/data", mime_type="application/json")
async def template_data(id: Annotated[str, "The id"]) -> dict[str, Any]:
    """Data by id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@add
@tool(resource="test://watched-resource", mime_type="text/plain")
async def watched_resource() -> str:
    """A text that changes."""
    return "Watched."


# Tasks


@add
@tool
async def greet(name: Annotated[str, "The name"]) -> str:
    """Greet."""
    return f"Hello, {name}!"


@add
@tool(mode="background")
async def slow_compute(seconds: Annotated[float, "How long"], label: Annotated[str, "A name"] = "") -> str:
    """Take some time."""
    await asyncio.sleep(seconds)
    return f"computed {label}"


@add
@tool(mode="background", tags=["mcp-task-required"])
async def failing_job() -> str:
    """Fail after a moment."""
    await asyncio.sleep(0.2)
    raise ToolError("The job failed.")


@add
@tool(mode="background")
async def protocol_error_job() -> str:
    """Fail for a reason that is not the tool's."""
    raise ToolError("The system failed.", category="unknown")


@add
@tool(mode="background")
async def confirm_delete(ctx: ToolContext, filename: Annotated[str, "The file"]) -> str:
    """Ask before a file is deleted."""
    answer = await _ask(ctx, "confirm_deletion", f"Delete {filename}?")
    return f"deleted {filename}" if answer["confirm"] else "kept"


@add
@tool(mode="background")
async def multi_input(ctx: ToolContext) -> str:
    """Ask for two things at once."""
    first, second = await asyncio.gather(_ask(ctx, "user_name", "First?"), _ask(ctx, "user_name", "Second?"))
    return f"{first['name']} and {second['name']}"


@add
@tool(inline_budget=0.1, tags=["mcp-task-required"])
async def test_tool_with_task(ctx: ToolContext) -> str:
    """Ask the user, then take some time."""
    greeting = await _hello(ctx)
    await asyncio.sleep(0.5)
    return greeting
