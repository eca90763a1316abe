"""Processes with different tools on one store: each leaves the calls of the other's tools alone (E5, M3)."""

import asyncio
from typing import Any

import pytest

from callboard import Runtime, Session, tool

from .conftest import ended

pytestmark = pytest.mark.anyio


@tool
async def unrelated() -> str:
    """Do something else."""
    return "else"


@tool(mode="human")
async def pay() -> str:
    """Pay."""
    return "paid"


class Export:
    """A long export, and how often it began."""

    def __init__(self) -> None:
        self.began: list[asyncio.Event] = []
        self.may_end = asyncio.Event()

    def tools(self) -> list[Any]:
        @tool(mode="background", idempotent=True)
        async def export() -> str:
            """Export for a long time."""
            self.began[-1].set()
            await self.may_end.wait()
            return "exported"

        self.began.append(asyncio.Event())
        return [export]

    async def begin(self, store: str) -> str:
        """Begin an export in a process that stops then. Returns the id of its execution."""
        async with Runtime(self.tools(), store=store) as runtime:
            started = await (await runtime.open("s", "ann")).call("export")
            await self.began[-1].wait()
        return started.execution_id


async def test_e5_call_of_a_stopped_process_waits_for_one_with_its_tool(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exports = Export()
    monkeypatch.setattr("callboard.sessions.heartbeat.PATIENCE", 3600.0)
    async with Runtime([unrelated], store=shared_url) as other, asyncio.timeout(90):
        execution_id = await exports.begin(shared_url)
        for _ in range(3):
            await other.sessions._heartbeat.poll()
        async with Runtime(exports.tools(), store=shared_url) as runtime:
            await exports.began[1].wait()
            exports.may_end.set()
            assert (await ended(await runtime.open("s", "ann"), execution_id)).value == "exported"


async def test_e5_call_whose_tool_no_process_has_is_interrupted_in_the_end(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exports = Export()
    monkeypatch.setattr("callboard.sessions.heartbeat.PATIENCE", 0.0)
    async with Runtime([unrelated], store=shared_url) as other, asyncio.timeout(90):
        execution_id = await exports.begin(shared_url)
        outcome = await ended(await other.open("s", "ann"), execution_id)
        assert outcome.error is not None
        assert outcome.error.category == "interrupted"


async def test_m3_approved_call_of_another_process_is_not_claimed_again_and_again(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime([unrelated], store=shared_url) as other, asyncio.timeout(90):
        async with Runtime([pay], store=shared_url) as runtime:
            await (await runtime.open("s", "ann")).call("pay")
        claimed: list[Any] = []
        recover = other.store.recover

        async def counted(*arguments: Any, **options: Any) -> Any:
            recovered = await recover(*arguments, **options)
            claimed.extend(recovered.claims)
            return recovered

        monkeypatch.setattr(other.store, "recover", counted)
        async with Runtime([pay], store=shared_url, recover=False) as command:
            session: Session = await command.open("s", "ann")
            [request] = await session.requests()
            await session.answer(request.id, {"approved": True})
        for _ in range(3):
            await other.sessions._heartbeat.poll()
        assert claimed == []
        async with Runtime([pay], store=shared_url) as runtime:
            assert (await ended(await runtime.open("s", "ann"), request.execution_id)).value == "paid"
