"""Calls of workers that are stopped go to others with their attempts; those of workers that die are counted (E5)."""

import asyncio

import pytest

from callboard import Registry, RetryPolicy, ToolContext, tool
from callboard.testing.store_rows import owner_row
from tests.engines.conftest import OpenDeployment

pytestmark = pytest.mark.anyio

POLICY = RetryPolicy(max_attempts=3, base_delay=0.0)


async def test_e5_call_of_a_stopped_worker_keeps_its_attempt_and_its_nested_calls(deployment: OpenDeployment) -> None:
    begun, going = asyncio.Event(), asyncio.Event()
    attempts: list[int] = []

    @tool(mode="background", idempotent=True, retry=POLICY)
    async def near(ctx: ToolContext) -> int:
        """Work until a release."""
        attempts.append(ctx.attempt)
        begun.set()
        await going.wait()
        return ctx.attempt

    @tool(mode="background", idempotent=True, retry=POLICY, placement="worker")
    async def far(ctx: ToolContext) -> list[int]:
        """Call another tool, with a key."""
        return [ctx.attempt, await ctx.call(near, {}, key="near")]

    async with asyncio.timeout(90), deployment() as made:
        gateway = await made.gateway(Registry([near, far]))
        session = await gateway.open("s", "ann")
        async with made.runtime(Registry([near, far]), queues=("default",)):
            outcome = await session.call("far")
            await begun.wait()
        begun.clear()
        await made.worker(Registry([near, far]))
        await begun.wait()
        going.set()
        assert (await session.result(outcome.execution_id)).value == [1, 1]
        assert attempts == [1, 1]


async def test_e5_call_that_ends_each_worker_at_once_is_not_started_forever(deployment: OpenDeployment) -> None:
    """A worker dies in the handler before its attempt is stored. The next one stores the attempt first."""
    stored: list[str] = []

    @tool(mode="background", idempotent=True)
    async def deadly(ctx: ToolContext) -> int:
        """Note what is stored when it is entered."""
        row = await gateway.store.execution(ctx.session_id or "", ctx.execution_id or "")
        assert row is not None
        stored.append(f"{row.status} {row.attempt}")
        return ctx.attempt

    async with asyncio.timeout(90), deployment() as made:
        gateway = await made.gateway(Registry([deadly]))
        session = await gateway.open("s", "ann")
        calls = [await session.call("deadly") for _ in range(10)]
        keys = [("s", call.execution_id or "") for call in calls]
        await gateway.store.join(owner_row("dead"))
        assert len((await gateway.store.claim(keys, "dead")).rows) == len(keys)
        recovered = await gateway.store.recover("dead", 0, "heir")
        assert gateway.dispatcher is not None
        gateway.dispatcher.submit_again(recovered.requeued)
        await made.worker(Registry([deadly]))
        for call in calls:
            assert (await session.result(call.execution_id)).value == 1
        assert stored == ["executing 1"] * len(calls)
