"""The tools of the servers under attack."""

import asyncio
import re
from typing import Annotated

from callboard import Registry, ToolContext, tool
from callboard.toolkits.http import http_fetch

HELD = re.compile(r"(a|a)*b")
"""Takes twice as long for each further `a`, and holds the interpreter lock while it looks."""


@tool(idempotent=True)
async def tick() -> str:
    """Wait for a millisecond."""
    await asyncio.sleep(0.001)
    return "tock"


@tool(mode="background")
async def work(ctx: ToolContext) -> str:
    """Run until it is cancelled. Must not run twice."""
    await ctx.progress("working")
    await asyncio.Event().wait()
    return "never"


@tool(mode="background", idempotent=True)
async def repeatable() -> str:
    """Run until it is cancelled. May run twice."""
    await asyncio.Event().wait()
    return "never"


@tool(mode="human")
async def pay(amount: Annotated[int, "How much"]) -> str:
    """Pay an amount, after approval."""
    return f"paid {amount}"


@tool
async def large(size: Annotated[int, "How many characters"]) -> str:
    """Give a long text back."""
    return "x" * size


@tool(mode="background")
def hold_interpreter(length: Annotated[int, "How many characters to look through"]) -> str:
    """Hold the interpreter lock: a regular expression that does not end soon."""
    return "found" if HELD.match("a" * length) else "not found"


registry = Registry([tick, work, repeatable, pay, large, hold_interpreter, http_fetch])
