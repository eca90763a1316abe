# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
"""LangGraph: the node that runs the calls of a model's message, outside a graph."""

import json
from contextlib import AsyncExitStack

from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime

from bench.workloads import TOOLS, Workload


async def cases(stack: AsyncExitStack):
    node = ToolNode([StructuredTool.from_function(coroutine=function) for function in TOOLS])
    config = {"configurable": {"__pregel_runtime": Runtime()}}  # What a graph would hand to its node.

    def ainvoke(work: Workload):
        async def unit():
            call = {"type": "tool_call", "id": "1", "name": work.tool, "args": json.loads(work.arguments)}
            state = await node.ainvoke({"messages": [AIMessage(content="", tool_calls=[call])]}, config)
            return state["messages"][-1].content

        return unit

    return {"ToolNode.ainvoke": ainvoke}
