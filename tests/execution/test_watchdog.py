"""A handler that blocks the event loop is named, in the log and to the people who waited."""

import asyncio
import time
from typing import Annotated

import pytest

from callboard import Runtime, tool

pytestmark = pytest.mark.anyio


@tool
async def rude(seconds: Annotated[float, "How long"]) -> str:
    """Block the loop, as no handler should."""
    time.sleep(seconds)  # noqa: ASYNC251
    return "done"


@tool
async def polite() -> str:
    """Wait without blocking."""
    await asyncio.sleep(0.15)
    return "done"


async def test_x11_handler_that_blocks_the_loop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async with Runtime([rude, polite], blocked_after=0.1) as runtime:
        session, other = await runtime.open("s", "u"), await runtime.open("other", "u")
        assert (await session.call("rude", {"seconds": 0.4})).value == "done"
        async with asyncio.timeout(5):
            await session.board.wait(4)  # after the four events of the call itself
        event = session.board.read(0)[-1]
        assert event.kind == "system_notice"
        assert event.data["tool"] == "rude"
        assert 0.1 < event.data["seconds"] < 2
        assert "The tool rude blocked everything for" in event.data["message"]
        assert other.board.last_seq == 0, "nobody else's business"
    assert "the handler of rude blocks the event loop" in caplog.text


async def test_x11_handlers_that_wait_are_not_accused(caplog: pytest.LogCaptureFixture) -> None:
    async with Runtime([rude, polite], blocked_after=0.1) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.call("polite")).value == "done"
        assert "system_notice" not in [event.kind for event in session.board.read(0)]
    assert "blocks the event loop" not in caplog.text
