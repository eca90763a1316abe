"""The tools of the servers under attack."""

import asyncio
import re
from typing import Annotated

from callboard import Registry, ToolContext, tool
from callboard.toolkits.http import Guard, fetch_tools

HELD = re.compile(r"(a|a)*b")
"""Takes twice as long for each additional `a`, and holds the interpreter lock meanwhile."""


@tool(idempotent=True)
async def tick() -> str:
    """Wait for a millisecond."""
    await asyncio.sleep(0.001)
    return "tock"


@tool(mode="background")
async def work(ctx: ToolContext) -> str:
    """Run until it is cancelled. It must not run twice."""
    await ctx.progress("working")
    await asyncio.Event().wait()
    return "never"


@tool(mode="background", idempotent=True)
async def repeatable() -> str:
    """Run until it is cancelled. It may run twice."""
    await asyncio.Event().wait()
    return "never"


@tool(mode="human")
async def pay(amount: Annotated[int, "The amount"]) -> str:
    """Pay an amount, after approval."""
    return f"paid {amount}"


@tool
async def large(size: Annotated[int, "The number of characters"]) -> str:
    """Return a long text."""
    return "x" * size


@tool(mode="background")
def hold_interpreter(length: Annotated[int, "The number of characters to match"]) -> str:
    """Hold the interpreter lock with a slow regular expression."""
    return "found" if HELD.match("a" * length) else "not found"


http_fetch, _ = fetch_tools(guard=Guard(allow=["127.0.0.0/8"]))
"""May reach loopback addresses, where the tests have their servers."""

registry = Registry([tick, work, repeatable, pay, large, hold_interpreter, http_fetch])
