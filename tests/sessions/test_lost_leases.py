"""A process that lost its lease, and lives on, writes and stops nothing of what another process owns (D2, E5)."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from callboard import Limits, Runtime, tool
from callboard.sessions.change_notifications import ChangeNotifications
from callboard.sessions.session import live_session
from callboard.storage.change import Change
from callboard.storage.rows import ExecutionRow

from .conftest import SOON, board_of, ended, rewrite_execution, row_of, until

pytestmark = pytest.mark.anyio

going: asyncio.Event
charged: list[str] = []
"""The calls whose handlers were entered."""


@pytest.fixture(autouse=True)
def _fresh() -> None:
    global going
    going = asyncio.Event()
    charged.clear()


@tool(mode="background", idempotent=True)
async def dig() -> str:
    """Work until a release."""
    await going.wait()
    return "done"


@tool(mode="human")
async def pay() -> str:
    """Pay."""
    charged.append("account")
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


@tool(mode="background")
async def charge() -> str:
    """Charge a card."""
    charged.append("card")
    return "charged"


@pytest.mark.parametrize("order", [("pay", "dig"), ("dig", "charge")])
async def test_x8_handler_is_not_entered_after_another_process_cancelled_its_call(
    shared_url: str, monkeypatch: pytest.MonkeyPatch, order: tuple[str, str]
) -> None:
    """Also before this process has read of the cancellation: a caller knows that the call is stopped."""
    monkeypatch.setattr(ChangeNotifications, "add", lambda *_, **__: None)
    tools, limits = [pay, charge, dig], Limits(per_session=1)
    async with asyncio.timeout(SOON), Runtime(tools, store=shared_url, recover=False, limits=limits) as runtime:
        session = await runtime.open("s", "ann")
        calls = {name: (await session.call(name)).execution_id for name in order}
        called = calls["pay" if "pay" in calls else "charge"]
        await live_session(session).settle()
        async with Runtime(tools, store=shared_url, recover=False) as other:
            assert await (await other.open("s", "ann")).cancel(called) is True
        for request in await session.requests():
            await session.answer(request.id, {"approved": True})
        going.set()
        assert (await session.result(called)).status == "cancelled"
        assert charged == []


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
