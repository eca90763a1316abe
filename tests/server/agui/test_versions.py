"""A run uses the AG-UI version that its client names, or the form before 1.0 without one (H3)."""

import asyncio
from typing import Any

import pytest

from tests.server.agui.stage import Page, site

pytestmark = pytest.mark.anyio

CONFIRM: dict[str, Any] = {"name": "confirm", "description": "Ask in the page.", "parameters": {"type": "object"}}
OLD = [None, "0.0", "0.1"]
NEW = ["1.0", "1.7", "2.0", "1.0.0", "next"]


@pytest.mark.parametrize("version", OLD)
async def test_h3_client_before_1_0_gets_only_outcomes_that_it_accepts(version: str | None) -> None:
    async with site() as s:
        page = Page(s)
        end = await page.run("confirm {}", tools=[CONFIRM], version=version)
        assert end["outcome"] == {"type": "success"}
        assert "protocolVersion" not in page.events[0]
        [call] = page.messages[-1]["toolCalls"]
        end = await page.run(
            {"id": "r", "role": "tool", "toolCallId": call["id"], "content": "yes"}, tools=[CONFIRM], version=version
        )
        assert end["outcome"] == {"type": "success"}
        assert page.results == {call["id"]: ["yes"]}
        running = asyncio.ensure_future(page.run("slow", version=version))
        await s.gates["slow began"].wait()
        assert await (await s.session()).interrupt()
        end = await running
        assert (end["type"], end["result"]) == ("RUN_FINISHED", {"status": "cancelled"})
        assert "outcome" not in end
        end = await page.run('pay {"amount": 5}', version=version)
        assert end["outcome"]["type"] == "interrupt"


@pytest.mark.parametrize("version", NEW)
async def test_h3_a_client_of_1_0_and_later_gets_1_0(version: str) -> None:
    async with site() as s:
        page = Page(s)
        end = await page.run("confirm {}", tools=[CONFIRM], version=version)
        assert page.events[0]["protocolVersion"] == "1.0"
        assert len(end["outcome"]["pendingToolCallIds"]) == 1
        running = asyncio.ensure_future(page.run("slow", version=version))
        await s.gates["slow began"].wait()
        assert await (await s.session()).interrupt()
        assert (await running)["outcome"] == {"type": "cancelled"}
