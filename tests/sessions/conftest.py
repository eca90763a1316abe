"""Every store that a session can have, and what the tests of sessions share."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from callboard import Event, Outcome, Runtime, Session, Tool
from callboard.adapters.stores import open_store
from callboard.sessions.session import live_session
from callboard.storage.change import Change, ExecutionWrite, RequestWrite
from callboard.storage.rows import ExecutionRow, OwnerRow, RequestRow
from callboard.storage.store import Store

SOON = 20.0
"""How many seconds something may take that takes milliseconds."""


# Stores


@asynccontextmanager
async def stored(url: str) -> AsyncGenerator[Store]:
    """The store itself, past every runtime."""
    store = open_store(url)
    await store.open(lambda session_id: None)
    try:
        yield store
    finally:
        await store.close()


# What is on a board, and how calls end


async def board_of(session: Session, after: int = 0) -> list[Event]:
    """What is on the board now, also what others wrote, read as every reader reads it."""
    await live_session(session).settle()
    last = session.board.last_seq
    if live_session(session).durable:
        row = await live_session(session).services.store.session(session.id)
        assert row is not None
        last = row.last_seq
    events: list[Event] = []
    if last > after:
        async with asyncio.timeout(SOON), aclosing(session.events(after)) as stream:
            async for event in stream:
                events.append(event)
                if event.seq == last:
                    break
    return events


async def seen(session: Session, kind: str, *, after: int = 0, **fields: Any) -> Event:
    """The first event after a number that is of that kind and says that, as soon as it is there."""
    async with asyncio.timeout(SOON), aclosing(session.events(after)) as stream:
        async for event in stream:
            if event.kind == kind and all(event.data.get(name) == value for name, value in fields.items()):
                return event
    raise AssertionError("a board has no end")


async def ended(session: Session, execution_id: str) -> Outcome:
    """How an execution ended, as soon as it has."""
    async with asyncio.timeout(SOON):
        return await session.result(execution_id)


async def until(condition: Callable[[], bool]) -> None:
    """Return when something is so."""
    async with asyncio.timeout(SOON):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


# What a process that died has left


def dead(name: str = "dead") -> OwnerRow:
    """A process that left work behind."""
    return OwnerRow(id=name, host="elsewhere", pid=1, started="", beat=-1)


async def left_behind(url: str, execution_id: str, session_id: str, change: Callable[[ExecutionRow], Any]) -> None:
    """Make it look as if a process died that held an execution, in the state which `change` makes of it."""
    async with stored(url) as store:
        row = await store.execution(session_id, execution_id)
        assert row is not None
        await store.join(dead())
        written = ExecutionWrite(replace(change(row), owner="dead"))
        assert await store.commit([Change(session_id, executions=[written])]) != []


async def rewrite(url: str, row: RequestRow, was: str) -> None:
    """Change a stored request, past every runtime."""
    async with stored(url) as store:
        (result,) = await store.commit([Change(row.session_id, requests=[RequestWrite(row, was)])])
        assert isinstance(result, int), result


Make = Callable[..., Runtime]


@pytest.fixture
def make(store_url: str) -> Make:
    """Makes a runtime on the store."""

    def runtime(*tools: Tool, **options: Any) -> Runtime:
        return Runtime(tools, store=store_url, **options)

    return runtime
