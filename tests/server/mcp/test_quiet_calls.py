"""Calls of tools without a context, by a client without HTTP: they need nothing but their outcome, unless they last."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, types

from callboard import RetryPolicy, Runtime, ToolError, tool
from callboard.protocols.mcp.connections import Connections
from callboard.protocols.mcp.server import McpServer
from callboard.protocols.mcp.stdio import RuntimeSessions
from tests.server.conftest import until
from tests.server.mcp.stage import ERAS, Gates, text_of, tools

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]


@asynccontextmanager
async def connected(runtime: Runtime, era: str, **options: Any) -> AsyncGenerator[Client]:
    async with runtime, Client(McpServer(Connections(RuntimeSessions(runtime, "ann"))), mode=era, **options) as client:
        yield client


async def test_h4_x8_cancelled_quiet_call_is_cancelled(era: str) -> None:
    gates = Gates()
    runtime = Runtime(tools(gates))
    async with connected(runtime, era) as client:
        calling = asyncio.create_task(client.call_tool("hang", {}))
        await gates.reached("hanging")
        [running] = runtime.manager.live
        calling.cancel()
        await gates.reached("stopped")
        with pytest.raises(asyncio.CancelledError):
            await calling
        await until(lambda: running.ended is not None)
        assert running.status == "cancelled"


async def test_h4_m1_quiet_call_is_waited_for_beyond_its_budget(era: str) -> None:
    gates = Gates()

    @tool(inline_budget=0.01)
    async def last() -> str:
        """Take longer than the budget."""
        await gates["end"].wait()
        return "at last"

    runtime = Runtime([last])
    async with connected(runtime, era) as client:
        calling = asyncio.create_task(client.call_tool("last", {}))
        await until(lambda: any(execution.promoted for execution in runtime.manager.live))
        gates["end"].set()
        assert text_of(await calling) == "at last"


async def test_h4_retries_of_a_quiet_call_are_logged(era: str) -> None:
    seen: list[types.LoggingMessageNotificationParams] = []
    attempts = 0

    @tool(idempotent=True)
    async def flaky() -> str:
        """Fail at first."""
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise ToolError("Not yet.", category="transient")
        return "done"

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        seen.append(params)

    runtime = Runtime([flaky], retry=RetryPolicy(base_delay=0.01))
    async with connected(runtime, era, logging_callback=log) as client:
        result = await client.call_tool("flaky", {}, meta={types.LOG_LEVEL_META_KEY: "warning"})
    assert text_of(result) == "done"
    assert [(each.level, each.logger) for each in seen] == [("warning", "flaky")]
