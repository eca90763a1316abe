# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
"""LangChain: a structured tool invoked with a tool call."""

import json
from contextlib import AsyncExitStack

from langchain_core.tools import StructuredTool

from bench.workloads import Workload


async def cases(stack: AsyncExitStack):
    def ainvoke(work: Workload):
        tool = StructuredTool.from_function(coroutine=work.function)

        async def unit():
            call = {"type": "tool_call", "id": "1", "name": work.tool, "args": json.loads(work.arguments)}
            return (await tool.ainvoke(call)).content

        return unit

    return {"StructuredTool.ainvoke": ainvoke}
