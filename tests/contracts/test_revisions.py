"""A process notices that another version migrates its store, and writes nothing more (D2, E7)."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine

from callboard import Runtime, tool
from callboard.adapters.stores.tables import REVISION, VERSION_TABLE
from callboard.storage.errors import StoreError, StoreOutdated, StoreUnavailable
from callboard.storage.store import Store
from callboard.testing.store_rows import (
    NOW,
    ROOMY,
    add,
    create,
    document_write,
    execution_row,
    key_row,
    note,
    owner_row,
    post,
)

from .conftest import Opening

pytestmark = pytest.mark.anyio

NEWER = "9999"


@pytest.fixture
def engine(shared_url: str) -> Iterator[Engine]:
    engine = create_engine(shared_url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
    yield engine
    set_revision(engine, REVISION)  # the database is shared with other tests
    engine.dispose()


def set_revision(engine: Engine, revision: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '{revision}'")


WRITES: dict[str, Callable[[Store], Any]] = {
    "make": lambda store: store.commit([create("t")]),
    "post": lambda store: store.commit([post(2)]),
    "many": lambda store: store.commit([post(2), create("t"), add(execution_row("y"))]),
    "unfit": lambda store: store.commit([post(2), add(execution_row("y", priority=2**70))]),
    "delete": lambda store: store.delete("s"),
    "trim": lambda store: store.trim("s", keep=0, before=0.0),
    "join": lambda store: store.join(owner_row("p2")),
    "beat": lambda store: asyncio.to_thread(store.beat, "p1"),
    "recover": lambda store: store.recover("p1", 0, "p2"),
    "add key": lambda store: store.add_key(key_row("new")),
    "revoke key": lambda store: store.revoke_key("k", NOW),
    "use key": lambda store: store.key_used("k", NOW),
    "save note": lambda store: store.save_note("ann", note(), most=9),
    "delete note": lambda store: store.delete_note("ann", "k"),
    "put document": lambda store: store.put_document("ann", "c", document_write(), ROOMY),
    "delete document": lambda store: store.delete_document("ann", "c", "k"),
    "verify": lambda store: store.verify(),
}


@pytest.mark.parametrize("name", WRITES)
async def test_e7_store_that_was_migrated_refuses_writes_of_an_older_process(
    name: str, shared_url: str, opening: Opening, engine: Engine
) -> None:
    async with opening(shared_url) as store:
        await store.join(owner_row("p1"))
        await store.add_key(key_row())
        await store.commit([create(), post(1), add(execution_row(owner="p1"))])
        await store.verify()
        set_revision(engine, NEWER)
        for _ in range(2):
            with pytest.raises(StoreOutdated, match=f"migrated to revision {NEWER}.*restart it") as caught:
                await WRITES[name](store)
            assert not isinstance(caught.value, StoreUnavailable), "a retry does not help"
        assert await store.heads(["s", "t"]) == {"s": (1, NOW)}
        assert [row.id for row in await store.executions("s")] == ["x"]
        assert await store.owners() == [owner_row("p1")]
        assert await store.keys() == [key_row()]
        await store.leave("p1")
        assert await store.owners() == [owner_row("p1", beat=-1)], "its work can be recovered at once"


async def test_e7_writer_that_waits_for_a_migration_sees_its_revision(emptied_database: str, opening: Opening) -> None:
    """A migration locks the sessions before it changes anything, and a writer reads the revision under that lock."""
    async with opening(emptied_database) as store:
        await store.commit([create()])
        for number in range(8):  # until the driver has prepared its statements
            await store.commit([post(number)])
        with psycopg.connect(emptied_database) as migration:
            migration.execute(f"LOCK TABLE sessions, {VERSION_TABLE} IN ACCESS EXCLUSIVE MODE")
            migration.execute(f"UPDATE {VERSION_TABLE} SET version_num = '{NEWER}'")  # type: ignore[arg-type]
            writing = asyncio.ensure_future(store.commit([post(9)]))
            with psycopg.connect(emptied_database) as looking:
                waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'sessions'::regclass"
                async with asyncio.timeout(90):
                    while looking.execute(waiting).fetchone() == (0,):  # noqa: ASYNC110
                        await asyncio.sleep(0.005)
            migration.commit()
        try:
            with pytest.raises(StoreOutdated):
                await writing
            assert (await store.events("s", 8, 9)).lines == []
        finally:
            with psycopg.connect(emptied_database) as connection:
                connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '{REVISION}'")  # type: ignore[arg-type]


@tool
async def ping() -> str:
    """Answer."""
    return "pong"


async def test_e7_calls_of_an_older_process_fail_with_advice(shared_url: str, engine: Engine) -> None:
    async with asyncio.timeout(90), Runtime([ping], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert (await session.call("ping")).value == "pong"
        set_revision(engine, NEWER)
        with pytest.raises(StoreError, match="restart it with the version of Callboard"):
            await session.call("ping")
        with pytest.raises(StoreError, match="restart it with the version of Callboard"):
            await runtime.open("t", "ann")
