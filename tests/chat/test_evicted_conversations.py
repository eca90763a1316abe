"""Conversations of sessions that left memory while a reference to them is kept (E6)."""

import pytest

from callboard import Runtime, tool
from callboard.sessions.session import live_session
from callboard.testing import ManualClock

pytestmark = pytest.mark.anyio


async def test_e6_the_task_tools_find_a_session_that_left_memory(shared_url: str) -> None:
    @tool
    async def number() -> int:
        """Return a number."""
        return 7

    clock = ManualClock()
    async with Runtime([number], store=shared_url, model="offline", clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("number")
        await live_session(session).settle()
        await clock.advance(600)
        assert len(runtime.sessions) == 0
        assert (await session.call("task_list")).value == []
        assert (await session.call("task_result", {"execution_id": outcome.execution_id})).value == "7"
