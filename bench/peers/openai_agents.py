# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
"""OpenAI Agents SDK: the function that its runner awaits for each call."""

from contextlib import AsyncExitStack

from agents import function_tool
from agents.tool_context import ToolContext

from bench.workloads import Workload


async def cases(stack: AsyncExitStack):
    def on_invoke_tool(work: Workload):
        tool = function_tool(work.function)

        async def unit():
            context = ToolContext(context=None, tool_name=work.tool, tool_call_id="1", tool_arguments=work.arguments)
            return str(await tool.on_invoke_tool(context, work.arguments))

        return unit

    return {"FunctionTool.on_invoke_tool": on_invoke_tool}
