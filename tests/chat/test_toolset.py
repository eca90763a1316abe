"""A session's tools in an agent of Pydantic AI (C1, X12)."""

from typing import Annotated, Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import ModelRetry, ToolFailed, UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

import callboard
from callboard import Runtime, Session, tool

from .scripted import TOOLS, gate

pytestmark = pytest.mark.anyio

ran: list[int] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool
async def count(step: Annotated[int, "How far"] = 1) -> int:
    """Count."""
    ran.append(step)
    return len(ran)


@tool
async def picky(word: Annotated[str, "A word"]) -> str:
    """Refuse words."""
    ran.append(1)
    raise ModelRetry(f"Not {word}: use another word.")


def returns(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


async def test_c1_a_call_id_that_is_used_again_in_another_run_is_another_call() -> None:
    async with Runtime([count]) as runtime:
        session = await runtime.open("s", "u")
        agent = Agent(TestModel(call_tools=["count"]), toolsets=[callboard.toolset(session)])
        outputs = [(await agent.run("go")).output for _ in range(3)]
        assert outputs == ['{"count":1}', '{"count":2}', '{"count":3}']
        assert len({record.call_id for record in await session.history()}) == 3


async def test_c1_a_call_id_that_is_used_again_in_another_step_is_another_call() -> None:
    def repeats(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 4:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("count", {"step": len(messages)}, "functions.count:0")])

    async with Runtime([count]) as runtime:
        session = await runtime.open("s", "u")
        await Agent(FunctionModel(repeats), toolsets=[callboard.toolset(session)]).run("go")
        assert ran == [1, 3]


async def test_x10_a_call_that_is_made_again_in_its_run_runs_once() -> None:
    async with Runtime([count]) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        ctx: RunContext[Any] = RunContext(
            deps=None, model=TestModel(), usage=RunUsage(), run_id="r1", run_step=1, tool_call_id="c1"
        )
        made = (await tools.get_tools(ctx))["count"]
        assert [await tools.call_tool("count", {}, ctx, made) for _ in range(3)] == [1, 1, 1]
        assert len(ran) == 1


async def test_c1_a_retry_that_a_tool_asks_for_reaches_the_model_as_one() -> None:
    async with Runtime([picky]) as runtime:
        session = await runtime.open("s", "u")
        seen: list[ToolReturnPart] = []

        def tries(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            seen[:] = returns(messages)
            if len(seen) == 2:
                return ModelResponse(parts=[TextPart("I give up.")])
            return ModelResponse(parts=[ToolCallPart("picky", {"word": "no"})])

        agent = Agent(FunctionModel(tries), retries=2, toolsets=[callboard.toolset(session)])
        assert (await agent.run("go")).output == "I give up."
        assert [part.outcome for part in seen] == ["retried", "retried"]
        assert "Not no: use another word." in str(seen[0].content)


async def returned(session: Session, name: str) -> Any:
    """Let an agent call a tool of a session. Returns what the tool returns to it."""
    agent = Agent(TestModel(call_tools=[name]), toolsets=[callboard.toolset(session)])
    [part] = returns((await agent.run("go")).all_messages())
    return part.content


async def test_x12_a_long_result_is_cut_for_an_agent() -> None:
    numbers = list(range(100))

    @tool(result_limit=30)
    async def listed() -> list[int]:
        """List numbers."""
        return numbers

    async with Runtime([listed, listed.with_(name="whole", result_limit=1_000)]) as runtime:
        session = await runtime.open("s", "u")
        text = await returned(session, "listed")
        [record] = await session.history()
        assert text == session.result_text(record.id)
        assert text.startswith("[0,1,2,3,4")
        assert f'Read on with task_result: execution_id "{record.id}", offset 20' in text
        assert await returned(session, "whole") == numbers, "a short result stays data"


async def test_x12_a_result_is_rendered_for_the_channel_of_an_agents_session() -> None:
    @tool(renderers={"voice": lambda value: f"It is {value['degrees']} degrees."})
    async def weather() -> dict[str, int]:
        """Tell the weather."""
        return {"degrees": 7}

    async with Runtime([weather]) as runtime:
        spoken = await runtime.open("spoken", "u", channel="voice")
        assert await returned(spoken, "weather") == "It is 7 degrees."
        assert await returned(await runtime.open("s", "u"), "weather") == {"degrees": 7}


async def test_x12_an_acknowledgement_for_an_agent_is_data() -> None:
    async with Runtime([TOOLS[0].with_(name="short", mode="background", result_limit=1)]) as runtime:
        session = await runtime.open("s", "u")
        assert (await returned(session, "short"))["status"] == "started"


async def test_c1_the_models_own_conversation_reads_what_a_tool_asks_for_too() -> None:
    async with Runtime([picky]) as runtime:
        session = await runtime.open("s", "u")
        outcome = await session.call("picky", {"word": "no"})
        assert outcome.error is not None
        assert outcome.error.to_model() == {"category": "validation", "message": "Not no: use another word."}


async def test_c1_the_message_of_a_tool_failure_reaches_the_agent() -> None:
    @tool
    async def broken() -> str:
        """Fail."""
        raise ToolFailed("There is no such account.")

    async with Runtime([broken]) as runtime:
        session = await runtime.open("s", "u")
        agent = Agent(TestModel(call_tools=["broken"]), toolsets=[callboard.toolset(session)])
        [part] = returns((await agent.run("go")).all_messages())
        assert (part.outcome, part.content) == ("failed", "There is no such account.")


@pytest.mark.parametrize("retries", [0, 1, 4])
async def test_c1_the_agent_sets_the_number_of_retries(retries: int) -> None:
    def insists(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("picky", {"word": "no"})])

    async with Runtime([picky]) as runtime:
        session = await runtime.open("s", "u")
        agent = Agent(FunctionModel(insists), retries=retries, toolsets=[callboard.toolset(session)])
        with pytest.raises(UnexpectedModelBehavior):
            await agent.run("go")
        assert len(ran) == retries + 1


async def test_c1_agents_are_given_the_schemas_of_results() -> None:
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        model = TestModel(call_tools=[])
        agent = Agent(model, toolsets=[callboard.toolset(session).include_return_schemas()])
        await agent.run("go")
        assert model.last_model_request_parameters is not None
        shown = {each.name: each for each in model.last_model_request_parameters.function_tools}
        assert '"type": "integer"' in str(shown["add"].description) + str(shown["add"].return_schema).replace("'", '"')
        assert shown["build"].return_schema is None  # it is answered by an acknowledgement


async def _shown(session: Session) -> set[str]:
    model = TestModel(call_tools=[])
    await Agent(model, toolsets=[callboard.toolset(session)]).run("go")
    assert model.last_model_request_parameters is not None
    return {each.name for each in model.last_model_request_parameters.function_tools}


async def test_m4_agents_can_manage_background_work_without_a_model_of_the_runtime() -> None:
    async with Runtime(TOOLS) as runtime:
        one, other = await runtime.open("s", "u"), await runtime.open("other", "v")
        assert {"task_status", "task_list", "task_result", "cancel_task", "build"} <= await _shown(one)
        assert await _shown(one) == await _shown(other)
        started = await one.call("build", {"what": "a"})
        gate("a").set()
        await one.result(started.execution_id)
        arguments = {"execution_id": started.execution_id}
        assert (await one.call("task_result", arguments)).value == "built a"
        refused = await other.call("task_result", arguments)
        assert refused.error is not None
        assert refused.error.category == "not_found"
