"""A server that writes nothing for more than a day still sends and receives notifications (D2, M3)."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Annotated

import psycopg
import pytest

from callboard import Runtime, tool
from callboard.adapters.stores import open_store
from callboard.adapters.stores.postgres import database as postgres
from callboard.adapters.stores.postgres.database import FORGOTTEN
from callboard.sessions.session import live_session
from callboard.storage.change import Notice
from callboard.storage.errors import StoreUnavailable
from callboard.testing.store_rows import create, post

from .relay import relayed
from .test_postgres import COMMIT, SOON, everything, opened, query

pytestmark = pytest.mark.anyio


@tool(mode="human")
async def pay(amount: Annotated[int, "How much"]) -> str:
    """Pay after a person agrees."""
    return f"paid {amount}"


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SOON):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.fixture
def a_day_later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Shift the clock by more than the time after which abandoned rows are removed."""

    def shift() -> None:
        later = SimpleNamespace(time=lambda: time.time() + FORGOTTEN + 3_600, monotonic=time.monotonic)
        monkeypatch.setattr(postgres, "time", later)

    return shift


async def test_d2_server_idle_for_a_day_sends_notifications_after_another_process_started(
    postgres_url: str, a_day_later: Callable[[], None]
) -> None:
    async with Runtime([pay], store=postgres_url) as idle, Runtime([pay], store=postgres_url) as second:
        session = await second.open("s", "ann")
        outcome = await second.sessions.get("s", "ann").call("pay", {"amount": 5})
        assert outcome.status == "waiting"
        same = await idle.open("s", "ann")
        (request,) = await same.requests()
        a_day_later()
        async with opened(postgres_url) as third:  # as `callboard sessions list` does
            assert [row.id for row in await third.sessions()] == ["s"]

        before = session.board.last_seq
        with live_session(session).board.reading():
            await same.post({"kind": "user_input", "text": "Hello?"})
            await until(lambda: _grown(session.board.last_seq > before))
        await same.answer(request.id, {"approved": True})
        assert (await session.result(outcome.execution_id, timeout=SOON)).value == "paid 5"


async def _grown(condition: bool) -> bool:
    return condition


async def test_d2_rows_of_open_stores_stay_and_those_of_dead_ones_are_deleted(
    postgres_url: str, a_day_later: Callable[[], None]
) -> None:
    async with opened(postgres_url) as living:
        await living.commit([create()])
        (mine,) = query(postgres_url, "SELECT instance FROM batches")
        query(postgres_url, "INSERT INTO batches VALUES ('dead', 7, '[]', %s)", time.time())
        a_day_later()
        async with opened(postgres_url):
            found = query(postgres_url, "SELECT instance FROM batches")
            assert mine in found
            assert ("dead",) not in found


async def test_d2_notification_does_not_depend_on_a_row_that_another_process_removes(postgres_url: str) -> None:
    woken: list[str | None] = []
    came = asyncio.Event()

    def wake(session_id: str | None, notice: Notice = Notice.CHANGED, /) -> None:
        woken.append(session_id)
        came.set()

    async with opened(postgres_url) as writer, opened(postgres_url, wake):
        await writer.commit([create()])
        async with asyncio.timeout(SOON):
            await came.wait()
            woken.clear()
            came.clear()
            query(postgres_url, "DELETE FROM batches")
            await writer.commit([post(1)])
            await came.wait()
        assert woken == ["s"]
        assert query(postgres_url, "SELECT number FROM batches") == [(2,)], "the next write creates the row again"


@pytest.mark.parametrize("when", ["before", "after"])
async def test_e5_group_is_written_once_also_if_its_row_was_removed(postgres_url: str, when: str) -> None:
    """The commit is interrupted, and the row that records it did not exist before."""
    with relayed(postgres_url) as relay:
        async with opened(relay.url) as store:
            await store.commit([create()])
            query(postgres_url, "DELETE FROM batches")
            relay.cut(COMMIT, when)  # type: ignore[arg-type]
            assert await store.commit([post(1)]) == [1]
            assert relay.cuts_left == 0
            assert len(await everything(store)) == 1


async def test_e5_store_waits_for_an_unfinished_commit_also_if_its_row_was_removed(postgres_url: str) -> None:
    """The first attempt has created the row and not committed; the second must not write the group again."""
    store = open_store(postgres_url)
    await store.open(lambda *_: None)
    try:
        await store.commit([create()])
        instance = store._database.instance  # type: ignore[attr-defined]
        group = [post(1)]
        query(postgres_url, "DELETE FROM batches")
        query(
            postgres_url,
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$"
            " BEGIN RAISE EXCEPTION 'gone' USING ERRCODE = '57P01'; END $$",
        )
        query(postgres_url, "CREATE TRIGGER fail BEFORE INSERT ON events EXECUTE FUNCTION fail()")
        with pytest.raises(StoreUnavailable):
            await store.commit(group)
        query(postgres_url, "DROP TRIGGER fail ON events")
        with psycopg.connect(postgres_url) as under_way:  # as the server might still carry out the first attempt
            under_way.execute("INSERT INTO batches VALUES (%s, 2, '[41]', 0)", [instance])
            again = asyncio.create_task(store.commit(group))

            async def waits() -> bool:
                blocked = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                return await asyncio.to_thread(query, postgres_url, blocked) == [(True,)]

            await until(waits)
            assert not again.done()
            under_way.commit()
        assert await again == [41]
        assert await everything(store) == []
    finally:
        await store.close()
