"""Waiting for the result of a call that another process runs (M2, B8, D2)."""

import asyncio

import pytest

from callboard import Runtime, ToolContext, tool

from .conftest import ended, seen

pytestmark = pytest.mark.anyio


async def test_b8_a_result_is_waited_for_although_older_events_were_removed(shared_url: str) -> None:
    go = asyncio.Event()

    @tool(mode="background")
    async def walk(ctx: ToolContext) -> str:
        """Report every step."""
        for step in range(20):
            await ctx.progress("walking", step / 20)
        await go.wait()
        return "arrived"

    async with Runtime([walk], store=shared_url) as here, Runtime([walk], store=shared_url) as there:
        waiting, running = await here.open("s", "ann"), await there.open("s", "ann")
        started = await running.call("walk")
        await seen(running, "tool_progress", fraction=19 / 20)
        assert await there.store.trim("s", keep=2, before=0.0) > 10
        result = asyncio.ensure_future(ended(waiting, started.execution_id))
        await asyncio.wait([result], timeout=0)
        go.set()
        assert (await result).value == "arrived"
