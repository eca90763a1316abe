"""The cost of a notification of another process, and that no change is missed (D2, X7)."""

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest

from callboard import Limits, Runtime, tool
from callboard.storage.change import Notice
from callboard.storage.errors import StoreUnavailable
from callboard.storage.store import Store

pytestmark = pytest.mark.anyio

SOON = 90.0


@tool(mode="background")
async def hold(name: Annotated[str, "Any"]) -> str:
    """Run until it is cancelled."""
    await asyncio.Event().wait()
    return name


@tool(idempotent=True)
async def echo(name: Annotated[str, "Any"]) -> str:
    """Return the name."""
    return name


@tool(mode="human")
async def pay(name: Annotated[str, "Any"]) -> str:
    """Ask a person."""
    return name


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SOON):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def counting(store: Store, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the queries of a store, by the names of its methods."""
    counted = Counter[str]()

    def wrapped(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def asked(*args: Any, **options: Any) -> Any:
            counted[name] += 1
            return await method(*args, **options)

        return asked

    for name, method in inspect.getmembers(store, inspect.iscoroutinefunction):
        if not name.startswith("_"):
            monkeypatch.setattr(store, name, wrapped(name, method))
    return counted


@asynccontextmanager
async def pair(url: str) -> AsyncGenerator[tuple[Runtime, Runtime]]:
    limits = Limits(total=5_000, per_session=5_000)
    tools = [hold, echo, pay]
    async with Runtime(tools, store=url, limits=limits) as here, Runtime(tools, store=url) as there:
        yield here, there


async def cost_of_a_wake(url: str, busy: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return the queries of a process with that many busy sessions after another process cancelled one execution."""
    async with pair(url) as (here, there):
        sessions = [await here.open(f"{busy}-{number}", "ann") for number in range(busy)]
        started = await asyncio.gather(*(session.call("hold", {"name": session.id}) for session in sessions))
        asked = [await session.call("pay", {"name": "x"}) for session in sessions[:3]]
        assert {each.status for each in asked} == {"waiting"}
        other = await there.open(f"{busy}-0", "ann")
        await until(lambda: _yes(not here.sessions._notifications._polling))
        monkeypatch.setattr(here.sessions._heartbeat, "_poll", _nothing)
        counted = counting(here.store, monkeypatch)
        counted.clear()
        await other.cancel(started[0].execution_id)
        await until(lambda: _yes(sessions[0].execution(started[0].execution_id).status == "cancelled"))
        await until(lambda: _yes(not here.sessions._notifications._polling))
        del counted["commit"]
        assert sum(not each.terminal for each in here.manager.live) == busy - 1 + len(asked)
        return Counter(counted)


async def _yes(condition: bool) -> bool:
    return condition


async def _nothing() -> None:
    return


async def test_d2_cost_of_a_notification_does_not_grow_with_the_sessions(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as few:
        small = await cost_of_a_wake(shared_url, 10, few)
    with monkeypatch.context() as many:
        large = await cost_of_a_wake(shared_url, 400, many)
    assert sum(small.values()) <= 8, small  # it may be woken twice: by the cancelling and by what was written before it
    assert sum(large.values()) <= 8, large


async def test_d2_notifications_during_a_poll_are_handled_together(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pair(shared_url) as (here, _):
        sessions = [await here.open(f"s{number}", "ann") for number in range(50)]
        await asyncio.gather(*(session.call("hold", {"name": session.id}) for session in sessions))
        counted = counting(here.store, monkeypatch)
        for _ in range(20):
            for session in sessions:
                here.sessions.notified(session.id)
        await until(lambda: _yes(not here.sessions._notifications._polling))
        assert counted["stopping"] <= 2
        assert counted["executions"] == 0


async def test_d2_executions_of_another_process_cost_no_query_without_readers(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pair(postgres_url) as (here, there):
        session, other = await here.open("s", "ann"), await there.open("s", "ann")
        held = await session.call("hold", {"name": "x"})
        notified = asyncio.Event()
        forward = here.sessions.notified

        def note(session_id: str | None, notice: Notice = Notice.CHANGED, /) -> None:
            forward(session_id, notice)
            if notice is Notice.QUIET:
                notified.set()

        store: Any = here.store
        monkeypatch.setattr(store._opened.notifier, "_woken", note)
        monkeypatch.setattr(here.sessions._heartbeat, "_poll", _nothing)
        await until(lambda: _yes(not here.sessions._notifications._polling))
        counted = counting(here.store, monkeypatch)
        async with asyncio.timeout(SOON):
            for number in range(5):
                await other.call("echo", {"name": str(number)})
                await notified.wait()
                notified.clear()
        assert not here.sessions._notifications._polling
        assert not counted, "nothing of it concerns this process"
        events = session.events()
        async with asyncio.timeout(SOON):
            await other.call("echo", {"name": "last"})
            async for event in events:  # a reader gets them
                if event.kind == "tool_result" and event.data["value"] == "last":
                    break
        await other.cancel(held.execution_id)
        assert (await session.result(held.execution_id, timeout=SOON)).status == "cancelled"


async def test_d2_poll_is_repeated_after_a_store_error(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callboard.sessions.change_notifications.RETRY_DELAY", 0.01)
    async with pair(sqlite_url) as (here, there):
        session = await here.open("s", "ann")
        outcome = await session.call("hold", {"name": "x"})
        stopping, failures = here.store.stopping, 0

        async def fail(owner_id: str) -> Any:
            nonlocal failures
            failures += 1
            if failures < 3:
                raise StoreUnavailable("It is away.")
            return await stopping(owner_id)

        monkeypatch.setattr(here.store, "stopping", fail)
        await (await there.open("s", "ann")).cancel(outcome.execution_id)
        assert (await session.result(outcome.execution_id, timeout=SOON)).status == "cancelled"
        assert failures >= 3


async def test_m3_answers_of_other_processes_are_found_with_one_query(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pair(shared_url) as (here, there):
        session, other = await here.open("s", "ann"), await there.open("s", "ann")
        asked = [await session.call("pay", {"name": str(number)}) for number in range(30)]
        requests = await other.requests()
        assert len(requests) == 30
        counted = counting(here.store, monkeypatch)
        await other.answer(requests[7].id, {"approved": True})
        assert (await session.result(asked[7].execution_id, timeout=SOON)).value == "7"
        assert counted["request"] == 0
        assert counted["closed_requests"] <= 5
