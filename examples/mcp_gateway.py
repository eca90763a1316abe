"""A gateway before an MCP server: a person approves a destructive tool before the call reaches the server.

Run `python mcp_gateway.py`, and answer in the terminal. `python mcp_gateway.py server` is the MCP server, a program
that knows nothing of approvals; the gateway starts it. Your own servers are commands or URLs in the same place, or in a
file: `callboard serve --mcp-config servers.json` offers their tools to people and to other MCP clients, with the same
rules.
"""

import asyncio
import sys

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

from callboard import OpenRequest, Runtime, mcp_toolset

files = {"plan.txt": "Build the bridge.", "draft.txt": "Buy a boat?"}
server = MCPServer("files", log_level="ERROR")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_files() -> list[str]:
    """List the files."""
    return sorted(files)


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def delete_file(name: str) -> str:
    """Delete a file."""
    del files[name]
    return f"{name} is deleted"


def ask(request: OpenRequest) -> bool:
    """Show a request to the person at the terminal, and read the decision."""
    print(f"{request.tool} wants to run with {request.payload}.")
    return input("Approve? [y/n] ").strip().lower() == "y"


async def main() -> None:
    gateway = mcp_toolset(
        [sys.executable, __file__, "server"],
        namespace="files",
        approval=["delete_file"],  # named as the server does; True for all of its tools
    )
    async with Runtime([gateway]) as runtime:
        session = await runtime.open("chat_1", user_id="ann")
        print("before:", (await session.call("files_list_files")).value)

        outcome = await session.call("files_delete_file", {"name": "draft.txt"})
        print(outcome.status)  # waiting: the server has not heard of it

        [request] = await session.requests()
        approved = await asyncio.to_thread(ask, request)
        answer = {"approved": True} if approved else {"approved": False, "reason": "Keep it."}
        await session.answer(request.id, answer, arguments_hash=request.arguments_hash)

        outcome = await session.result(request.execution_id)
        print(outcome.value if outcome.error is None else outcome.error.message)
        print("after:", (await session.call("files_list_files")).value)


if __name__ == "__main__":
    if sys.argv[1:] == ["server"]:
        server.run()
    else:
        asyncio.run(main())
