"""Snapshots: the state of a session for a reader that starts or whose cursor has expired (B8)."""

import asyncio
from typing import Annotated

import pytest

from callboard import Runtime, tool
from callboard.events.board import CursorExpired

pytestmark = pytest.mark.anyio


@tool
async def add(a: Annotated[int, "One"]) -> int:
    """Add."""
    return a + 1


@tool(mode="human")
async def pay(amount: Annotated[int, "How much"]) -> str:
    """Pay."""
    return f"paid {amount}"


@tool(mode="background", idempotent=True)
async def report() -> str:
    """Report."""
    return "done"


async def test_b8_reader_with_an_expired_cursor_continues_from_a_snapshot(store_url: str) -> None:
    async with Runtime([add, pay, report], store=store_url, keep_events=4) as runtime:
        session = await runtime.open("s", user_id="u")
        late = await session.call("report")
        await session.result(late.execution_id)
        asked = await session.call("pay", {"amount": 1})
        for number in range(10):
            await session.call("add", {"a": number})
        await runtime.store.trim("s", keep=4, before=0.0)
        with pytest.raises(CursorExpired):
            async for _ in session.events(after=1):
                pass
        snapshot = await session.snapshot()
        assert [record.id for record in snapshot.executions] == [asked.execution_id]
        assert [request.execution_id for request in snapshot.requests] == [asked.execution_id]
        assert snapshot.unconsumed == (late.execution_id,)
        number = await session.notice("More.")
        async for event in session.events(after=snapshot.last_seq):
            assert (event.seq, event.data["message"]) == (number, "More.")
            break


async def test_e3_running_call_is_known_after_any_number_of_later_calls(store_url: str) -> None:
    async with Runtime([add, pay, report], store=store_url, model="offline") as runtime:
        session = await runtime.open("s", user_id="u")
        asked = await session.call("pay", {"amount": 1})
        for number in range(0, 1_050, 50):
            await asyncio.gather(*(session.call("add", {"a": number}) for _ in range(50)))
        assert [record.id for record in (await session.snapshot()).executions] == [asked.execution_id]
        assert [each["execution_id"] for each in (await session.call("task_list")).value] == [asked.execution_id]
