"""Opening and closing stores, and notifications between two stores on one database."""

import pytest

from callboard.adapters.stores import open_store
from callboard.storage.errors import StoreError
from callboard.storage.rows import SessionRow
from callboard.testing.store_contract.shared import Notifications
from callboard.testing.store_rows import create, post

from .conftest import Opening

pytestmark = pytest.mark.anyio


async def test_store_is_opened_before_it_is_used_and_can_be_opened_again(store_url: str) -> None:
    store = open_store(store_url)
    assert store.durable is (store_url != "memory://")
    if store.durable:
        with pytest.raises(StoreError, match="not open"):
            await store.session("s")
        with pytest.raises(StoreError, match="not open"):
            store.beat("p1")
    await store.open(lambda *_: None)
    assert await store.commit([create()]) == [0]
    await store.close()
    await store.close()
    await store.open(lambda *_: None)
    assert isinstance(await store.session("s"), SessionRow)
    assert await store.commit([post(1)]) == [1]
    await store.close()


async def test_d2_notifications_on_postgresql_name_sessions_of_any_length(
    emptied_database: str, opening: Opening
) -> None:
    theirs = Notifications()
    ids = {f"{number}-{'ä' * 180}" for number in range(100)}
    async with opening(emptied_database) as first, opening(emptied_database, theirs):
        await first.commit([create(session_id) for session_id in ids])
        await theirs.until(lambda: set(theirs.calls) >= ids)
        theirs.calls.clear()
        await first.commit([create("x" * 9_000)])
        await theirs.until(lambda: theirs.calls == [None])
