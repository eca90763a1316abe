"""Tools for worker processes. They note what they do in the file that the variable NOTES names."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

from callboard import Registry, ToolContext, tool

Number = Annotated[int, "A number."]


def note(text: str) -> None:
    """Append a line to the file of notes; lines of several processes do not mix."""
    with Path(os.environ["NOTES"]).open("a") as file:
        file.write(f"{text}\n")


@tool(mode="background")
async def once(n: Number) -> str:
    """Take a second; it must not run twice."""
    note(f"once {n} {os.getpid()}")
    await asyncio.sleep(1.0)
    note(f"once-end {n} {os.getpid()}")
    return f"once {n}"


@tool(mode="background", idempotent=True)
async def repeatable(ctx: ToolContext, n: Number) -> str:
    """Take a second; it may run again."""
    note(f"repeatable {n} {os.getpid()}")
    await ctx.progress("working", 0.5)
    await asyncio.sleep(1.0)
    note(f"repeatable-end {n} {os.getpid()}")
    return f"repeatable {n}"


@tool(mode="background")
async def quick(n: Number) -> int:
    """Return at once."""
    return n


tools = Registry([once, repeatable, quick])
