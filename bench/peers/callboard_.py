"""Callboard: `Registry.call_json`, from JSON to JSON, and `session.call`, the same with a call's whole life."""

import time
from contextlib import AsyncExitStack

from bench.harness import Unit
from bench.workloads import Workload, add, add_later, place_order
from callboard import Registry, Runtime, tool


async def cases(stack: AsyncExitStack):
    # Unflattened, so that the arguments have the same shape for all peers.
    registry = Registry([tool(add), tool(flatten=False)(place_order), tool(add_later)])
    runtime = await stack.enter_async_context(Runtime(registry))
    session = await runtime.open("bench", user_id="bench")

    def call_json(work: Workload) -> Unit:
        name, arguments = work.tool, work.arguments.encode()

        async def unit():
            return await registry.call_json(name, arguments)

        return unit

    def session_call(work: Workload) -> Unit:
        name, arguments = work.tool, work.arguments.encode()

        async def unit():
            return (await session.call(name, arguments)).result_json

        return unit

    return {"Registry.call_json": call_json, "session.call": session_call}


async def mcp_server(stack: AsyncExitStack, functions, store):
    """Return the server of `callboard mcp`, for a client in memory."""
    from callboard.protocols.mcp.connections import Connections
    from callboard.protocols.mcp.server import McpServer
    from callboard.protocols.mcp.stdio import RuntimeSessions

    runtime = await stack.enter_async_context(Runtime([tool(each) for each in functions], store=store))
    return McpServer(Connections(RuntimeSessions(runtime, "bench")))


async def mcp_application(stack: AsyncExitStack, functions, store):
    """Return the application of `callboard serve`, with the endpoint `/mcp`."""
    from callboard.server.app import create_app
    from callboard.server.gc_tuning import rare_collections
    from callboard.server.identity import IdentityConfig, guard
    from callboard.telemetry import measure

    runtime = await stack.enter_async_context(Runtime([tool(each) for each in functions], store=store))
    metrics = stack.enter_context(measure(runtime))
    stack.enter_context(rare_collections())
    config = IdentityConfig(rate_limit=0)
    app = create_app(
        runtime,
        guard=lambda app: guard(app, config, runtime.store, clock=runtime.clock),
        metrics=metrics.render,
    )
    app.state.commits = WaitsForStore() if runtime.store.durable else None
    return app


class WaitsForStore:
    """The time in which calls wait until they are stored, measured in the whole process."""

    def __init__(self) -> None:
        from callboard.sessions.store_ledger import StoreLedger

        self.seconds: list[float] = []
        settle = StoreLedger.settle

        async def measured(ledger: StoreLedger) -> None:
            started = time.perf_counter()
            await settle(ledger)
            self.seconds.append(time.perf_counter() - started)

        StoreLedger.settle = measured


def mcp_http_server(app):
    """Return the HTTP server of `callboard serve`."""
    from callboard.server.uvicorn_server import create_server

    return create_server(app)
