"""Conditions of SQLite files: damaged, full, locked, removed, or shared without a server (D1, E5)."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event as sqlalchemy_event
from sqlalchemy.dialects import sqlite

from callboard.adapters.stores import open_store
from callboard.adapters.stores.connections import PinnedConnection
from callboard.adapters.stores.queue_queries import select_claimed
from callboard.adapters.stores.sql import SqlStore
from callboard.adapters.stores.sqlite import database as adapter
from callboard.adapters.stores.sqlite.database import LONGEST, SqliteDatabase
from callboard.adapters.stores.sqlite.poller import DataVersionPoller
from callboard.adapters.stores.staging import StagedGroup
from callboard.adapters.stores.statements import driver
from callboard.events.event import encode_event
from callboard.storage.change import Change, Notice
from callboard.storage.errors import Conflict, StoreError, StoreUnavailable
from callboard.testing.store_rows import add, create, event, execution_row, finished_row, owner_row, post

pytestmark = pytest.mark.anyio


def ignore(session_id: str | None, notice: Notice = Notice.CHANGED, /) -> None:
    """Ignore a notification."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "callboard.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqlStore]:
    store = SqlStore(SqliteDatabase(f"sqlite:///{path}"))
    await store.open(ignore)
    try:
        yield store
    finally:
        await store.close()


def on_connection(store: SqlStore, statement: str) -> None:
    """Run a statement on the connection that writes."""
    _writing(store).execute(statement)


def trace(store: SqlStore, callback: Callable[[str], None]) -> None:
    """Call back with every statement on the connection that writes."""
    _writing(store).set_trace_callback(callback)


def _writing(store: SqlStore) -> sqlite3.Connection:
    assert store._opened is not None
    connection = store._opened._writer._connection
    assert connection is not None
    return driver(connection)


def idle_poller(store: SqlStore, instance: str | None, woken: Callable[[str | None], object]) -> DataVersionPoller:
    """Return a poller that polls only when a test calls it."""
    assert isinstance(store._database, SqliteDatabase)
    poller = DataVersionPoller(store._database, instance or store._database.instance, lambda each, *_: woken(each))
    poller.close()
    poller._connection = PinnedConnection(store._database, writes=False)
    poller._version = None  # that of the connection before
    return poller


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


async def filled(path: Path, events: int = 200) -> None:
    """Create a file with a session and its events."""
    store = open_store(f"sqlite:///{path}")
    await store.open(ignore)
    await store.commit([create(), Change("s", events=[event(number) for number in range(events)])])
    await store.close()


# The file


async def test_d1_closed_store_leaves_only_its_file(path: Path) -> None:
    await filled(path)
    assert sorted(found.name for found in path.parent.iterdir()) == ["callboard.db"]


async def test_d1_relative_address_is_relative_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await filled(Path("a file no.db"))
    assert (tmp_path / "a file no.db").exists()
    (tmp_path / "100% #1").mkdir()
    await filled(Path("100% #1/x.db"))
    assert (tmp_path / "100% #1" / "x.db").exists()


async def test_b6_commits_are_synced_and_readers_do_not_wait(store: SqlStore) -> None:
    database = SqliteDatabase(f"sqlite:///{store._database._path}")  # type: ignore[attr-defined]
    with closing(database._connection()) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    await store.commit([create()])
    with closing(sqlite3.connect(store._database._path)) as other:  # type: ignore[attr-defined]
        other.execute("BEGIN IMMEDIATE")
        assert await store.session("s") is not None, "a reader does not wait for a writer"
        other.rollback()


def scrambled(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for place in range(4096, len(content), 97):
        content[place] ^= 0xFF
    path.write_bytes(content)


def damaged_at_its_end(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-4096] + bytes(byte ^ 0xFF for byte in content[-4096:]))


def garbage(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 40)


def shortened(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5000])


def overwritten(path: Path) -> None:
    path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])


def text(path: Path) -> None:
    path.write_text("these are my notes\n" * 300)


def short(path: Path) -> None:
    path.write_bytes(b"SQLite")


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [scrambled, damaged_at_its_end, garbage, shortened, overwritten, text, short])
async def test_d1_damaged_file_is_refused_and_left_as_it_is(path: Path, damage: Callable[[Path], None]) -> None:
    await filled(path)
    damage(path)
    before = content(path)
    with pytest.raises(StoreError, match=rf"^The SQLite file {path} is not a whole database") as caught:
        await open_store(f"sqlite:///{path}").open(ignore)
    assert not isinstance(caught.value, StoreUnavailable), "a retry does not help"
    assert content(path) == before
    assert [found.name for found in path.parent.iterdir()] == ["callboard.db"]


async def test_d1_file_that_another_process_begins_meanwhile_is_not_called_damaged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied(path)
    other = path.with_name("other.db")
    await filled(other)
    fstat = os.fstat

    def grow(descriptor: int) -> os.stat_result:
        path.write_bytes(other.read_bytes())
        return fstat(descriptor)

    monkeypatch.setattr(adapter.os, "fstat", grow)
    store = open_store(f"sqlite:///{path}")
    await store.open(ignore)
    await store.close()


async def test_d1_file_that_another_process_writes_during_the_check_is_not_called_damaged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(path)
    whole = content(path)
    assert whole is not None
    in_use, looked = SqliteDatabase._in_use, 0

    def write_meanwhile(self: SqliteDatabase) -> bool:
        """The other process has written a part of the file at the first look, and has closed it at the second."""
        nonlocal looked
        looked += 1
        path.write_bytes(whole[: len(whole) // 2] if looked == 1 else whole)
        return in_use(self)

    monkeypatch.setattr(SqliteDatabase, "_in_use", write_meanwhile)
    store = open_store(f"sqlite:///{path}")
    await store.open(ignore)
    await store.close()
    assert looked == 2


async def test_d1_database_of_something_else_is_left_as_it_is(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE sessions (mine TEXT)")
    before = content(path)
    with pytest.raises(StoreError, match="of something else"):
        await open_store(f"sqlite:///{path}").open(ignore)
    assert content(path) == before
    assert [found.name for found in path.parent.iterdir()] == ["callboard.db"]


async def test_d1_database_of_something_else_is_not_taken_over_while_in_use(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE mine (a)")
        with pytest.raises(StoreError, match="of something else"):
            await open_store(f"sqlite:///{path}").open(ignore)
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


async def test_d1_file_damaged_while_in_use_is_an_error_that_says_so(path: Path) -> None:
    await filled(path, events=3000)
    store = SqlStore(SqliteDatabase(f"sqlite:///{path}"))
    await store.open(ignore)
    scrambled(path)
    with pytest.raises(StoreError, match="not a whole database"):
        await store.events("s", 0, 3000)
    await store.close()


async def test_d1_missing_folder_is_named_as_the_reason(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=rf"{tmp_path}/no/x\.db cannot be made: its folder does not exist"):
        await open_store(f"sqlite:///{tmp_path}/no/x.db").open(ignore)
    with pytest.raises(StoreError, match=rf"{tmp_path} is a folder\. Name a file in it\."):
        await open_store(f"sqlite:///{tmp_path}").open(ignore)


@pytest.mark.parametrize("others", [[], [add(execution_row(priority=2**70))]])
async def test_d1_full_disk_is_unavailable_and_writes_nothing(store: SqlStore, others: list[Change]) -> None:
    await store.commit([create()])
    on_connection(store, "PRAGMA max_page_count = 20")
    large = [Change("s", events=[event(number) for number in range(3000)]), *others]
    with pytest.raises(StoreUnavailable, match=r"callboard\.db cannot grow: the disk is full"):
        await store.commit(large)
    assert (await store.events("s", 0, 9)).lines == []
    assert (await store.commit(large))[0] == 3000, "the new connection does not have the limit"


async def test_d1_log_is_cut_after_a_large_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "LOG_LIMIT", 100_000)
    store, log = SqlStore(SqliteDatabase(f"sqlite:///{path}")), path.with_name("callboard.db-wal")
    await store.open(ignore)
    try:
        await store.commit([create()])
        large = encode_event("system_notice", 0.0, b'{"text":"%b"}' % (b"x" * 100_000))
        await store.commit([Change("s", events=[large] * 60)])
        assert log.stat().st_size > 5_000_000
        for number in range(100):  # the log starts again at a moment in which no other connection reads from it
            await store.commit([post(number)])
            if log.stat().st_size <= 100_000:
                break
        assert log.stat().st_size <= 100_000
    finally:
        await store.close()


async def test_d1_file_locked_for_long_is_unavailable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "BUSY", 0.05)
    store = SqlStore(SqliteDatabase(f"sqlite:///{path}"))
    await store.open(ignore)
    await store.commit([create()])
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked by another process"):
            await store.commit([post(1)])
        with pytest.raises(StoreUnavailable, match="locked by another process"):
            store.beat("p1")
        other.rollback()
    assert await store.commit([post(1)]) == [1]
    await store.close()


@pytest.mark.parametrize("replaced", [True, False])
async def test_d1_file_that_was_removed_is_not_written(path: Path, replaced: bool) -> None:
    """Its connection would continue to write to a file without a name."""
    store = SqlStore(SqliteDatabase(f"sqlite:///{path}"))
    await store.open(ignore)
    await store.commit([create()])
    await asyncio.to_thread(path.rename, path.with_suffix(".old"))
    if replaced:
        await asyncio.to_thread(path.write_bytes, b"")
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="removed"):
            await store.commit([post(1)])
    assert content(path) == (b"" if replaced else None)
    await store.close()


async def test_d1_file_that_may_not_be_written_is_unavailable(store: SqlStore) -> None:
    await store.commit([create()])
    on_connection(store, "PRAGMA query_only = ON")
    with pytest.raises(StoreUnavailable, match=r"is read-only\. Give this user the right to write the file"):
        await store.commit([post(1)])


async def test_h5_many_late_results_of_a_session_are_written_at_once(store: SqlStore) -> None:
    names = [f"x{number}" for number in range(50)]
    await store.commit([create(), *(add(execution_row(name)) for name in names)])
    written: list[str] = []
    trace(store, written.append)
    await store.commit([Change("s", late=[name]) for name in names])
    assert sum("SET unconsumed_results" in statement for statement in written) == 1
    row = await store.session("s")
    assert row is not None
    assert row.unconsumed == tuple(names)


# Notifications, heartbeats, cancellation


async def test_d2_own_commits_and_heartbeats_of_others_cause_no_notification(path: Path) -> None:
    mine, woken = SqlStore(SqliteDatabase(f"sqlite:///{path}")), list[str | None]()
    other = SqlStore(SqliteDatabase(f"sqlite:///{path}"))
    await mine.open(ignore)
    await other.open(ignore)
    poller = idle_poller(mine, None, woken.append)
    try:
        await mine.commit([create()])
        await other.join(owner_row("p2"))
        assert other.beat("p2")
        poller.poll()
        assert woken == []
        await other.commit([post(1), create("t")])
        assert other.beat("p2")
        poller.poll()
        assert woken == ["s", "t"]
        poller.poll()
        assert woken == ["s", "t"], "each is reported once"
        await other.delete("t")
        await other.commit([create("u" * LONGEST)])
        poller.poll()
        assert woken[2:] == ["t", None], "a list that is too long stands for all sessions"
    finally:
        poller._connection.close()
        await mine.close()
        await other.close()


async def test_d2_executions_to_cancel_are_found_without_reading_all_that_run(store: SqlStore, path: Path) -> None:
    query = str(store._stopping.params(owner="p1").compile(dialect=sqlite.dialect(paramstyle="named")))
    with closing(sqlite3.connect(path)) as connection, connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", {"owner": "p1", "param_1": "turn"})]
    assert any("executions_stopping" in step for step in plan)
    assert any("turns_stopping" in step for step in plan)


async def test_d3_claims_of_a_worker_are_found_without_reading_what_waits(store: SqlStore, path: Path) -> None:
    query = str(select_claimed("w").compile(dialect=sqlite.dialect(paramstyle="named")))
    with closing(sqlite3.connect(path)) as connection, connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", {"owner_1": "w"})]
    assert plan == ["SEARCH executions USING INDEX executions_owner (owner=?)"]


async def test_d2_process_that_missed_notifications_is_notified_of_all_sessions(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "KEPT", 3)
    monkeypatch.setattr(adapter, "FORGET_EVERY", 1)
    store, woken = SqlStore(SqliteDatabase(f"sqlite:///{path}")), list[str | None]()
    await store.open(ignore)
    poller = idle_poller(store, "another", woken.append)
    try:
        await store.commit([create()])
        poller.poll()
        for number in range(5):
            await store.commit([post(number)])
        poller.poll()
        assert woken == ["s", None, "s", "s", "s"]
        with closing(sqlite3.connect(path)) as connection, connection:
            assert connection.execute("SELECT count(*) FROM notifications").fetchone() == (3,)
    finally:
        poller._connection.close()
        await store.close()


async def test_d2_old_notifications_are_deleted_from_time_to_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "KEPT", 3)
    monkeypatch.setattr(adapter, "FORGET_EVERY", 4)
    store = SqlStore(SqliteDatabase(f"sqlite:///{path}"))
    await store.open(ignore)
    try:
        await store.commit([create()])
        for number in range(20):
            await store.commit([post(number)])
            with closing(sqlite3.connect(path)) as connection, connection:
                (kept,) = connection.execute("SELECT count(*) FROM notifications").fetchone()
            assert min(number + 2, 3) <= kept <= 3 + 4
    finally:
        await store.close()


async def test_e5_beat_works_while_the_event_loop_is_blocked(store: SqlStore) -> None:
    await store.join(owner_row("p1"))
    beaten: list[bool] = []
    thread = threading.Thread(target=lambda: beaten.append(store.beat("p1")))
    thread.start()
    thread.join(90)  # blocks the loop
    assert beaten == [True]


async def test_e5_commit_continues_if_its_caller_is_cancelled(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.commit([create()])
    begun, go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    begin = store._database.begin

    def held_up(connection: object) -> None:
        loop.call_soon_threadsafe(begun.set)
        assert go.wait(90)
        begin(connection)  # type: ignore[arg-type]

    monkeypatch.setattr(store._database, "begin", held_up)
    task = asyncio.create_task(store.commit([post(1)]))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert await store.commit([post(2)]) == [2]


async def test_late_call_does_not_open_a_closed_store(path: Path) -> None:
    store = SqlStore(SqliteDatabase(f"sqlite:///{path}"))
    await store.open(ignore)
    opened = store._opened
    assert opened is not None
    await store.close()
    store._opened = opened  # as a caller that read it before the close
    with pytest.raises(StoreError, match="not open"):
        store.beat("p1")
    with pytest.raises(StoreError, match="not open"):
        await store.session("s")
    assert sorted(found.name for found in path.parent.iterdir()) == ["callboard.db"]


async def test_open_twice_is_refused(store: SqlStore) -> None:
    with pytest.raises(StoreError, match="open already"):
        await store.open(ignore)


async def test_closed_store_leaves_no_thread(path: Path) -> None:
    before = set(threading.enumerate())
    await filled(path)
    assert [thread for thread in threading.enumerate() if thread not in before and "store" in thread.name] == []


# Unacceptable data


async def test_e5_unacceptable_change_fails_alone(store: SqlStore) -> None:
    results = await store.commit(
        [create(), post(1), Change("s", events=[b'{"kind":"k","at":"\xff"}']), Change("s", events=[b"[]"]), post(2)]
    )
    assert [isinstance(result, Conflict) for result in results] == [False, False, True, True, False]
    assert results[-1] == 2


async def test_e5_change_that_the_database_does_not_take_is_logged(
    store: SqlStore, caplog: pytest.LogCaptureFixture
) -> None:
    await store.commit([create()])
    row = execution_row("x1", attempt=None, document=b'"private"')  # a column that must have a value
    results = await store.commit([post(1), add(row), post(2)])
    assert [isinstance(result, Conflict) for result in results] == [False, True, False]
    [record] = [record for record in caplog.records if record.name == "callboard.stores"]
    assert record.message == "a change of session s is not written: its data is not taken (IntegrityError)"
    assert record.exc_info is None, "it may quote the data"


async def test_e5_fault_of_the_runtime_while_it_writes_a_change_is_logged_with_its_place(
    store: SqlStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.commit([create()])
    stage = StagedGroup.stage

    def fail(group: StagedGroup, change: Change) -> int | Conflict:
        if change.executions:
            raise TypeError("a bug")
        return stage(group, change)

    monkeypatch.setattr(StagedGroup, "stage", fail)
    results = await store.commit([post(1), add(execution_row("x1")), post(2)])
    assert [isinstance(result, Conflict) for result in results] == [False, True, False]
    [record] = [record for record in caplog.records if record.name == "callboard.stores"]
    assert record.message == "a change of session s is not written: its data is not taken (TypeError)"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], TypeError)


async def test_m3_open_requests_are_found_without_reading_closed_ones(store: SqlStore, path: Path) -> None:
    queries: list[tuple[str, Any]] = []
    engine = store._database._engine  # type: ignore[reportAttributeAccessIssue]

    def record(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        queries.append((statement, parameters))

    sqlalchemy_event.listen(engine, "before_cursor_execute", record)
    try:
        await store.requests(status="open", due=1.0)
        await store.next_expiry()
        await store.requests(session_id="s", status="open")
    finally:
        sqlalchemy_event.remove(engine, "before_cursor_execute", record)
    with closing(sqlite3.connect(path)) as connection:
        plans = [connection.execute(f"EXPLAIN QUERY PLAN {query}", given).fetchall() for query, given in queries]
    for plan, index in zip(plans, ("requests_expiry", "requests_expiry", "requests_open"), strict=True):
        assert any(index in step for *_, step in plan), plan


async def test_h1_long_value_with_the_key_that_postgresql_reserves_has_an_excerpt(store: SqlStore) -> None:
    value = b'{"$json": "' + b"v" * 2_000 + b'"}'
    await store.commit([create(), add(finished_row(value=value))])
    [(row, cut)] = await store.brief_executions("s", limit=1, longest=100)
    assert row.value is None
    assert cut["value"] == (len(value), value[:100].decode())
