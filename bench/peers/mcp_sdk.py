# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
"""The official MCP SDK: a client connected to a server in memory."""

import json
from contextlib import AsyncExitStack

from mcp import Client
from mcp.server import MCPServer

from bench.workloads import TOOLS, Workload


async def cases(stack: AsyncExitStack):
    server = MCPServer("bench")
    for function in TOOLS:
        server.add_tool(function)
    client = await stack.enter_async_context(Client(server))
    await client.list_tools()  # The client checks results against the schemas that it has seen.

    def call_tool(work: Workload):
        async def unit():
            result = await client.call_tool(work.tool, json.loads(work.arguments))
            return result.content[0].text

        return unit

    return {"Client.call_tool, in memory": call_tool}


async def mcp_server(stack: AsyncExitStack, functions, store):
    """Return the server, for a client in memory."""
    return _server(functions)


async def mcp_application(stack: AsyncExitStack, functions, store):
    """Return the ASGI application, with the endpoint `/mcp`."""
    return _server(functions).streamable_http_app()


def _server(functions) -> MCPServer:
    server = MCPServer("bench")
    for function in functions:
        server.add_tool(function)
    return server
