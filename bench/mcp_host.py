"""One MCP server of a peer, measured from inside: over HTTP, driven by `mcp_calls`, or with a client in memory.

`python -m bench.mcp_host serve PEER STORE TOOLS [rows|records]` prints its port, and serves until it is killed.
`/bench` has its CPU time and the time of its commits so far. The last argument makes the tool of a peer commit.
`python -m bench.mcp_host memory PEER ERA` reads numbers of calls, and prints the CPU seconds of one of them.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any

from bench.mcp_commits import BareRows, Records, around
from bench.workloads import AWAITING, add, add_later

FIGURES = "/bench"
SLOWLY = 0.4
"""Seconds of a slow call."""
SOURCE = """
async def add_{number}(a: int, b: int) -> int:
    '''Add, in the way of number {number}.

    Args:
        a: The first summand.
        b: The second summand.
    '''
    return a + b
"""


async def add_slowly(a: int, b: int) -> int:
    """Add two integers, after the time that a request to another server takes.

    Args:
        a: The first summand.
        b: The second summand.
    """
    await asyncio.sleep(SLOWLY)
    return a + b


def functions(count: int) -> Sequence[Callable[..., Any]]:
    """Return the tools of the calls, and others for the listing."""
    made: list[Callable[..., Any]] = [add, add_later, add_slowly]
    for number in range(2, count):
        scope: dict[str, Any] = {}
        exec(SOURCE.format(number=number), scope)
        made.append(scope[f"add_{number}"])
    return made


def _http_server(app: Any) -> Any:
    import uvicorn

    return uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, lifespan="on"))


async def serve(peer: str, store: str, count: int, committed: str | None = None) -> None:
    async with AsyncExitStack() as stack:
        module = import_module(f"bench.peers.{peer}")
        tools, commits = functions(count), None
        if committed is not None:  # a server without a store of its own
            commits = BareRows(store) if committed == "rows" else Records(store)
            await commits.open()
            tools = [around(commits, each) if each is add_later else each for each in tools]
        app = await module.mcp_application(stack, tools, store)
        commits = commits or getattr(getattr(app, "state", None), "commits", None)

        async def measured(scope: Any, receive: Any, send: Any) -> None:
            if scope.get("path") != FIGURES:
                await app(scope, receive, send)
                return
            committing = 0.0 if commits is None else sum(commits.seconds)
            body = json.dumps({"cpu": time.process_time(), "commits": committing}).encode()
            length = (b"content-length", str(len(body)).encode())
            await send({"type": "http.response.start", "status": 200, "headers": [length]})
            await send({"type": "http.response.body", "body": body})

        server = module.mcp_http_server(app) if hasattr(module, "mcp_http_server") else _http_server(app)
        server.config.app = measured
        server.config.port, server.config.timeout_keep_alive = 0, 600
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 (as uvicorn polls)
            await asyncio.sleep(0.01)
        print(json.dumps({"port": server.servers[0].sockets[0].getsockname()[1]}), flush=True)
        await serving


async def memory(peer: str, era: str) -> None:
    """Make as many calls as each line says, and print the CPU seconds of one, client and server together."""
    from mcp import Client

    arguments = json.loads(AWAITING.arguments)
    async with AsyncExitStack() as stack:
        server = await import_module(f"bench.peers.{peer}").mcp_server(stack, functions(2), "memory://")
        client = await stack.enter_async_context(Client(server, mode=era))
        await client.list_tools()
        AWAITING.check((await client.call_tool(AWAITING.tool, arguments)).model_dump_json())
        for line in sys.stdin:
            started = time.process_time()
            for _ in range(int(line)):
                await client.call_tool(AWAITING.tool, arguments)
            print((time.process_time() - started) / int(line), flush=True)


if __name__ == "__main__":
    command, *given = sys.argv[1:]
    if command == "serve":
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(given[0], given[1], int(given[2]), *given[3:]))
    else:
        asyncio.run(memory(given[0], given[1]))
