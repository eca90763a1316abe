"""Tools for a server of the browser tests: each records its effect, and waits while the test holds it.

The server runs in a folder of its own. A call with a label waits while the file `held/LABEL` exists, and appends a line
to `effects/LABEL` each time it has an effect.
"""

from pathlib import Path
from typing import Annotated

import anyio
import anyio.lowlevel

from callboard import Registry, ToolContext, tool

Label = Annotated[str, "The label of the test"]


async def _wait(label: str) -> None:
    while await anyio.Path("held", label).exists():  # noqa: ASYNC110 - the test is another process
        await anyio.sleep(0.01)


def _record(label: str, line: str) -> None:
    with Path("effects", label).open("a") as effects:
        effects.write(f"{line}\n")


@tool(namespace="gated", mode="human")
async def transfer(label: Label, amount: Annotated[int, "The amount"]) -> str:
    """Transfer an amount after a person has approved it."""
    _record(label, f"transfer {amount}")
    await _wait(label)
    return f"transferred {amount}"


@tool(namespace="gated", mode="background", idempotent=True)
async def gather(ctx: ToolContext, label: Label) -> str:
    """Gather something in the background."""
    await ctx.progress("gathering", 0.25, "the first half")
    await ctx.partial("one half")
    await _wait(label)
    await ctx.progress("gathering", 0.75, "the second half")
    await ctx.partial("other half")
    _record(label, str(ctx.idempotency_key))
    return "gathered everything"


@tool(namespace="gated")
async def ponder(ctx: ToolContext, label: Label) -> str:
    """Ponder while the turn waits."""
    _record(label, "began")
    try:
        await _wait(label)
    except anyio.get_cancelled_exc_class():
        _record(label, "stopped")
        raise
    _record(label, "ended")
    return "pondered"


@tool(namespace="gated", inline_budget=120)
async def report(ctx: ToolContext, label: Label, count: Annotated[int, "The number of reports"]) -> int:
    """Report progress many times."""
    for number in range(count):
        await ctx.progress("reporting", number / count, f"report {number}")
        if number % 100 == 99:
            await anyio.lowlevel.checkpoint()
    await _wait(label)
    return count


registry = Registry([transfer, gather, ponder, report])
