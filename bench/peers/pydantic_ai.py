# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
"""Pydantic AI: the toolset alone, and the tool manager that an agent's run goes through."""

from contextlib import AsyncExitStack

from pydantic_ai import RunContext
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage

from bench.workloads import TOOLS, Workload


def as_sent(name: str, value: object) -> str:
    return ToolReturnPart(tool_name=name, content=value, tool_call_id="1").model_response_str()


async def cases(stack: AsyncExitStack):
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=1)
    toolset = FunctionToolset([*TOOLS])
    tools = await toolset.get_tools(context)
    manager = await ToolManager(toolset).for_run_step(context)

    def call_tool(work: Workload):
        tool = tools[work.tool]

        async def unit():
            arguments = tool.args_validator.validate_json(work.arguments)
            return as_sent(work.tool, await toolset.call_tool(work.tool, arguments, context, tool))

        return unit

    def handle_call(work: Workload):
        async def unit():
            return as_sent(work.tool, await manager.handle_call(ToolCallPart(work.tool, work.arguments, "1")))

        return unit

    return {"FunctionToolset.call_tool": call_tool, "ToolManager.handle_call": handle_call}
