"""Callboard: `Registry.call_json`, from JSON to JSON."""

from contextlib import AsyncExitStack

from bench.harness import Unit
from bench.workloads import Workload, add, place_order
from callboard import Registry, tool


async def cases(stack: AsyncExitStack):
    # Unflattened, so that the arguments have the same shape as everybody's.
    registry = Registry([tool(add), tool(flatten=False)(place_order)])

    def call_json(work: Workload) -> Unit:
        name, arguments = work.tool, work.arguments.encode()

        async def unit():
            return await registry.call_json(name, arguments)

        return unit

    return {"Registry.call_json": call_json}
