# pyright: basic, reportMissingImports=false
"""An agent of the OpenAI Agents SDK with our server: `python openai_agents_client.py URL`.

The client of MCP is in this package. The package `openai` has only types for servers that OpenAI connects to.
"""

import asyncio
import sys

from agents import Agent, Runner, set_tracing_disabled
from agents.items import ModelResponse
from agents.mcp import MCPServerStreamableHttp
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class Scripted(Model):
    """Calls one tool, then tells its result."""

    async def get_response(self, system_instructions, input, model_settings, tools, *args, **kwargs):
        names = {tool.name for tool in tools}
        assert {"add", "pay", "build"} <= names, names
        returned = (
            [] if isinstance(input, str) else [each for each in input if each.get("type") == "function_call_output"]
        )
        if not returned:
            call = ResponseFunctionToolCall(
                arguments='{"a": 2, "b": 3}', call_id="call-1", name="add", type="function_call"
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = ResponseOutputText(annotations=[], text=str(returned[0]["output"]), type="output_text")
        said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


async def main():
    set_tracing_disabled(True)
    async with MCPServerStreamableHttp({"url": sys.argv[1]}, client_session_timeout_seconds=30) as server:
        direct = await server.call_tool("add", {"a": 2, "b": 3})
        assert direct.structured_content == {"total": 5}, direct
        agent = Agent(name="test", model=Scripted(), mcp_servers=[server])
        output = (await Runner.run(agent, "Add.")).final_output
    assert "total" in output and "5" in output, output
    print("passed agent")


asyncio.run(main())
