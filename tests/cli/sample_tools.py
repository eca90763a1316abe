"""Tools that report progress, fail, stream or hang, for the tests of `callboard tools run`."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from typing import Annotated

from callboard import Registry, RetryPolicy, ToolContext, ToolError, tool
from callboard.tools.policies import BackoffStrategy

QUICK = RetryPolicy(base_delay=0.05)
SLOW = RetryPolicy(base_delay=60, max_delay=60, strategy=BackoffStrategy.FIXED)


def say(text: str, *, to_error: bool = True) -> None:
    print(text, file=sys.stderr if to_error else sys.stdout, flush=True)


async def a_moment() -> None:
    """Wait long enough for a person to see the progress, if `SAMPLE_PACE` is set."""
    await asyncio.sleep(float(os.environ.get("SAMPLE_PACE", "0")))


@tool(namespace="sample")
async def build(ctx: ToolContext, contracts: Annotated[int, "How many to compile"] = 3) -> dict[str, object]:
    """Compile contracts, in stages."""
    await ctx.progress("preparing")
    await a_moment()
    for number in range(contracts):
        await ctx.progress("compiling", number / contracts, f"{number} of {contracts} contracts")
        await a_moment()
    await ctx.partial({"compiled": contracts})
    await ctx.progress("linking", 1.0)
    await a_moment()
    return {"contracts": contracts, "names": ["Token", "Vault"], "größe": 1.5}


@tool(namespace="sample", idempotent=True, retry=QUICK)
async def flaky(ctx: ToolContext) -> str:
    """Fail twice, then succeed."""
    await ctx.progress("asking", 0.5, "the service")
    await a_moment()
    if ctx.attempt < 3:
        raise ToolError(f"The service is away (try {ctx.attempt}).", category="transient")
    return "It answered."


@tool(namespace="sample", idempotent=True, retry=QUICK)
async def doomed() -> str:
    """Fail at every attempt."""
    raise ConnectionError("no route to [bold]host[/bold]")


@tool(namespace="sample")
async def add(first: Annotated[int, "One number"], second: Annotated[int, "Another number"]) -> int:
    """Add two numbers."""
    return first + second


@tool(namespace="sample")
async def count(up_to: Annotated[int, "The last number"] = 3) -> AsyncIterator[str]:
    """Count aloud."""
    for number in range(1, up_to + 1):
        yield f"number {number}"
        await a_moment()


@tool(namespace="sample", idempotent=True, retry=QUICK)
async def hang(ctx: ToolContext, failures: Annotated[int, "How many attempts fail first"] = 0) -> str:
    """Hang, and clean up when it is cancelled."""
    if ctx.attempt <= failures:
        raise ToolError("Not yet.", category="transient")
    try:
        await ctx.progress("hanging", 0.4, "for ever")
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        say("cleaned up")
    return "never"


@tool(namespace="sample", idempotent=True, retry=SLOW)
async def tomorrow() -> str:
    """Fail, and be retried much later."""
    raise ToolError("Come back tomorrow.", category="transient")


@tool(namespace="sample")
async def stubborn(ctx: ToolContext) -> str:
    """Hang, and ignore cancellation."""
    while True:
        try:
            await ctx.progress("hanging")
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            say("not now")


@tool(namespace="sample")
def sleep_in_a_thread() -> str:
    """Block a thread that cannot be stopped."""
    say("asleep")
    time.sleep(600)
    return "never"


@tool(namespace="sample")
async def block() -> str:
    """Block the event loop."""
    say("blocking")
    time.sleep(600)  # noqa: ASYNC251
    return "never"


@tool(namespace="sample", mode="background")
async def later() -> list[int]:
    """Return a late result."""
    await asyncio.sleep(0.01)
    return [1, 2]


@tool(namespace="sample", inline_budget=0.01)
async def promoted() -> str:
    """Outlast its inline budget."""
    await asyncio.sleep(0.1)
    return "after its budget"


@tool(namespace="sample", mode="human", answer=bool)
async def approve() -> bool:
    """Ask a person."""
    raise NotImplementedError


@tool(namespace="sample", gate="beta")
async def gated() -> str:
    """Be hidden."""
    return "shown"


@tool(namespace="sample")
async def parent(ctx: ToolContext) -> list[object]:
    """Call other tools."""
    await ctx.progress("delegating", 0.1)
    one = await ctx.call("flaky")
    two = await ctx.call("add", {"first": 1, "second": 2})
    return [one, two]


@tool(namespace="sample")
async def noisy(ctx: ToolContext) -> str:
    """Print, and return texts with terminal control codes."""
    say("printed by the tool", to_error=False)
    await ctx.progress("\x1b[31mred\x1b[0m", None, "two\nlines")
    await ctx.partial("\x1b]0;title\x07")
    return "\x1b[2Jcleared\nnext line — ü"


@tool(namespace="sample")
async def disguised() -> dict[str, str]:
    """Return text with control characters that JSON allows."""
    return {"x\x9b": "\x9b31m\u202eabc\x7f"}


@tool(namespace="sample")
async def flood(ctx: ToolContext) -> None:
    """Post more events than are kept."""
    await asyncio.gather(*(ctx.progress("flooding", None, str(number)) for number in range(120_000)))


@tool(namespace="sample")
async def broken() -> str:
    """Raise an ordinary exception."""
    return {}["missing"]


registry = Registry(
    [
        build,
        flaky,
        doomed,
        add,
        count,
        hang,
        tomorrow,
        stubborn,
        sleep_in_a_thread,
        block,
        later,
        promoted,
        approve,
        gated,
        parent,
        noisy,
        disguised,
        flood,
        broken,
    ]
)
say("imported", to_error=False)
