"""Tools of every mode, for the clients of other projects."""

import asyncio
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from callboard import ToolContext, ToolError, tool


class Colour(BaseModel):
    """A choice."""

    colour: Literal["red", "green"] = Field(description="Which colour")


class Sum(BaseModel):
    """A sum."""

    total: int = Field(description="The sum")


_stopped = asyncio.Event()


@tool(read_only=True, idempotent=True)
async def add(a: Annotated[int, "The first number"], b: Annotated[int, "The second number"]) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b)


@tool
async def broken() -> str:
    """Fail."""
    raise ToolError("The shop is closed.", category="permanent")


@tool
async def steps(ctx: ToolContext) -> str:
    """Report progress."""
    for number in range(1, 4):
        await ctx.progress(f"step {number}", number / 4)
    return "done"


@tool
async def hang(ctx: ToolContext) -> str:
    """Wait until it is cancelled."""
    try:
        await ctx.progress("hanging", 0.5)
        await asyncio.Event().wait()
    finally:
        _stopped.set()
    return "never"


@tool
async def stopped() -> str:
    """Wait until the other tool was cancelled."""
    async with asyncio.timeout(90):
        await _stopped.wait()
    _stopped.clear()
    return "stopped"


@tool(mode="background", idempotent=True)
async def build(seconds: Annotated[float, "How long"]) -> str:
    """Build slowly."""
    await asyncio.sleep(seconds)
    return "built"


@tool(mode="human")
async def pay(amount: Annotated[int, "The amount"]) -> str:
    """Pay an amount."""
    return f"paid {amount}"


@tool(answer=Colour)
async def choose(question: Annotated[str, "The question"]) -> None:
    """Ask for a colour."""


@tool(mode="background")
async def renovate(ctx: ToolContext) -> str:
    """Ask for a colour, then paint."""
    chosen = await ctx.call("choose", {"question": "Which colour?"})
    return f"painted {chosen['colour']}"


tools = [add, broken, steps, hang, stopped, build, pay, choose, renovate]
