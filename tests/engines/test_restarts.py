"""A planned stop of a worker hands its calls to another: not an attempt, and not an interruption (E5)."""

import asyncio

import pytest

from callboard import Registry, RetryPolicy, ToolContext, tool
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
