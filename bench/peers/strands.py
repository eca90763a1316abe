# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
"""Strands: the stream of a decorated function."""

import json
from contextlib import AsyncExitStack
from typing import Any

from strands import tool

from bench.workloads import Order, Receipt, Workload, add, add_later


async def place_order(order: Order) -> Receipt:
    """Place an order.

    Args:
        order: The order to place.
    """
    found: Any = order  # Strands validates a nested model and then hands it over as a dict.
    first = found["lines"][0]
    return Receipt(number=found["number"], city=found["delivery"]["city"], deposit=first["quantity"] * first["price"])


async def cases(stack: AsyncExitStack):
    tools = {"add": tool(add), "place_order": tool(place_order), "add_later": tool(add_later)}

    def stream(work: Workload):
        decorated = tools[work.tool]

        async def unit():
            use = {"toolUseId": "1", "name": work.tool, "input": json.loads(work.arguments)}
            events = [event async for event in decorated.stream(use, {})]
            return events[-1]["tool_result"]["content"][0]["text"]

        return unit

    return {"DecoratedFunctionTool.stream": stream}
