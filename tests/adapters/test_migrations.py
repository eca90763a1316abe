"""Databases of every older revision are migrated to the newest, with their contents (D1, D2, E7)."""

import asyncio
import json
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel
from sqlalchemy import Connection, Engine, NullPool, create_engine

from callboard import RetryPolicy, Runtime, Session, tool
from callboard.adapters.stores import migrate_store as migrate
from callboard.adapters.stores import open_store
from callboard.adapters.stores.memory_words import index_text
from callboard.adapters.stores.migrations import migrate_to, revisions
from callboard.adapters.stores.tables import REVISION, VERSION_TABLE, metadata
from callboard.chat.inbox import input_id
from callboard.sessions.session import live_session
from callboard.storage.change import Change, ExecutionWrite
from callboard.storage.errors import Conflict, StoreError, StoreUnavailable
from callboard.storage.event_log import Head
from callboard.storage.owners import LEFT
from callboard.storage.store import Store
from callboard.testing.store_rows import (
    NOW,
    create,
    document_row,
    execution_row,
    finished_row,
    idempotency_row,
    key_row,
    memory_query,
    owner_row,
    post,
    request_row,
    session_row,
)
from callboard.turns import Usage

pytestmark = pytest.mark.anyio

FILES = Path(__file__).parent / "files"
"""Databases that earlier versions wrote."""

FIRST = [
    "INSERT INTO sessions (id, channel, allow, open, last_seq, first_seq, last_entry, last_execution)"
    """ VALUES ('s', 'voice', '["t"]', true, 3, 2, 1, 2)""",
    "INSERT INTO session_tool_state (session_id, user_id, namespaces, available_tools, unconsumed_results, created_at,"
    """ updated_at) VALUES ('s', 'ann', NULL, '["t"]', '["y"]', 1800000000.0, 1800000000.0)""",
    "INSERT INTO events (session_id, seq, kind, at, body) VALUES"
    """ ('s', 2, 'k', 1.5, '{"kind":"k","at":"2027-01-15T08:00:00.000Z","data":{"n":2}}'),"""
    """ ('s', 3, 'k', 1.5, '{"kind":"k","at":"2027-01-15T08:00:00.000Z","data":{"n":3}}')""",
    "INSERT INTO executions (session_id, place, id, user_id, call_id, tool, kind, document, fingerprint, shown, status,"
    " priority, attempt, max_attempts, errors, value, error, late, parent_id, queued_at, started_at, completed_at,"
    " owner, cancelling) VALUES"
    """ ('s', 1, 'x', 'ann', 'call of x', 'add', 'tool', {document}, 'f', '{{"a": 1}}', 'executing',"""
    " 0, 1, 3, '[]', NULL, NULL, false, NULL, 1800000000.0, NULL, NULL, 'p1', false),"
    """ ('s', 2, 'y', 'ann', 'call of y', 'add', 'tool', {document}, 'f', '{{"a": 1}}', 'succeeded',"""
    " 0, 1, 3, '[]', '1', NULL, false, NULL, 1800000000.0, NULL, 1800000001.0, NULL, false)",
    "INSERT INTO requests (id, session_id, user_id, execution_id, kind, tool, payload, schema, fingerprint, status,"
    " answer, created_at, expires_at, answered_at) VALUES ('r', 's', 'ann', 'x', 'human_request', 'pay',"
    """ '{"ask": 1}', '{"type": "object"}', 'f', 'open', NULL, 1800000000.0, NULL, NULL)""",
    "INSERT INTO transcript (session_id, position, entry) VALUES ('s', 1, '{\"b\":1}')",
    "INSERT INTO owners (id, host, pid, started, beat) VALUES ('p1', 'here', 7, 'then', 4)",
]

SECOND = [*FIRST, "INSERT INTO batches (instance, number, results, at) VALUES ('other', 5, '[1]', 1.0)"]
THIRD = [
    *SECOND,
    "INSERT INTO api_keys (id, user_id, name, digest, created_at, expires_at, revoked_at, last_used_at)"
    " VALUES ('old', 'ann', 'laptop', 'd', 1800000000.0, NULL, NULL, NULL)",
]
FOURTH = [*THIRD, "UPDATE sessions SET wake = 'wait'"]
FIFTH = [*FOURTH, f"UPDATE sessions SET writes = 7, made_at = {NOW}"]
SIXTH = [*FIFTH, f"UPDATE executions SET retry_at = {NOW + 20} WHERE id = 'x'"]
SEVENTH = [
    *SIXTH,
    "INSERT INTO idempotency_keys (session_id, slot, key, fingerprint, seq, answer, at)"
    " VALUES ('s', 1, 'k', 'f', 3, 'null', 1800000000.0)",
    "UPDATE sessions SET last_key = 1",
]
NINTH = [*SEVENTH, "INSERT INTO notifications (instance, session_ids) VALUES ('other', '[\"s\"]')"]
TENTH = [
    *NINTH,
    "INSERT INTO turns (session_id, number, turn_id, user_id, status, started_at, completed_at, owner, cancelling)"
    " VALUES ('s', 1, 't', 'ann', 'finished', 1800000000.0, 1800000001.0, 'p1', false)",
    "INSERT INTO inputs (session_id, id, user_id, received_at, delivered_at, owner)"
    " VALUES ('s', 'i', 'ann', 1800000000.0, 1800000001.0, 'p1')",
]
ELEVENTH = [*TENTH, "UPDATE requests SET purpose = 'question'"]
TWELFTH = [*ELEVENTH, "UPDATE sessions SET user_id = 'ann', active_at = 1.5"]
THIRTEENTH = [*TWELFTH, """UPDATE turns SET usage = '{"requests": 2, "cost": 0.5}'"""]
FOURTEENTH = [
    *THIRTEENTH,
    "INSERT INTO notes (user_id, key, text, tags, created_at, updated_at)"
    " VALUES ('ann', 'k', 'green tea', '', 1800000000.0, 1800000000.0)",
    "INSERT INTO memory_entries (user_id, session_id, position, note_key, at, words)"
    f" VALUES ('ann', NULL, NULL, 'k', 1800000000.0, '{index_text('ann', 'k green tea')}')",
]
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
FIFTEENTH = [
    *FOURTEENTH,
    "INSERT INTO documents (user_id, collection, key, version, updated_at, writer, size, value)"
    " VALUES ('ann', 'c', 'k', 3, 1800000000.0, 'x', 7, '{\"a\":1}')",
]
CONTENTS = {
    "0001": FIRST,
    "0002": SECOND,
    "0003": THIRD,
    "0004": FOURTH,
    "0005": FIFTH,
    "0006": SIXTH,
    "0007": SEVENTH,
    "0008": SEVENTH,
    "0009": NINTH,
    "0010": TENTH,
    "0011": ELEVENTH,
    "0012": TWELFTH,
    "0013": THIRTEENTH,
    "0014": FOURTEENTH,
    "0015": FIFTEENTH,
    "0016": FIFTEENTH,
    "0017": [*FIFTEENTH, f"UPDATE executions SET trace = '{TRACE}' WHERE id = 'x'"],
}
"""Statements that write the contents of a database of each revision, as that revision wrote them."""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'callboard.db'}"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
    yield engine
    engine.dispose()


def at_revision(engine: Engine, revision: str) -> None:
    """Create the tables of a revision, with contents."""
    literal = "X'7B7D'" if engine.dialect.name == "sqlite" else "'\\x7b7d'"
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")  # as every version creates its files
    with engine.begin() as connection:
        migrate_to(connection, revision)
        for statement in CONTENTS[revision]:
            text = statement.format(document=literal) if "{document}" in statement else statement
            connection.exec_driver_sql(text.replace("%", "%%"))


async def check(store: Store, wake: str | None, writes: int, retry_at: float | None, trace: str | None) -> None:
    """Check that the store has everything of `CONTENTS` and can be written."""
    fields: dict[str, Any] = {"channel": "voice", "allow": ("t",), "tools": ("t",), "unconsumed": ("y",), "wake": wake}
    assert await store.sessions() == [session_row(last_seq=3, first_seq=2, writes=writes, active_at=1.5, **fields)]
    listed = await store.recent_sessions("ann", now=NOW)
    assert [(each.row.id, each.active_at, each.waiting, each.running) for each in listed] == [("s", 1.5, 1, False)]
    page = await store.events("s", 0, 9)
    assert [json.loads(line)["data"]["n"] for line in page.lines] == [2, 3]
    assert (page.first, page.first_seq, page.last_seq) == (2, 2, 3)
    running = execution_row(document=b"{}", retry_at=retry_at, trace=trace)
    ended = finished_row("y", document=b"{}")
    assert await store.executions("s") == [running, ended]
    assert await store.requests() == [request_row()]
    assert await store.transcript("s") == [b'{"b":1}']
    assert await store.owners() == [owner_row(beat=4)]
    assert await store.commit([replace(post(4), made_at=NOW)]) == [4]
    assert await store.heads(["s"]) == {"s": Head(4, NOW)}
    written = [ExecutionWrite(execution_row("z", queued_at=NOW + 1), new=True)]
    await store.commit([Change("s", executions=written, consumed=["y"], transcript=[b"2"])])
    assert [row.id for row in await store.executions("s")] == ["x", "y", "z"]
    assert await store.transcript("s", 1) == [b"2"]
    recovered = await store.recover("p1", 4, "p2")
    assert [claim.id for claim in recovered.claims] == ["x", "z"]
    before = [row.id for row in await store.keys()]
    await store.add_key(key_row("new", created_at=NOW + 1))
    assert [row.id for row in await store.keys()] == [*before, "new"]


def test_every_revision_is_known_and_has_contents_here() -> None:
    assert revisions() == sorted(CONTENTS)
    assert revisions()[-1] == REVISION


@pytest.mark.parametrize(
    "revision",
    [
        revisions()[0],
        *(pytest.param(each, marks=pytest.mark.slow) for each in revisions()[1:-3]),
        *revisions()[-3:],
    ],
)
async def test_d2_database_of_every_revision_is_migrated_to_the_newest(url: str, engine: Engine, revision: str) -> None:
    at_revision(engine, revision)
    store = open_store(url)
    if revision != REVISION and url.startswith("postgres"):
        with pytest.raises(StoreError, match="Run: callboard migrate") as caught:
            await store.open(lambda *_: None)
        assert not isinstance(caught.value, StoreUnavailable)
    if url.startswith("postgres"):
        assert await asyncio.to_thread(migrate, url) == (revision, REVISION)
    await store.open(lambda *_: None)
    try:
        kept = key_row("old", name="laptop", digest="d")
        assert await store.keys() == ([kept] if revision >= "0003" else [])
        assert await store.idempotency("s", "k") == (idempotency_row(seq=3) if revision >= "0007" else None)
        usage = {each: json.loads(found) for each, found in (await store.usage(["s"])).items()}
        assert usage == ({"s": {"requests": 2, "cost": 0.5}} if revision >= "0013" else {}), "none for old turns"
        tea = [hit.key for hit in await store.search_memory(memory_query("tea"))]
        assert tea == (["k"] if revision >= "0014" else [])
        kept_documents = [document_row(value=b'{"a":1}', version=3)]
        assert await store.documents("ann", "c") == (kept_documents if revision >= "0015" else [])
        wake, writes = "wait" if revision >= "0004" else None, 7 if revision >= "0005" else 0
        retry_at, trace = NOW + 20 if revision >= "0006" else None, TRACE if revision >= "0017" else None
        await check(store, wake, writes, retry_at, trace)
    finally:
        await store.close()
    assert await asyncio.to_thread(migrate, url) == (REVISION, REVISION)


@tool
async def add(a: Annotated[int, "One."], b: Annotated[int, "Two."]) -> int:
    """Add two numbers."""
    return a + b


@tool(mode="human")
async def pay(amount: Annotated[int, "How much."]) -> str:
    """Pay after a person agrees."""
    return f"paid {amount}"


@tool(mode="background", idempotent=True, retry=RetryPolicy(2))
async def fetch() -> str:
    """Fetch something."""
    return "fetched"


async def test_d2_file_that_an_earlier_version_wrote_is_migrated_and_used(tmp_path: Path) -> None:
    """The file holds a finished call, an open approval, a call that waits for a retry, and a session `t` without the
    time of its creation, as a process that did not notice a migration stored it."""
    shutil.copy(FILES / "revision-0005.sqlite", tmp_path / "callboard.db")
    url = f"sqlite:///{tmp_path / 'callboard.db'}"
    async with asyncio.timeout(90), Runtime([add, pay, fetch], store=url) as runtime:
        session = await runtime.open("s", "ann")
        assert (await session.call("add", {"a": 1, "b": 2}, call_id="sum")).value == 3
        records = {record.call_id: record for record in await session.history()}
        assert records.keys() == {"sum", "payment", "download"}
        (request,) = await session.requests()
        await session.answer(request.id, {"approved": True})
        assert (await session.result(records["payment"].id)).value == "paid 5"
        assert (await session.result(records["download"].id)).value == "fetched"
        other = await runtime.open("t", "bob")
        assert (await other.call("add", {"a": 3, "b": 4})).value == 7
        assert [key.name for key in await runtime.store.keys()] == ["laptop"]
    with closing(sqlite3.connect(tmp_path / "callboard.db")) as connection:
        assert connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall() == [(REVISION,)]
        assert connection.execute("SELECT count(*) FROM sessions WHERE made_at IS NULL").fetchall() == [(0,)]
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.fixture
async def written_by_0009(url: str, engine: Engine, tmp_path: Path) -> str:
    """A database that a process of revision 0009 left behind when it was killed.

    The session `chat` has a finished turn, one that runs, and an input that was not delivered; `paused` has a turn
    that waits for an approval; `asked` has an open request of each purpose, and one that was refused.
    """
    if url.startswith("sqlite"):
        shutil.copy(FILES / "revision-0009.sqlite", tmp_path / "callboard.db")
    else:
        with engine.begin() as connection:
            migrate_to(connection, "0009")
        with psycopg.connect(url) as direct:
            direct.execute((FILES / "revision-0009.sql").read_bytes())
    assert await asyncio.to_thread(migrate, url) == ("0009", REVISION)
    return url


async def test_d2_turns_and_inputs_of_revision_0009_are_moved(written_by_0009: str, engine: Engine) -> None:
    store = open_store(written_by_0009)
    await store.open(lambda *_: None)
    try:
        first, second = await store.turn("chat", 1), await store.turn("chat", 2)
        assert first is not None
        assert second is not None
        assert (first.status, first.owner, first.user_id) == ("finished", "dead-process", "ann")
        assert first.completed_at is not None
        assert first.started_at < first.completed_at < second.started_at
        assert (second.status, second.completed_at, second.cancelling) == ("running", None, False)
        assert re.fullmatch("t[0-9a-f]{12}", second.turn_id)
        assert await store.running_turns(["chat", "paused"]) == [second]
        inputs = await store.inputs("chat", [input_id(each) for each in ("m1", "m2", "m3")])
        delivered = {row.id: row.delivered_at is not None for row in inputs}
        assert delivered == {input_id("m1"): True, input_id("m2"): True, input_id("m3"): False}
        calls = [row.call_id for each in ("chat", "paused", "asked") for row in await store.executions(each)]
        assert calls == ["payment", "approval", "question", "wallet", "page", "refused"]
        recovered = await store.recover("dead-process", LEFT, "heir")
        assert [(claim.id, claim.kind) for claim in recovered.claims] == [
            (second.turn_id, "turn"),
            (input_id("m3"), "input"),
        ]
    finally:
        await store.close()


async def test_k1_messages_of_revision_0009_are_found(written_by_0009: str) -> None:
    store = open_store(written_by_0009)
    await store.open(lambda *_: None)
    try:
        (hit,) = await store.search_memory(memory_query("first"))
        assert (hit.session_id, hit.role, hit.text, hit.title) == ("chat", "user", "First.", "First.")
        (listed,) = [each for each in await store.recent_sessions("ann", now=NOW) if each.row.id == "chat"]
        assert hit.at == listed.active_at
        assert await store.search_memory(memory_query("third")) == [], "not delivered, so not in the transcript"
        await store.delete("chat")
        assert await store.search_memory(memory_query("first")) == []
    finally:
        await store.close()


async def test_d2_conversation_of_revision_0009_continues(written_by_0009: str) -> None:
    async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "Here I am."

    model = FunctionModel(stream_function=respond, model_name="scripted")
    async with asyncio.timeout(30), Runtime([pay], store=written_by_0009, model=model) as runtime:
        chat = await runtime.open("chat", "ann")
        await _seen(chat, "turn_finished", 2)
        texts = [entry["text"] for entry in await chat.messages() if entry["role"] == "user"]
        assert texts == ["First.", "Second.", "Third."]
        accepted = await live_session(chat).conversation().accept_input({"text": "Third."}, "m3")
        assert accepted == 0, "ids from before the migration are known"
        paused = await runtime.open("paused", "ann")
        (request,) = await paused.requests()
        await paused.answer(request.id, {"approved": True})
        await _seen(paused, "turn_finished", 1)
        first, second = await runtime.store.turn("paused", 1), await runtime.store.turn("paused", 2)
        assert first is not None
        assert second is not None
        assert (second.turn_id, second.status) == (first.turn_id, "finished"), "the same turn continues"
        assert (first.usage, second.usage is None) == (None, False), "usage is stored from now on"
        usage = Usage.decode(second.usage or b"{}")
        assert (usage.requests, usage.tool_calls) == (2, 1), "of the whole conversation, as its transcript has it"


async def test_d2_requests_of_revision_0009_get_the_purpose_that_they_had(written_by_0009: str) -> None:
    store = open_store(written_by_0009)
    await store.open(lambda *_: None)
    try:
        purposes = [(row.tool, row.purpose) for row in await store.requests(session_id="asked")]
    finally:
        await store.close()
    approval, wallet = ("pay", "approval"), ("send", "wallet")
    assert purposes == [approval, ("choose", "question"), wallet, ("show", "front_end_tool"), approval]


async def test_d2_conversations_of_revision_0009_get_titles_and_activity(written_by_0009: str) -> None:
    store = open_store(written_by_0009)
    await store.open(lambda *_: None)
    try:
        listed = await store.recent_sessions("ann", now=NOW)
        assert {each.row.id: each.row.title for each in listed} == {"chat": "First.", "paused": "Pay."}
        assert all(each.active_at == each.row.active_at for each in listed), "the time of the newest event"
        found = await store.recent_sessions("ann", now=NOW, search="FIRST")
        assert [each.row.id for each in found] == ["chat"]
    finally:
        await store.close()


async def _seen(session: Session, kind: str, count: int) -> None:
    """Wait until a session has this many events of a kind."""
    async for event in session.events(0):
        count -= event.kind == kind
        if not count:
            return


async def test_e7_session_without_the_time_of_its_creation_can_be_written(url: str, engine: Engine) -> None:
    await asyncio.to_thread(migrate, url)
    store = open_store(url)
    await store.open(lambda *_: None)
    try:
        await store.commit([create("s"), create("t")])
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE sessions SET made_at = NULL")
        assert await store.heads(["s"]) == {"s": Head(0, NOW)}
        assert await store.commit([replace(post(1), made_at=NOW)]) == [1]
        (refused,) = await store.commit([replace(post(2), made_at=NOW + 1)])
        assert isinstance(refused, Conflict)
        assert not await store.delete("s", NOW + 1)
        assert await store.delete("s", NOW)
        assert [row.id for row in await store.sessions()] == ["t"]
    finally:
        await store.close()


async def test_m3_execution_answered_before_a_migration_continues_after_it(url: str, engine: Engine) -> None:
    at_revision(engine, "0005")
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE executions SET owner = NULL")
        connection.exec_driver_sql("UPDATE requests SET status = 'answered'")
    await asyncio.to_thread(migrate, url)
    store = open_store(url)
    await store.open(lambda *_: None)
    try:
        assert [claim.id for claim in (await store.recover(None, 0, "heir")).claims] == ["x"]
    finally:
        await store.close()


def test_e7_migrations_create_the_tables_of_the_code(url: str, engine: Engine) -> None:
    assert migrate(url) == (None, REVISION)
    with engine.connect() as connection:
        assert differences(connection) == []


def differences(connection: Connection) -> list[object]:
    """Return the differences between the tables in the database and those in the code."""
    options: dict[str, Any] = {"version_table": VERSION_TABLE, "compare_type": False}
    if connection.dialect.name == "sqlite":  # its full-text index is a table that keeps its contents in others
        options["include_name"] = lambda name, *_: name is None or not name.startswith("memory_words")
        options["include_object"] = lambda item, name, *_: name != "memory_entries_words"
    context = MigrationContext.configure(connection, opts=options)
    return list(compare_metadata(context, metadata))


def test_e7_types_in_the_database_are_those_of_the_code(postgres_url: str) -> None:
    migrate(postgres_url)
    engine = create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
    columns = "SELECT table_name, column_name, data_type, collation_name FROM information_schema.columns"
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(
            f"{columns} WHERE table_schema = 'public' AND table_name <> '{VERSION_TABLE}'"
        )
        found = {(table, column): (kind, collation) for table, column, kind, collation in rows}
        code = {
            (table.name, column.name): column.type.compile(engine.dialect)
            for table in metadata.tables.values()
            for column in table.columns
        }
    written = {
        key: kind.upper() + (f' COLLATE "{collation}"' if collation else "") for key, (kind, collation) in found.items()
    }
    assert written == {key: kind.replace("FLOAT", "DOUBLE PRECISION") for key, kind in code.items()}


async def test_d2_revision_of_a_newer_version_is_refused(url: str, engine: Engine) -> None:
    at_revision(engine, REVISION)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    for attempt in (lambda: open_store(url).open(lambda *_: None), lambda: asyncio.to_thread(migrate, url)):
        with pytest.raises(StoreError, match=r"newer version of Callboard \(its revision is 9999\)"):
            await attempt()
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM events").scalar_one() == 2


async def test_d2_database_of_something_else_is_migrated_only_on_request(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE mine (a INTEGER)")
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
    store = open_store(postgres_url)
    with pytest.raises(StoreError, match="Run: callboard migrate"):
        await store.open(lambda *_: None)
    assert await asyncio.to_thread(migrate, postgres_url) == (None, REVISION)
    await store.open(lambda *_: None)
    assert await store.commit([create()]) == [0]
    await store.close()


async def test_d2_empty_database_is_prepared_by_the_first_of_several_stores(url: str) -> None:
    stores = [open_store(url) for _ in range(4)]
    await asyncio.gather(*(store.open(lambda *_: None) for store in stores))
    for number, store in enumerate(stores):
        assert await store.commit([create(f"s{number}")]) == [0]
    assert len(await stores[0].sessions()) == 4
    await asyncio.gather(*(store.close() for store in stores))


def test_d1_interrupted_migration_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "callboard.db"
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    at_revision(engine, "0001")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE batches (in_the_way INTEGER)")
    with pytest.raises(StoreError):
        migrate(f"sqlite:///{path}")
    with closing(sqlite3.connect(path)) as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
        assert "executions_owner" not in names, "changes before the error are rolled back"
        assert connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall() == [("0001",)]
