# pyright: basic, reportMissingImports=false
"""An agent of Pydantic AI whose toolset is our server: `python pydantic_ai_client.py URL`."""

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def model(messages, info):
    """Call two tools, then tell their results."""
    names = {tool.name for tool in info.function_tools}
    assert {"add", "pay", "build"} <= names, names
    returned = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if not returned:
        return ModelResponse([ToolCallPart("add", {"a": 2, "b": 3}), ToolCallPart("pay", {"amount": 5})])
    return ModelResponse([TextPart(" ".join(f"{part.tool_name}={part.content}" for part in returned))])


async def approve(message, response_type, params, context):
    return {"approved": True}


async def main():
    agent = Agent(FunctionModel(model), toolsets=[MCPToolset(sys.argv[1], elicitation_handler=approve)])
    async with agent:
        output = (await agent.run("Add and pay.")).output
    assert output == "add={'total': 5} pay=paid 5", output
    print("passed agent")


asyncio.run(main())
