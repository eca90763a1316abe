"""The locks of processes: the system holds each lock for its process alone, not the interpreter (E5)."""

import asyncio
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, event
from sqlalchemy.exc import DBAPIError

from callboard.adapters.stores import open_store
from callboard.adapters.stores.postgres.advisory_locks import AdvisoryLocks, lock_key
from callboard.storage.store import Store
from callboard.testing.store_rows import owner_row

pytestmark = pytest.mark.anyio

HOLD = """
import asyncio, os, sys, time
from callboard.adapters.stores import open_store
from callboard.storage.rows import OwnerRow

async def main():
    store = open_store(sys.argv[1])
    await store.open(lambda *_: None)
    await store.join(OwnerRow(id="p1", host="h", pid=1, started="1", beat=0))
    if os.fork() == 0:  # a child that outlives it, as a tool may start
        sys.stdin.read()
        os._exit(0)
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def opened(url: str) -> Store:
    store = open_store(url)
    await store.open(lambda *_: None)
    return store


async def test_e5_lock_ends_with_its_process_also_if_a_forked_child_survives(shared_url: str) -> None:
    store = await opened(shared_url)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLD, shared_url, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        assert await store.living(["p1"]) == {"p1": True}
        process.kill()
        async with asyncio.timeout(90):
            while (await store.living(["p1"]))["p1"]:  # PostgreSQL needs a moment to notice
                pass
        process.stdin.close()  # the child ends
        assert await process.stdout.read() == b""  # and with it the pipe that it inherited
    finally:
        await process.wait()
        await store.close()


async def test_e5_a_lock_is_seen_by_another_store_of_the_same_process(shared_url: str) -> None:
    first, second = await opened(shared_url), await opened(shared_url)
    await first.join(owner_row("p1"))
    assert await second.living(["p1"]) == {"p1": True}
    await first.close()
    async with asyncio.timeout(90):
        while any((await second.living(["p1"])).values()):  # PostgreSQL needs a moment to notice
            pass
    await second.close()


async def test_e5_a_process_that_gets_its_lock_says_nothing(shared_url: str, caplog: pytest.LogCaptureFixture) -> None:
    store = await opened(shared_url)
    await store.join(owner_row("p1"))
    assert await store.living(["p1"]) == {"p1": True}
    await store.close()
    assert caplog.messages == []


async def test_e5_a_lock_whose_file_was_removed_is_taken_again(sqlite_url: str, tmp_path: Path) -> None:
    store, other = await opened(sqlite_url), await opened(sqlite_url)
    await store.join(owner_row("p1"))
    [file] = (path for path in Path(sqlite_url.removeprefix("sqlite:///")).parent.iterdir() if "-owner-" in path.name)
    assert stat.S_IMODE(file.stat().st_mode) & 0o111 == 0
    file.unlink()
    assert await other.living(["p1"]) == {}, "unknown does not mean dead"
    store.beat("p1")
    assert await other.living(["p1"]) == {"p1": True}
    await store.leave("p1")
    assert not file.exists()
    await store.close()
    await other.close()


async def test_e5_a_dead_process_leaves_no_file_once_it_is_recovered(sqlite_url: str) -> None:
    folder = Path(sqlite_url.removeprefix("sqlite:///")).parent
    store = await opened(sqlite_url)
    await store.join(owner_row("p1"))
    assert (await store.recover("p1", 0, "heir")).found
    assert [path.name for path in folder.iterdir() if "-owner-" in path.name] == []
    store.beat("p1")
    await store.close()
    assert [path.name for path in folder.iterdir() if "-owner-" in path.name] == []


async def test_e5_a_lock_is_taken_again_after_its_connection_broke(postgres_url: str) -> None:
    store, other = await opened(postgres_url), await opened(postgres_url)
    await store.join(owner_row("p1"))
    key = lock_key("p1") & (2**64 - 1)
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks"
            " WHERE locktype = 'advisory' AND classid = %s AND objid = %s",
            (key >> 32, key & (2**32 - 1)),
        )
    assert await other.living(["p1"]) == {"p1": False}
    assert store.beat("p1")
    assert await other.living(["p1"]) == {"p1": True}
    await store.close()
    await other.close()


def test_e5_lock_on_a_broken_connection_raises_what_the_connection_is_opened_again_for(postgres_url: str) -> None:
    engine = create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        connection.rollback()

        @event.listens_for(connection, "before_cursor_execute", once=True)
        def _(*arguments: object) -> None:
            with psycopg.connect(postgres_url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])

        with pytest.raises(DBAPIError) as caught:
            AdvisoryLocks().hold(connection, "p1")
        assert caught.value.connection_invalidated
    engine.dispose()
