"""Callboard: `Registry.call_json`, from JSON to JSON, and `session.call`, the same with a call's whole life."""

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
