"""Conditions of a database server: outages, restarts, and commits with an unknown result (D2, E5, E7)."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from sqlalchemy import Connection

from callboard.adapters.stores import open_store
from callboard.adapters.stores.postgres import database
from callboard.adapters.stores.postgres.database import PostgresDatabase
from callboard.adapters.stores.postgres.listener import LONGEST, notifications
from callboard.adapters.stores.sql import SqlStore
from callboard.storage.change import Change, Notice
from callboard.storage.committer import ChangeGroup, GroupWithdrawn
from callboard.storage.document_records import DocumentConflict
from callboard.storage.errors import (
    AlreadyWritten,
    Conflict,
    IdempotencyConflict,
    StoreError,
    StoreUnavailable,
    Unstorable,
)
from callboard.storage.store import Store, Woken
from callboard.testing.store_rows import (
    ROOMY,
    add,
    claims,
    create,
    document_row,
    document_write,
    event,
    execution_row,
    idempotency_row,
    owner_row,
    post,
    request_row,
)
from tests.servers import OwnPostgres

from .relay import relayed

pytestmark = pytest.mark.anyio

BEGIN, COMMIT = b"BEGIN", b"COMMIT\0"
"""Bytes that a connection sends to begin and to commit a transaction."""

SOON = 90.0
"""Seconds to wait for something that takes a fraction of a second."""


def ignore(session_id: str | None, notice: Notice = Notice.CHANGED, /) -> None:
    """Ignore a notification."""


@asynccontextmanager
async def opened(url: str, woken: Woken = ignore) -> AsyncGenerator[SqlStore]:
    store = SqlStore(PostgresDatabase(url))
    await store.open(woken)
    try:
        yield store
    finally:
        await store.close()


def query(url: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []


async def until(url: str, condition: str, *values: object) -> None:
    """Repeat a query until it returns true."""
    async with asyncio.timeout(SOON):
        while await asyncio.to_thread(query, url, condition, *values) != [(True,)]:
            pass


async def everything(store: Store) -> list[bytes]:
    return (await store.events("s", 0, 1000)).lines


# Stored format


async def test_e7_state_of_a_session_is_stored_as_jsonb(postgres_url: str) -> None:
    async with opened(postgres_url) as store:
        await store.commit([create(namespaces=("a",), tools=("t", "u")), add(execution_row()), Change("s", late=["x"])])
        columns = dict(
            query(
                postgres_url,
                "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'session_tool_state'",
            )
        )
        assert {"session_id", "user_id", "created_at", "updated_at"} < columns.keys()
        for name in ("namespaces", "available_tools", "unconsumed_results"):
            assert columns[name] == "jsonb"
        state = "SELECT session_id, user_id, namespaces, available_tools, unconsumed_results FROM session_tool_state"
        assert query(postgres_url, state) == [("s", "ann", ["a"], ["t", "u"], ["x"])]
        assert query(postgres_url, "SELECT body->'data'->>'n' FROM events") == []
        await store.commit([post(7)])
        assert query(postgres_url, "SELECT kind, body->'data'->>'n' FROM events") == [("system_notice", "7")]


def test_h5_large_values_are_compressed_fast_unless_the_server_is_configured_otherwise(postgres_url: str) -> None:
    def compression() -> str:
        with PostgresDatabase(postgres_url).connect(writes=True) as connection:
            return connection.exec_driver_sql("SHOW default_toast_compression").scalar_one()

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        kinds = "SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression'"
        (known,) = connection.execute(kinds).fetchone() or ([],)
        assert compression() == ("lz4" if "lz4" in known else "pglz")
        name = urlsplit(postgres_url).path.strip("/")
        connection.execute(f"ALTER DATABASE {name} SET default_toast_compression = 'pglz'".encode())
        assert compression() == "pglz"


def test_d2_notifications_are_few_and_short() -> None:
    assert notifications("me", {}) == []
    quiet, changed, left = Notice
    assert notifications("me", {"a": changed, "b": changed}) == ['me:["a", "b"]']
    assert notifications("me", {"a": changed, "b": quiet, "c": quiet}) == ['me~:["b", "c"]', 'me:["a"]']
    assert notifications("me", {"a": changed, "b": left, "c": quiet}) == ['me~:["c"]', 'me:["a"]', 'me+:["b"]']
    many = [f"{number}-{'ä' * 150}" for number in range(200)]
    messages = notifications("me", dict.fromkeys(many, changed))
    assert max(map(len, messages)) <= LONGEST
    assert [name for message in messages for name in json.loads(message.removeprefix("me:"))] == many
    assert notifications("me", {"x" * 8_000: quiet}) == ["me~:[]"]


# Interrupted commits


@pytest.mark.parametrize("when", ["before", "after"])
async def test_e5_group_is_written_once_when_the_connection_breaks_in_its_commit(postgres_url: str, when: Any) -> None:
    with relayed(postgres_url) as relay:
        async with opened(relay.url) as store:
            await store.commit([create()])
            relay.cut(COMMIT, when)
            group = [post(1, 2), Change("s", consumed=["nothing"]), post(3)]
            results = await store.commit(group)
            assert relay.cuts_left == 0
            assert results[::2] == [2, 3]
            assert isinstance(results[1], Conflict)
            assert "No result" in str(results[1])
            assert len(await everything(store)) == 3
            assert await store.commit([post(4)]) == [4]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_e5_group_that_is_committed_again_is_not_written_twice(postgres_url: str, when: Any) -> None:
    with relayed(postgres_url) as relay:
        async with opened(relay.url) as store:
            await store.commit([create(), add(execution_row())])
            group = [post(1), Change("s", late=["x"])]
            relay.cut(COMMIT, when)
            relay.cut(BEGIN, "before")  # so that the store cannot find out the result
            with pytest.raises(StoreUnavailable, match="does not answer"):
                await store.commit(group)
            assert relay.cuts_left == 0
            assert await store.commit(list(group)) == [1, 1]
            assert len(await everything(store)) == 1
            again = [post(1)]
            assert await store.commit(again) == [2]
            assert await store.commit(again) == [3], "a confirmed group is written again"


@pytest.mark.parametrize("when", ["before", "after"])
async def test_k4_document_is_written_once_when_the_connection_breaks_in_its_commit(
    postgres_url: str, when: Any
) -> None:
    with relayed(postgres_url) as relay:
        async with opened(relay.url) as store:
            for expected in range(2):
                relay.cut(COMMIT, when)
                write = document_write(value=b"[%d]" % expected, expected=expected)
                row = document_row(value=write.value, version=expected + 1)
                assert await store.put_document("ann", "c", write, ROOMY) == row
                assert relay.cuts_left == 0
                assert await store.document("ann", "c", "k") == row
            relay.cut(COMMIT, when)
            relay.cut(BEGIN, "before")  # so that the store cannot find out the result
            write = document_write(value=b"[2]", expected=2)
            with pytest.raises(StoreUnavailable):
                await store.put_document("ann", "c", write, ROOMY)
            if when == "after":
                with pytest.raises(DocumentConflict):
                    await store.put_document("ann", "c", replace(write, writer="other"), ROOMY)
            assert await store.put_document("ann", "c", write, ROOMY) == document_row(value=b"[2]", version=3)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_b6_group_with_an_unknown_result_cannot_be_withdrawn_for_certain(postgres_url: str, when: Any) -> None:
    with relayed(postgres_url) as relay:
        async with opened(relay.url) as store:
            await store.commit([create()])
            group = ChangeGroup([post(1)])
            relay.cut(COMMIT, when)
            relay.cut(BEGIN, "before")
            with pytest.raises(StoreUnavailable):
                await store.commit(group)
            assert group.withdraw() is False, "the group may be committed"
            if when == "after":
                assert await store.commit(group) == [1], "the group was committed"
            else:
                with pytest.raises(GroupWithdrawn):
                    await store.commit(group)
            assert len(await everything(store)) == (1 if when == "after" else 0)
            assert await store.commit([post(2)]) == [2 if when == "after" else 1]


async def test_e5_group_of_a_process_that_was_suspended_in_its_transaction_is_written(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends the transaction of a silent process, so that others do not wait for its locks."""
    begin, suspended = PostgresDatabase.begin, list[int]()

    def suspend(self: PostgresDatabase, connection: Connection) -> None:
        if len(suspended) == 1:
            monkeypatch.undo()  # the next connection has its usual time
        begin(self, connection)
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        suspended.append(pid)
        while query(postgres_url, "SELECT 1 FROM pg_stat_activity WHERE pid = %s", pid):
            pass

    monkeypatch.setattr(database, "IDLE", 20)
    async with opened(postgres_url) as store:
        monkeypatch.setattr(PostgresDatabase, "begin", suspend)
        assert await store.commit([create(), post(1)]) == [0, 1]
        assert len(suspended) == 2
        assert len(await everything(store)) == 1


async def test_b6_group_that_was_interrupted_before_its_commit_can_be_withdrawn(postgres_url: str) -> None:
    with relayed(postgres_url) as relay:
        async with opened(relay.url) as store:
            await store.commit([create()])
            group = ChangeGroup([post(1)])
            for _ in range(2):
                relay.cut(b"pg_notify", "after")
                relay.cut(BEGIN, "before")
            with pytest.raises(StoreUnavailable):
                await store.commit(group)
            assert group.withdraw() is True
            relay.forget()
            with pytest.raises(GroupWithdrawn):
                await store.commit(group)
            assert await everything(store) == []


@pytest.mark.parametrize("when", ["before", "after"])
async def test_h6_repeats_in_an_interrupted_commit_keep_their_results(postgres_url: str, when: Any) -> None:
    first = replace(post(1), idempotency=idempotency_row(answer='{"a": "ä"}'.encode()))
    with relayed(postgres_url) as relay:
        async with opened(relay.url) as store:
            await store.commit([create(), first])
            relay.cut(COMMIT, when)
            group = [first, replace(post(2), idempotency=idempotency_row(fingerprint="g")), post(3)]
            repeated, conflict, written = await store.commit(group)
            assert relay.cuts_left == 0
            assert isinstance(repeated, AlreadyWritten)
            assert repeated.row == idempotency_row(answer='{"a": "ä"}'.encode(), seq=1)
            assert isinstance(conflict, IdempotencyConflict)
            assert (conflict.key, written) == ("k", 2)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_e5_refused_data_in_an_interrupted_commit_is_known_as_such(postgres_url: str, when: Any) -> None:
    with relayed(postgres_url) as relay:
        async with opened(relay.url) as store:
            await store.commit([create()])
            relay.cut(COMMIT, when)
            refused, written = await store.commit([add(execution_row("x", priority=2**70)), post(1)])
            assert relay.cuts_left == 0
            assert isinstance(refused, Unstorable)
            assert written == 1


async def test_e5_group_after_an_abandoned_one_is_written(postgres_url: str) -> None:
    with relayed(postgres_url) as relay:
        async with opened(relay.url) as store:
            await store.commit([create()])
            relay.cut(COMMIT, "before")
            relay.cut(BEGIN, "before")
            with pytest.raises(StoreUnavailable):
                await store.commit([post(1)])
            assert relay.cuts_left == 0
            assert await store.commit([post(2)]) == [1]


async def test_e5_heir_learns_of_work_from_an_interrupted_commit(postgres_url: str) -> None:
    with relayed(postgres_url) as relay:
        async with opened(relay.url) as store:
            await store.join(owner_row("dead"))
            row = execution_row(owner="dead")
            await store.commit([create(), add(row)])
            relay.cut(COMMIT, "after")
            assert (await store.recover("dead", 0, "heir")).claims == claims(row)
            assert await store.executions("s") == [replace(row, owner="heir")]
            assert (await store.recover("dead", 0, "heir")).claims == [], "work is given once"
            await store.join(owner_row("dead"))
            other = execution_row("y", owner="dead")
            await store.commit([add(other)])
            relay.cut(COMMIT, "after")
            relay.cut(BEGIN, "before")
            with pytest.raises(StoreUnavailable):
                await store.recover("dead", 0, "heir")
            assert relay.cuts_left == 0
            assert (await store.recover(None, 0, "heir")).claims == claims(other)


# Outages


async def test_d2_stopped_server_is_unavailable_and_no_event_is_lost_after_its_restart(
    own_postgres: OwnPostgres,
) -> None:
    woken: list[str | None] = []
    came = asyncio.Event()

    def wake(session_id: str | None, notice: Notice = Notice.CHANGED, /) -> None:
        woken.append(session_id)
        came.set()

    with own_postgres.database() as url:
        async with opened(url, wake) as store, asyncio.timeout(60):
            await store.join(owner_row("p1"))
            await store.commit([create(), post(1)])
            await asyncio.to_thread(own_postgres.stop, immediate=True)
            group = [post(2)]
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="does not answer"):
                    await store.commit(group)
            with pytest.raises(StoreUnavailable):
                await store.session("s")
            with pytest.raises(StoreUnavailable):
                store.beat("p1")
            await asyncio.to_thread(own_postgres.start)
            assert await store.commit(group) == [2]
            assert len(await everything(store)) == 2
            assert store.beat("p1") is True
            await came.wait()
            assert woken == [None], "notifications may have been missed"
            async with opened(url) as other:
                came.clear()
                await other.commit([post(3)])
                await came.wait()
            assert woken == [None, "s"], "notifications arrive again"


async def test_d2_broken_idle_connections_are_replaced_without_an_error(postgres_url: str) -> None:
    woken: list[str | None] = []
    came = asyncio.Event()

    def wake(session_id: str | None, notice: Notice = Notice.CHANGED, /) -> None:
        woken.append(session_id)
        came.set()

    async with opened(postgres_url, wake) as store:
        await store.join(owner_row("p1"))
        await store.commit([create()])
        assert store.beat("p1") is True
        assert await store.session("s") is not None
        name = urlsplit(postgres_url).path[1:]
        others = "FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
        assert len(query(postgres_url, f"SELECT pg_terminate_backend(pid) {others}", name)) == 4
        assert await store.commit([post(1)]) == [1]
        assert await store.session("s") is not None
        assert store.beat("p1") is True
        async with asyncio.timeout(SOON):
            await came.wait()
        assert woken == [None]


async def test_e5_beat_does_not_wait_for_a_group(postgres_url: str) -> None:
    async with opened(postgres_url) as store:
        await store.join(owner_row("p1"))
        await store.commit([create()])
        with psycopg.connect(postgres_url) as other:
            other.execute("SELECT * FROM sessions FOR UPDATE")
            waiting = asyncio.create_task(store.commit([post(1)]))
            assert await asyncio.to_thread(store.beat, "p1") is True
            assert not waiting.done()
            other.rollback()
        assert await waiting == [1]


@asynccontextmanager
async def stopped_in(url: str, statement: str) -> AsyncGenerator[int]:
    """A connection that has sent a statement in a transaction, but not its end, as if its process was stopped then.

    Returns the id of the server's process, which waits for the rest.
    """
    connection = psycopg.connect(url)
    try:
        connection.execute("SELECT 1")  # begins the transaction
        connection.pgconn.enter_pipeline_mode()
        connection.pgconn.send_query_params(statement.encode(), None)
        connection.pgconn.send_flush_request()
        connection.pgconn.flush()
        await until(url, WAITS_FOR_MORE, connection.info.backend_pid)
        yield connection.info.backend_pid
    finally:
        connection.close()


WAITS_FOR_MORE = "SELECT state = 'active' AND wait_event = 'ClientRead' FROM pg_stat_activity WHERE pid = %s"


@pytest.mark.parametrize("table", ["sessions", "executions"])
async def test_d2_process_that_was_stopped_in_a_statement_blocks_no_other(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    monkeypatch.setattr(database, "LOCK_TIMEOUT", 200)
    monkeypatch.setattr(database, "STALLED", 0.1)
    async with opened(postgres_url) as store:
        await store.commit([create(), add(execution_row())])
        async with stopped_in(postgres_url, f"SELECT * FROM {table} FOR UPDATE"), asyncio.timeout(SOON):
            assert await store.commit([replace(post(1), cancel=["x"])]) == [1]


async def test_d2_only_stalled_connections_that_hold_locks_of_the_tables_are_ended(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup reads the tables, and a program may copy rows into them: both may take as long as they like."""
    monkeypatch.setattr(database, "LOCK_TIMEOUT", 100)
    async with opened(postgres_url) as store:
        await store.commit([create()])
        query(postgres_url, "CREATE TABLE mine (a int)")
        async with (
            stopped_in(postgres_url, "SELECT * FROM sessions FOR UPDATE") as blocking,
            stopped_in(postgres_url, "INSERT INTO mine VALUES (1)") as unrelated,
            stopped_in(postgres_url, "SELECT * FROM sessions") as reading,
            stopped_in(postgres_url, "COPY sessions FROM STDIN") as copying,
        ):
            with pytest.raises(StoreUnavailable, match="locked by another process"):
                await store.commit([post(1)])
            assert query(postgres_url, WAITS_FOR_MORE, blocking) == [(True,)], "it may go on at once"
            monkeypatch.setattr(database, "STALLED", 0.0)
            assert await store.commit([post(1)]) == [1]
            assert query(postgres_url, WAITS_FOR_MORE, blocking) == []
            for other in (unrelated, reading, copying):
                assert query(postgres_url, WAITS_FOR_MORE, other) == [(True,)]


async def test_d2_deadlock_is_retried(postgres_url: str) -> None:
    async with opened(postgres_url) as store:
        await store.commit([create("a"), create("b")])
        with psycopg.connect(postgres_url) as other:
            other.execute("SET deadlock_timeout = '1h'")
            other.execute("SELECT * FROM sessions WHERE id = 'b' FOR UPDATE")
            waiting = asyncio.create_task(store.commit([post(1, session_id="a"), post(1, session_id="b")]))
            await until(postgres_url, "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted")
            await asyncio.to_thread(other.execute, "SELECT * FROM sessions WHERE id = 'a' FOR UPDATE")
            other.rollback()
        assert await waiting == [1, 1]


# Errors


async def test_d2_error_of_a_missing_database_is_the_message_of_the_server(postgres_url: str) -> None:
    name = urlsplit(postgres_url).path[1:]
    with pytest.raises(StoreError, match="does not exist"):
        await open_store(postgres_url.replace(name, "callboard_nowhere")).open(ignore)


async def test_d2_missing_privileges_are_named_in_the_error(postgres_url: str) -> None:
    async with opened(postgres_url):
        pass
    query(postgres_url, "DROP ROLE IF EXISTS callboard_reader")
    query(postgres_url, "CREATE ROLE callboard_reader LOGIN")
    try:
        url = postgres_url.replace("postgres@", "callboard_reader@")
        with pytest.raises(StoreUnavailable, match="does not let this user read or write"):
            await open_store(url).open(ignore)
    finally:
        query(postgres_url, "DROP ROLE callboard_reader")


async def test_d2_missing_tables_are_an_error_with_advice(postgres_url: str) -> None:
    async with opened(postgres_url) as store:
        await store.commit([create()])
        query(postgres_url, "DROP TABLE events")
        with pytest.raises(StoreError, match="does not have the tables that it should have") as caught:
            await store.commit([post(1)])
        assert not isinstance(caught.value, StoreUnavailable)


async def test_closed_store_leaves_no_thread_and_no_row(postgres_url: str) -> None:
    before = set(threading.enumerate())
    async with opened(postgres_url) as store:
        await store.commit([create(), Change("s", events=[event()])])
        assert query(postgres_url, "SELECT number FROM batches") == [(1,)]
    assert [thread for thread in threading.enumerate() if thread not in before and "store" in thread.name] == []
    assert query(postgres_url, "SELECT number FROM batches") == []
    name = urlsplit(postgres_url).path[1:]
    alone = "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = %s"
    await until(postgres_url, alone, name)


async def test_m3_answer_during_a_recovery_is_not_overlooked(postgres_url: str) -> None:
    waiting = execution_row(status="waiting", owner="dead")
    async with opened(postgres_url) as store:
        await store.join(owner_row("dead"))
        await store.commit([create(), add(waiting), add(request_row(execution_id=waiting.id))])
        with psycopg.connect(postgres_url) as answering:
            answering.execute("SELECT 1 FROM sessions WHERE id = 's' FOR UPDATE")
            answering.execute("SELECT 1 FROM executions WHERE id = 'x' FOR UPDATE")
            answering.execute("UPDATE requests SET status = 'answered'")
            recovering = asyncio.create_task(store.recover("dead", 0, "heir"))
            waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            async with asyncio.timeout(SOON):
                while (await asyncio.to_thread(query, postgres_url, waits))[0][0] == 0:
                    pass
            answering.commit()
        recovered = await recovering
    assert (recovered.claims, recovered.waiting) == (claims(waiting), 0)
