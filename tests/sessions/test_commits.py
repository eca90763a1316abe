"""How many commits a call waits for, by what its tool promises."""

import asyncio
from typing import Annotated

import pytest

from callboard import Runtime, tool
from callboard.storage import writer as writer_module

pytestmark = pytest.mark.anyio

Name = Annotated[str, "Any"]
NEVER = 600.0


@tool(idempotent=True)
async def read(name: Name) -> str:
    """Return the name after a turn of the event loop."""
    await asyncio.sleep(0)
    return name


@tool
async def write(name: Name) -> str:
    """Return the name after a turn of the event loop."""
    await asyncio.sleep(0)
    return name


async def commits(runtime: Runtime, name: str, call_id: str | None = None) -> int:
    session = await runtime.open("s", "ann")
    writer = runtime.sessions._services.writer
    before = writer.commits
    async with asyncio.timeout(60):
        assert (await session.call(name, {"name": "x"}, call_id=call_id)).value == "x"
    return writer.commits - before


async def test_d2_call_of_an_idempotent_tool_takes_one_commit(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "LINGER", NEVER)
    async with Runtime([read, write], store=sqlite_url) as runtime:
        assert await commits(runtime, "read") == 1
        assert await commits(runtime, "read", "chosen") == 2, "the store accepts the id before the handler is entered"
        assert await commits(runtime, "write") == 2, "the store knows of the attempt before the handler is entered"


async def test_d2_beginning_of_a_long_call_is_stored_while_it_runs(sqlite_url: str) -> None:
    ended = asyncio.Event()

    @tool(idempotent=True)
    async def last(name: Name) -> str:
        """Wait for an event."""
        await ended.wait()
        return name

    async with Runtime([last], store=sqlite_url) as runtime, asyncio.timeout(60):
        session = await runtime.open("s", "ann")
        events = session.events()
        call = asyncio.ensure_future(session.call("last", {"name": "x"}))
        async for event in events:
            if event.kind == "tool_executing":
                break
        ended.set()
        assert (await call).value == "x"
