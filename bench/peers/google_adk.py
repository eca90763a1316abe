# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
"""Google ADK: a function tool within an invocation."""

import json
from contextlib import AsyncExitStack

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool
from google.adk.tools.tool_context import ToolContext
from pydantic_core import to_json

from bench.workloads import Workload


async def cases(stack: AsyncExitStack):
    sessions = InMemorySessionService()
    invocation = InvocationContext(
        invocation_id="1",
        agent=LlmAgent(name="bench", model="none"),
        session=await sessions.create_session(app_name="bench", user_id="1"),
        session_service=sessions,
    )

    def run_async(work: Workload):
        tool = FunctionTool(work.function)

        async def unit():
            context = ToolContext(invocation, function_call_id="1")
            return to_json(await tool.run_async(args=json.loads(work.arguments), tool_context=context))

        return unit

    return {"FunctionTool.run_async": run_async}
