"""The tools of the crash tests: one of each sort. The effect of a run is what it writes to the witness."""

import asyncio
import ctypes
import time
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import BaseModel

from callboard import RetryPolicy, Tool, ToolContext, ToolError, tool
from callboard.types import Placement

from .witness import Witness

SOON = RetryPolicy(max_attempts=3, base_delay=0.01, max_delay=10.0)

Key = Annotated[str, "The call's own id"]
Number = Annotated[int, "A number, which the result has doubled"]
Pause = Annotated[float, "Seconds that it takes"]


class Choice(BaseModel):
    """The choice of a person."""

    colour: str


class _Current:
    """The witness of this process."""

    witness: Witness


current = _Current()


@contextmanager
def seen(ctx: ToolContext) -> Generator[None]:
    """Write the beginning of a run and, unless the process dies, its end."""
    run = {"execution": ctx.execution_id, "call": ctx.call_id, "tool": ctx.tool, "attempt": ctx.attempt}
    current.witness.write("begin", **run)
    yield
    current.witness.write("end", **run)


async def pass_time(ctx: ToolContext, pause: float) -> None:
    """Wait for the pause of the call in its first attempt."""
    await asyncio.sleep(pause if ctx.attempt == 1 else 0)


def doubled(key: str, number: int) -> dict[str, Any]:
    """Return the result of every tool."""
    return {"key": key, "doubled": 2 * number}


@tool(idempotent=True)
async def look(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Look something up."""
    with seen(ctx):
        await pass_time(ctx, pause)
        return doubled(key, number)


@tool
async def charge(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Charge a card, which must not be repeated."""
    with seen(ctx):
        await pass_time(ctx, pause)
        return doubled(key, number)


@tool
async def tally(key: Key, number: Number) -> dict[str, Any]:
    """Charge a card, at once and without a context."""
    current.witness.write("begin", execution=None, call=key, tool="tally", attempt=1)
    current.witness.write("end", execution=None, call=key, tool="tally", attempt=1)
    return doubled(key, number)


@tool
def press(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Charge a card, in a thread."""
    with seen(ctx):
        time.sleep(pause)
        return doubled(key, number)


@tool(mode="background")
def hold(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Hold the interpreter lock, so that no other thread of the process does anything."""
    with seen(ctx):
        ctypes.PyDLL(None).usleep(round(pause * 1e6))
        return doubled(key, number)


@tool(inline_budget=0.01)
async def dawdle(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Take longer than a caller waits."""
    with seen(ctx):
        await pass_time(ctx, 0.02 + pause)
        return doubled(key, number)


@tool(inline_budget=0.01, idempotent=True)
async def ponder(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Take longer than a caller waits, idempotently."""
    with seen(ctx):
        await pass_time(ctx, 0.02 + pause)
        return doubled(key, number)


@tool(mode="background", logout="keep_running")
async def crunch(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Work in the background, and report progress."""
    with seen(ctx):
        for step in range(4):
            await ctx.progress("crunching", step / 4)
            await pass_time(ctx, pause / 4)
        await ctx.partial({"almost": 2 * number})
        return doubled(key, number)


@tool(mode="background", idempotent=True, logout="keep_running")
async def research(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Work in the background, idempotently."""
    with seen(ctx):
        for step in range(4):
            await ctx.progress("researching", step / 4)
            await pass_time(ctx, pause / 4)
        return doubled(key, number)


@tool(logout="cancel_on_logout")
async def stream(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> AsyncIterator[dict[str, Any]]:
    """Yield partial results."""
    with seen(ctx):
        for _ in range(3):
            yield {"so": "far"}
            await pass_time(ctx, pause / 3)
        yield doubled(key, number)


@tool(idempotent=True, retry=SOON)
async def flaky(
    ctx: ToolContext, key: Key, number: Number, pause: Pause = 0, after: Annotated[float, "Retry-After"] = 0
) -> dict[str, Any]:
    """Fail in the first attempt."""
    with seen(ctx):
        await pass_time(ctx, pause / 4)
        if ctx.attempt == 1:
            raise ToolError("Not now.", category="transient", retry_after=after or None)
        return doubled(key, number)


@tool
async def fail(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Fail, with details that JSON cannot represent."""
    with seen(ctx):
        await pass_time(ctx, pause / 4)
        raise ToolError(f"No {key}.", category="permanent", details={"ratio": float("inf"), "twice": 2 * number})


@tool(mode="human")
async def pay(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Pay, if a person approves."""
    with seen(ctx):
        await pass_time(ctx, pause)
        return doubled(key, number)


@tool(mode="human", idempotent=True)
async def remind(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Send a reminder, if a person approves."""
    with seen(ctx):
        await pass_time(ctx, pause)
        return doubled(key, number)


@tool(mode="human", answer=Choice)
async def choose(key: Key, number: Number) -> Choice:  # pyright: ignore[reportReturnType]
    """Let a person choose."""


@tool(mode="background")
async def order(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Call other tools."""
    with seen(ctx):
        await ctx.call("charge", {"key": f"{key}/charge", "number": number, "pause": pause / 2})
        await ctx.call("look", {"key": f"{key}/look", "number": number, "pause": pause / 2})
        return doubled(key, number)


@tool(idempotent=True)
async def plan(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Call other tools, idempotently."""
    with seen(ctx):
        await ctx.call("look", {"key": f"{key}/look", "number": number, "pause": pause})
        return doubled(key, number)


@tool
async def block(ctx: ToolContext, key: Key, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Block the event loop."""
    with seen(ctx):
        time.sleep(pause)  # noqa: ASYNC251
        return doubled(key, number)


@tool(idempotent=True)
async def gas_price(ctx: ToolContext, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Answer people."""
    with seen(ctx):
        await pass_time(ctx, pause)
        return {"doubled": 2 * number}


@tool
async def refresh(ctx: ToolContext, number: Number, pause: Pause = 0) -> dict[str, Any]:
    """Answer people, at most once."""
    with seen(ctx):
        await pass_time(ctx, pause)
        return {"doubled": 2 * number}


TOOLS: tuple[Tool, ...] = (
    *(look, charge, tally, press, dawdle, ponder, crunch, research, stream, flaky, fail),
    *(pay, remind, choose, order, plan, block, hold),
)
WORKERS: tuple[Tool, ...] = (gas_price, refresh)


def placement_of(each: Tool) -> Placement:
    """Return where a tool runs if there is an engine: some of each sort stay where they are called."""
    stays = each.name in ("tally", "press", "dawdle", "choose", "block", "hold")
    return Placement.ANY if stays else Placement.WORKER


IDEMPOTENT = {each.name for each in (*TOOLS, *WORKERS) if each.idempotent}
PERSONAL = {"pay", "remind", "choose"}
