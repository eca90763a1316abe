"""The doubles and Pydantic AI's agents: the real SDKs, over real HTTP (C5)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelRequest,
    PartDeltaEvent,
    PartStartEvent,
    RunContext,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ToolDefinition,
    UsageLimits,
)
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import ModelConnectionError, ModelRateLimitError, UsageLimitExceeded
from pydantic_ai.toolsets import AbstractToolset, ExternalToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from callboard.testing import settle
from callboard.testing.providers import (
    AnthropicDouble,
    Break,
    Call,
    Double,
    Failure,
    Gate,
    GeminiDouble,
    OpenAIChatDouble,
    OpenAIResponsesDouble,
    Text,
    Thinking,
    Turn,
    Usage,
)

pytestmark = pytest.mark.anyio

ALL = [AnthropicDouble, OpenAIChatDouble, OpenAIResponsesDouble, GeminiDouble]


@pytest.fixture(params=ALL, ids=lambda kind: kind.__name__)
async def double(request: pytest.FixtureRequest) -> AsyncIterator[Double]:
    async with request.param() as double:
        yield double


def calculator(double: Double) -> Agent[object, str]:
    agent = Agent(double.model(), instructions="Be brief.")

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return agent


async def test_c5_agent_gets_the_scripted_answers(double: Double) -> None:
    double.add(Turn("Hello.", usage=Usage(70, 80)))
    result = await calculator(double).run("Hi")
    assert result.output == "Hello."
    assert (result.usage.input_tokens, result.usage.output_tokens) == (70, 80)
    assert "Be brief." in str(double.bodies[0])


async def test_c5_agent_calls_tools_one_and_many(double: Double) -> None:
    double.add(
        Turn("First.", Call("add", {"a": 1, "b": 2}, id="c1")),
        Turn(Call("add", {"a": 10, "b": 20}, id="c2"), Call("add", {"a": 30, "b": 40}, id="c3")),
        "Done.",
    )
    result = await calculator(double).run("Add.")
    assert (result.output, result.usage.tool_calls, result.usage.requests) == ("Done.", 3, 3)
    said = str(double.bodies[-1])
    assert all(each in said for each in ("c1", "c2", "c3", "3", "30", "70"))
    assert (double.left, double.refusals) == (0, [])


async def test_c5_agent_streams_text_calls_and_results(double: Double) -> None:
    double.add(Turn(Text("I ", "add."), Call("add", {"a": 1, "b": 2}, id="c1")), Turn(Text("It is ", "3.")))
    texts: list[str] = []
    tools: list[str] = []
    async with calculator(double).run_stream_events("Add.") as events:
        async for event in events:
            match event:
                case (
                    PartStartEvent(part=TextPart(content=text))
                    | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
                ):
                    texts.append(text)
                case FunctionToolCallEvent() | FunctionToolResultEvent():
                    tools.append(event.event_kind)
                case _:
                    pass
    assert [text for text in texts if text] == ["I ", "add.", "It is ", "3."]
    assert tools == ["function_tool_call", "function_tool_result"]
    assert [request.stream for request in double.requests] == [True, True]


async def test_c5_thoughts_come_back_to_the_double(double: Double) -> None:
    double.add(Turn(Thinking("Hm."), "Fine.", Call("add", {"a": 1, "b": 2})), "3.")
    result = await calculator(double).run("Add.")
    thoughts = [part for message in result.all_messages() for part in message.parts if isinstance(part, ThinkingPart)]
    shown = not isinstance(double, OpenAIChatDouble)
    assert [thought.content for thought in thoughts] == (["Hm."] if shown else [])
    assert ("Hm." in str(double.bodies[1])) is shown


async def test_c5_agent_sees_failures_as_its_own_errors(double: Double) -> None:
    double.add(Failure(429, "Slower."), Turn(Text("Hel", Break(), "lo")))
    agent = calculator(double)
    with pytest.raises(ModelRateLimitError, match=r"Slower\."):
        await agent.run("Hi")

    async def stream() -> None:
        async with agent.run_stream_events("Hi") as events:
            async for _ in events:
                pass

    with pytest.raises(ModelConnectionError):
        await stream()
    assert len(double.requests) == 2, "nothing was tried again"


async def test_c5_agent_that_is_cancelled_leaves_the_double(double: Double) -> None:
    gate = Gate()
    double.add(Turn(Text("Hel", gate, "lo")))

    async def run() -> None:
        async with calculator(double).run_stream("Hi") as result:
            async for _ in result.stream_text():
                pass

    task = asyncio.create_task(run())
    await gate.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with anyio.fail_after(90):
        await double.exchanges[0].ended.wait()
    assert double.exchanges[0].left


async def test_c5_one_request_can_be_streamed_and_stopped_without_an_agent(double: Double) -> None:
    gate, heard = Gate(), asyncio.Event()
    double.add(Turn(Text("Hel", "lo", gate, "!")))
    async with model_request_stream(double.model(), [ModelRequest.user_text_prompt("Hi")]) as stream:

        async def read() -> None:
            async for event in stream:
                if isinstance(event, PartDeltaEvent):
                    heard.set()

        task = asyncio.create_task(read())
        await heard.wait()
        await settle()  # the agent waits for the next event
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        response = stream.get()
    assert (response.state, response.text) == ("incomplete", "Hello")
    with anyio.fail_after(90):
        await double.exchanges[0].ended.wait()
    assert double.exchanges[0].left


class Plans(AbstractToolset[object]):
    """A toolset in full: what it lists, and what it does."""

    @property
    def id(self) -> str:
        return "plans"

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        definition = ToolDefinition(name="run_plan", description="Run.", parameters_json_schema=SCHEMA)
        validator = SchemaValidator(core_schema.any_schema())
        return {
            "run_plan": ToolsetTool(toolset=self, tool_def=definition, max_retries=1, args_validator=validator),
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: ToolsetTool[object]
    ) -> Any:
        return {"tool": name, "arguments": tool_args, "call_id": ctx.tool_call_id}


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
SIGN = ToolDefinition(name="sign", description="Sign.", parameters_json_schema=SCHEMA)


async def test_c5_custom_toolset_is_called_with_the_id_of_the_call(double: Double) -> None:
    double.add(Turn(Call("run_plan", {"n": 1}, id="c1")), "Done.")
    result = await Agent(double.model(), toolsets=[Plans()]).run("Go.")
    assert result.output == "Done."
    returned = result.all_messages()[2].parts[0]
    assert returned.content == {"tool": "run_plan", "arguments": {"n": 1}, "call_id": "c1"}  # type: ignore[union-attr]


async def test_c5_deferred_call_pauses_a_run_and_its_result_completes_it(double: Double) -> None:
    double.add(Turn(Call("sign", {"n": 1}, id="c1"), Call("run_plan", {"n": 2}, id="c2")), "Signed.")
    agent = Agent(double.model(), toolsets=[ExternalToolset([SIGN]), Plans()], output_type=[str, DeferredToolRequests])
    paused = await agent.run("Go.")
    assert isinstance(paused.output, DeferredToolRequests)
    assert [call.tool_call_id for call in paused.output.calls] == ["c1"]
    results = DeferredToolResults(calls={"c1": "0xabc"})
    result = await agent.run(message_history=paused.all_messages(), deferred_tool_results=results)
    assert result.output == "Signed."
    assert double.refusals == []


@pytest.mark.parametrize(
    ("limits", "requests"),
    [(UsageLimits(request_limit=2), 2), (UsageLimits(tool_calls_limit=1), 2), (UsageLimits(total_tokens_limit=20), 2)],
)
async def test_c5_limits_end_a_run(limits: UsageLimits, requests: int) -> None:
    async with OpenAIChatDouble(lambda _: Turn(Call("run_plan", {"n": 1}))) as double:
        with pytest.raises(UsageLimitExceeded):
            await Agent(double.model(), toolsets=[Plans()]).run("Go.", usage_limits=limits)
        assert len(double.requests) == requests
