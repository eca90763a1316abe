# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
"""FastMCP: the server's own call, and a client connected to it in memory."""

import json
from contextlib import AsyncExitStack

from fastmcp import Client, FastMCP

from bench.workloads import TOOLS, Workload


async def cases(stack: AsyncExitStack):
    server = FastMCP("bench")
    for function in TOOLS:
        server.tool(function)
    client = await stack.enter_async_context(Client(server))

    def through(caller):
        def path(work: Workload):
            async def unit():
                result = await caller.call_tool(work.tool, json.loads(work.arguments))
                return result.content[0].text

            return unit

        return path

    return {"server.call_tool": through(server), "Client.call_tool, in memory": through(client)}


async def mcp_server(stack: AsyncExitStack, functions, store):
    """Return the SDK's server, for a client in memory."""
    return _server(functions)._mcp_server


async def mcp_application(stack: AsyncExitStack, functions, store):
    """Return the ASGI application, with the endpoint `/mcp`."""
    return _server(functions).http_app(path="/mcp")


def _server(functions) -> FastMCP:
    server = FastMCP("bench")
    for function in functions:
        server.tool(function)
    return server
