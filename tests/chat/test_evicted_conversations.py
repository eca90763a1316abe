"""Conversations of sessions that left memory while a reference to them is kept (E6)."""

import asyncio
from typing import Any

import pytest

from callboard import Runtime, tool
from callboard.sessions.conversation_scope import ConversationScope
from callboard.sessions.session import live_session
from callboard.storage.errors import StoreUnavailable
from callboard.testing import ManualClock

from .scripted import TOOLS, Script, check, conversation_of, gate

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


async def test_e6_a_turn_that_is_tried_again_after_a_logout_is_the_turn_of_the_session(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is away for a moment, and the user logs out before the turn is tried again."""
    reached, clock = asyncio.Event(), ManualClock()
    script = Script([reached.set, gate("never")])
    async with Runtime(TOOLS, model=script.model(), store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "u")
        before = conversation_of(session)

        async def unavailable(*_: Any) -> Any:
            raise StoreUnavailable("gone for a while")

        with monkeypatch.context() as patch:
            patch.setattr(ConversationScope, "written_after", unavailable)
            await session.post({"kind": "user_input", "text": "Go."})
            assert before._task is not None
            await asyncio.wait([before._task])
        await session.close()
        assert live_session(session).current_conversation is None
        await clock.advance(1.0)
        async with asyncio.timeout(90):
            await reached.wait()
        assert session.is_processing
        assert await session.interrupt()
        assert len(script.requests) == 1
        await check(session)
