"""An interrupt in one process of a turn that another process runs (C3, D3)."""

import asyncio

import pytest

from callboard import Runtime
from callboard.sessions.conversation_scope import ConversationScope
from callboard.sessions.session import live_session
from callboard.storage.rows import TurnRow
from callboard.testing import settle

from .scripted import TOOLS, Script, check, gate, until

pytestmark = pytest.mark.anyio


async def test_d3_an_interrupt_directly_after_an_input_stops_the_turn_of_another_process(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes before the process of the input knows that another one runs a turn."""
    reached, other = asyncio.Event(), Script()
    script = Script([reached.set, gate("never")])
    async with (
        Runtime(TOOLS, model=script.model(), store=shared_url) as here,
        Runtime(TOOLS, model=other.model(), store=shared_url) as there,
    ):
        mine, theirs = await here.open("s", "u"), await there.open("s", "u")
        turn = asyncio.ensure_future(mine.say("Here."))
        await reached.wait()
        looking, go, look = asyncio.Event(), asyncio.Event(), ConversationScope.turn

        async def looks_late(scope: ConversationScope, number: int) -> TurnRow | None:
            if scope.session is live_session(theirs) and not looking.is_set():
                looking.set()
                await go.wait()
            return await look(scope, number)

        monkeypatch.setattr(ConversationScope, "turn", looks_late)
        second = asyncio.ensure_future(theirs.say("There."))
        await looking.wait()
        stopping = asyncio.ensure_future(theirs.interrupt())
        await settle()
        go.set()
        async with asyncio.timeout(30):
            assert await stopping
            assert (await turn).status == "interrupted"
            assert (await second).status == "finished"
        await check(theirs)


async def test_d3_an_interrupt_ends_although_old_events_were_removed(shared_url: str) -> None:
    script = Script([("add", '{"a":1,"b":2}')], [("slow", "{}")])
    async with (
        Runtime(TOOLS, model=script.model(), store=shared_url) as here,
        Runtime(TOOLS, model=Script().model(), store=shared_url) as there,
    ):
        mine, theirs = await here.open("s", "u"), await there.open("s", "u")
        turn = asyncio.ensure_future(mine.say("Go."))
        await until(mine, "tool_executing", 2)
        assert theirs.board.last_seq == 0
        assert await here.store.trim("s", keep=1, before=0.0) > 2
        assert await theirs.interrupt()
        assert (await turn).status == "interrupted"
