"""Fixtures for every store that a session can have, and helpers of the tests of sessions."""

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

SOON = 90.0
"""Seconds after which an action that takes milliseconds counts as failed."""


# Stores


@asynccontextmanager
async def stored(url: str) -> AsyncGenerator[Store]:
    """Open the store itself, without a runtime."""
    store = open_store(url)
    await store.open(lambda *_: None)
    try:
        yield store
    finally:
        await store.close()


async def row_of(url: str, session_id: str, execution_id: str) -> ExecutionRow:
    """Return the stored row of an execution."""
    async with stored(url) as store:
        row = await store.execution(session_id, execution_id)
        assert row is not None
        return row


# Events of a board, and ends of calls


async def board_of(session: Session, after: int = 0) -> list[Event]:
    """Return the events of the board now, those of other processes included, through the public interface."""
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
    """Wait for the first event after a number that has this kind and these fields, and return it."""
    async with asyncio.timeout(SOON), aclosing(session.events(after)) as stream:
        async for event in stream:
            if event.kind == kind and all(event.data.get(name) == value for name, value in fields.items()):
                return event
    raise AssertionError("a board has no end")


async def ended(session: Session, execution_id: str) -> Outcome:
    """Wait for the end of an execution, and return it."""
    async with asyncio.timeout(SOON):
        return await session.result(execution_id)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(SOON):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


# Work of a process that died


def dead(name: str = "dead") -> OwnerRow:
    """Return the row of a process that left work behind."""
    return OwnerRow(id=name, host="elsewhere", pid=1, started="", beat=-1)


async def rewrite_execution(
    url: str, execution_id: str, session_id: str, change: Callable[[ExecutionRow], ExecutionRow]
) -> None:
    """Rewrite a stored execution with `change`, without a runtime."""
    async with stored(url) as store:
        row = await store.execution(session_id, execution_id)
        assert row is not None
        (result,) = await store.commit([Change(session_id, executions=[ExecutionWrite(change(row))])])
        assert isinstance(result, int), result


async def left_behind(url: str, execution_id: str, session_id: str, change: Callable[[ExecutionRow], Any]) -> None:
    """Rewrite a stored execution with `change`, as if the process that owned it had died."""
    async with stored(url) as store:
        await store.join(dead())
    await rewrite_execution(url, execution_id, session_id, lambda row: replace(change(row), owner="dead"))


async def rewrite(url: str, row: RequestRow, was: str) -> None:
    """Change a stored request, without a runtime."""
    async with stored(url) as store:
        (result,) = await store.commit([Change(row.session_id, requests=[RequestWrite(row, was)])])
        assert isinstance(result, int), result


Make = Callable[..., Runtime]


@pytest.fixture
def make(store_url: str) -> Make:
    """Make a runtime on the store."""

    def runtime(*tools: Tool, **options: Any) -> Runtime:
        return Runtime(tools, store=store_url, **options)

    return runtime
