"""A process that lost its lease, and lives on, writes and stops nothing of what another process owns (D2, E5)."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from callboard import Runtime, tool
from callboard.sessions.session import live_session
from callboard.storage.change import Change
from callboard.storage.rows import ExecutionRow

from .conftest import SOON, board_of, ended, rewrite_execution, row_of, until

pytestmark = pytest.mark.anyio

going: asyncio.Event


@pytest.fixture(autouse=True)
def _fresh() -> None:
    global going
    going = asyncio.Event()


@tool(mode="background", idempotent=True)
async def dig() -> str:
    """Work until a release."""
    await going.wait()
    return "done"


@tool(mode="human")
async def pay() -> str:
    """Pay."""
    return "paid"


async def give(url: str, execution_id: str, owner: str) -> None:
    """Give an execution to a process, as if it had taken it over."""
    await rewrite_execution(url, execution_id, "s", lambda row: replace(row, owner=owner))


async def test_d2_call_that_another_process_took_over_is_cancelled_there(shared_url: str) -> None:
    async with asyncio.timeout(SOON), Runtime([pay], store=shared_url, recover=False) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay")
        await live_session(session).settle()
        await give(shared_url, outcome.execution_id, "heir")
        assert await session.cancel(outcome.execution_id) is True
        row = await row_of(shared_url, "s", outcome.execution_id)
        assert (row.owner, row.status, row.cancelling) == ("heir", "waiting", True)
        assert "tool_result" not in [event.kind for event in await board_of(session)]


async def test_d2_call_that_another_process_took_over_and_ended_is_not_reported_as_stopped(shared_url: str) -> None:
    async with asyncio.timeout(SOON), Runtime([pay], store=shared_url, recover=False) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay")
        await live_session(session).settle()
        done: dict[str, Any] = {"owner": None, "status": "succeeded", "value": b'"paid"', "completed_at": 1.0}
        await rewrite_execution(shared_url, outcome.execution_id, "s", lambda row: replace(row, **done))
        assert await session.cancel(outcome.execution_id) is False
        assert (await ended(session, outcome.execution_id)).value == "paid"


async def test_e5_end_that_was_not_written_when_the_lease_was_lost_is_never_written(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if this process claims the execution again: it carries it out once more then."""
    async with asyncio.timeout(SOON), Runtime([dig], store=shared_url, recover=False) as runtime:
        session = await runtime.open("s", "ann")
        live, store = live_session(session), runtime.store
        outcome = await session.call("dig")
        await live.settle()
        execution = live.index.by_id[outcome.execution_id]
        commit, read, released = store.commit, store.executions, asyncio.Event()

        async def held_back(changes: Sequence[Change]) -> Any:
            await released.wait()
            return await commit(changes)

        async def end_meanwhile(*args: Any, **options: Any) -> Sequence[ExecutionRow]:
            rows = await read(*args, **options)
            going.set()
            await until(lambda: execution.ended is not None)
            return rows

        monkeypatch.setattr(store, "commit", held_back)
        notice = asyncio.ensure_future(session.notice("The end of the call waits behind this."))
        await until(lambda: not live.ledger.idle)
        await give(shared_url, execution.id, "heir")
        monkeypatch.setattr(store, "executions", end_meanwhile)
        await runtime.sessions._recovery.lease_lost()
        await give(shared_url, execution.id, live.services.owner)
        released.set()
        await notice
        row = await row_of(shared_url, "s", execution.id)
        assert (row.status, row.completed_at) == ("executing", None)
        assert "tool_result" not in [event.kind for event in await board_of(session)]
