"""The tables, as queries use them. Migrations create them; a test compares the two."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    and_,
    false,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import TSVECTOR

from .json_text import JsonText
from .postgres.jsonb import PostgresJson

REVISION = "0017"
"""The newest revision of the migrations, which this version of Callboard works with."""

VERSION_TABLE = "callboard_version"
"""The table of a database's revision. Not Alembic's default: the database may be shared with other users of Alembic."""

metadata = MetaData()

_name = Text().with_variant(Text(collation="C"), "postgresql")
"""The type of ids. They are sorted by code points in every database, as in Python."""

_json = JsonText().with_variant(PostgresJson(), "postgresql")
_exact_json = JsonText().with_variant(PostgresJson(exact=True), "postgresql")

_number = BigInteger().with_variant(Integer(), "sqlite")


def _of_session() -> ForeignKey:
    return ForeignKey("sessions.id", ondelete="CASCADE")


def _partial_index(name: str, where: ColumnElement[bool], *columns: Column[Any]) -> None:
    Index(name, *columns, sqlite_where=where, postgresql_where=where)


def columns_of(table: Any, row: type[Any]) -> list[ColumnElement[Any]]:
    """Return the columns of a row's fields, with the names of the fields."""
    columns: list[Column[Any]] = [table.c[name] for name in row.__dataclass_fields__]
    return [column if column.name == column.key else column.label(column.key) for column in columns]


sessions = Table(
    "sessions",
    metadata,
    Column("id", _name, primary_key=True),
    Column("channel", Text),
    Column("allow", _json),
    Column("wake", Text),
    Column("open", Boolean, nullable=False),
    Column("writes", BigInteger, nullable=False, server_default="0"),
    Column("made_at", Double),
    Column("last_seq", BigInteger, nullable=False),
    Column("first_seq", BigInteger, nullable=False),
    Column("last_entry", BigInteger, nullable=False),
    Column("last_execution", BigInteger, nullable=False),
    Column("last_key", BigInteger, nullable=False, server_default="0"),
    Column("user_id", _name),
    Column("active_at", Double, nullable=False, server_default="0"),
    Column("given_title", Text),
    Column("given_title_folded", Text),
    Column("auto_title", Text),
    Column("auto_title_folded", Text),
    Index("sessions_recent", "user_id", "active_at", "id"),
)
"""A writer locks the row of a session here first, and takes the next numbers from it.

`user_id` repeats that of `session_tool_state`, and `active_at` follows the newest event in steps: their index lists the
sessions of a user by activity. Titles are searched in the form of `fold_title`."""

session_tool_state = Table(
    "session_tool_state",
    metadata,
    Column("session_id", _name, _of_session(), primary_key=True),
    Column("user_id", _name, nullable=False),
    Column("namespaces", _json),
    Column("available_tools", _json, nullable=False),
    Column("unconsumed_results", _json, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Index("session_tool_state_user", "user_id", "session_id"),
)
"""The state of sessions, one row for each. Only `unconsumed_results` says which results wait."""

made_at = func.coalesce(
    sessions.c.made_at,
    select(session_tool_state.c.created_at).where(session_tool_state.c.session_id == sessions.c.id).scalar_subquery(),
).label("made_at")
"""When a session was created. Processes of a revision before 0005 stored sessions without `sessions.made_at`."""

events = Table(
    "events",
    metadata,
    Column("session_id", _name, _of_session(), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("body", _json, nullable=False),
)

executions = Table(
    "executions",
    metadata,
    Column("session_id", _name, _of_session(), primary_key=True),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    Column("id", _name, nullable=False),
    Column("user_id", _name, nullable=False),
    Column("call_id", _name, nullable=False),
    Column("tool", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("document", LargeBinary),
    Column("fingerprint", Text, nullable=False),
    Column("shown", _json, nullable=False, key="display_arguments"),
    Column("status", Text, nullable=False),
    Column("priority", BigInteger, nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("max_attempts", BigInteger, nullable=False),
    Column("errors", _json, nullable=False),
    Column("value", _json),
    Column("error", _json),
    Column("late", Boolean, nullable=False),
    Column("parent_id", Text),
    Column("queued_at", Double, nullable=False),
    Column("started_at", Double),
    Column("completed_at", Double),
    Column("owner", _name),
    Column("cancelling", Boolean, nullable=False),
    Column("retry_at", Double),
    Column("ready", Boolean, nullable=False, server_default=false()),
    Column("queue", _name),
    Column("trace", Text),
    UniqueConstraint("session_id", "id", name="executions_id"),
    UniqueConstraint("session_id", "call_id", name="executions_call"),
)
"""Executions. `place` is their order within the session. `document` is kept as bytes, since it may be invalid JSON.

`ready` says whether an unfinished execution that no process owns can continue: see `Owners.recover`."""

incomplete = executions.c.completed_at.is_(None)
stopping = and_(executions.c.cancelling, incomplete)
queued = and_(executions.c.queue.is_not(None), executions.c.owner.is_(None), incomplete)
"""The condition that an execution waits for a worker, or that its caller does."""
_partial_index("executions_unfinished", incomplete, executions.c.session_id, executions.c.place)
_partial_index("executions_owner", incomplete, executions.c.owner, executions.c.session_id, executions.c.id)
_partial_index("executions_ready", executions.c.ready, executions.c.session_id, executions.c.id)
_partial_index("executions_queued", queued, executions.c.queue, executions.c.queued_at)
_partial_index("executions_queued_user", queued, executions.c.queue, executions.c.user_id, executions.c.queued_at)
_partial_index("executions_stopping", stopping, executions.c.owner)
"""Finds the executions that a process is to cancel without reading all that it runs."""

turns = Table(
    "turns",
    metadata,
    Column("session_id", _name, _of_session(), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("turn_id", _name, nullable=False),
    Column("user_id", _name, nullable=False),
    Column("status", Text, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("completed_at", Double),
    Column("owner", _name, nullable=False),
    Column("cancelling", Boolean, nullable=False),
    Column("usage", _json),
)
"""The turns of conversations. Those that run are found by their session, by their process, and if asked to stop."""

running = turns.c.completed_at.is_(None)
stopping_turns = and_(turns.c.cancelling, running)
_partial_index("turns_running", running, turns.c.session_id, turns.c.number)
_partial_index("turns_owner", running, turns.c.owner, turns.c.session_id)
_partial_index("turns_stopping", stopping_turns, turns.c.owner)

inputs = Table(
    "inputs",
    metadata,
    Column("session_id", _name, _of_session(), primary_key=True),
    Column("id", _name, primary_key=True),
    Column("user_id", _name, nullable=False),
    Column("received_at", Double, nullable=False),
    Column("delivered_at", Double),
    Column("owner", _name, nullable=False),
)
"""Inputs of users. Delivered inputs are kept, so that an input with the same id is not accepted again."""

undelivered = inputs.c.delivered_at.is_(None)
_partial_index("inputs_undelivered", undelivered, inputs.c.session_id)
_partial_index("inputs_owner", undelivered, inputs.c.owner, inputs.c.session_id)

requests = Table(
    "requests",
    metadata,
    Column("place", _number, Identity(), primary_key=True),
    Column("id", _name, nullable=False),
    Column("session_id", _name, _of_session(), nullable=False),
    Column("user_id", _name, nullable=False),
    Column("execution_id", _name, nullable=False),
    Column("kind", Text, nullable=False),
    Column("purpose", Text, nullable=False, server_default="question"),
    Column("tool", Text, nullable=False),
    Column("payload", _json, nullable=False),
    Column("schema", _json, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("answer", _json),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("answered_at", Double),
    UniqueConstraint("id", name="requests_id"),
    Index("requests_execution", "session_id", "execution_id"),
    Index("requests_user", "user_id", "place"),
)

is_open = requests.c.status == literal_column("'open'")
"""The condition of the indexes of open requests: a status that is a parameter keeps a database from using them."""

_partial_index("requests_expiry", is_open, requests.c.expires_at)
_partial_index("requests_open", is_open, requests.c.session_id)


def request_conditions(**wanted: str | None) -> list[ColumnElement[bool]]:
    """Return the conditions of requests whose columns have these values. None: any value."""
    return [
        is_open if (name, value) == ("status", "open") else requests.c[name] == value
        for name, value in wanted.items()
        if value is not None
    ]


transcript = Table(
    "transcript",
    metadata,
    Column("session_id", _name, _of_session(), primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("entry", _exact_json, nullable=False),
)
"""Entries keep their exact text: a provider's cache recognizes a conversation by its bytes."""

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("session_id", _name, _of_session(), primary_key=True),
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    Column("key", _name, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("answer", Text, nullable=False),
    Column("at", Double, nullable=False),
    UniqueConstraint("session_id", "key", name="idempotency_keys_key"),
    Index("idempotency_keys_at", "at"),
)
"""Idempotency keys. `slot` is the session's `last_key` modulo the number of keys that are kept, so
that a new key takes the place of the oldest."""

owners = Table(
    "owners",
    metadata,
    Column("id", _name, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("started", Text, nullable=False),
    Column("beat", BigInteger, nullable=False),
)

batches = Table(
    "batches",
    metadata,
    Column("instance", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("results", Text, nullable=False),
    Column("at", Double, nullable=False),
)
"""The last group that each open store wrote, with its results, to resolve an interrupted commit."""

notifications = Table(
    "notifications",
    metadata,
    Column("number", _number, Identity(), primary_key=True),
    Column("instance", Text, nullable=False),
    Column("session_ids", Text, nullable=False),
)
"""Notifications between stores on a SQLite file: which store wrote to which sessions. On PostgreSQL the table is empty,
since NOTIFY serves this purpose."""

api_keys = Table(
    "api_keys",
    metadata,
    Column("place", _number, Identity(), primary_key=True),
    Column("id", _name, nullable=False),
    Column("user_id", _name, nullable=False),
    Column("name", Text),
    Column("digest", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("revoked_at", Double),
    Column("last_used_at", Double),
    UniqueConstraint("id", name="api_keys_id"),
)
"""The API keys of all users. They are found by their ids."""

notes = Table(
    "notes",
    metadata,
    Column("user_id", _name, primary_key=True),
    Column("key", _name, primary_key=True),
    Column("text", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Index("notes_recent", "user_id", "updated_at", "key"),
)
"""The notes of all users. `tags` has a line break before and after each tag."""

memory_entries = Table(
    "memory_entries",
    metadata,
    Column("id", _number, Identity(), primary_key=True),
    Column("user_id", _name, nullable=False),
    Column("session_id", _name, _of_session()),
    Column("position", BigInteger),
    Column("note_key", _name),
    Column("at", Double, nullable=False),
    Column("words", Text().with_variant(TSVECTOR(), "postgresql"), nullable=False),
    ForeignKeyConstraint(["user_id", "note_key"], ["notes.user_id", "notes.key"], ondelete="CASCADE"),
)
"""The entries that a search finds: messages of transcripts, and notes. The texts are in `transcript` and `notes`.

`words` are those of the text, each after a mark of its user (see `memory_words`), so that a search reads no entries of
other users. PostgreSQL has an index of them; on SQLite the table `memory_words` is that index, and triggers fill it."""

_partial_index("memory_entries_session", memory_entries.c.session_id.is_not(None), memory_entries.c.session_id)
_partial_index(
    "memory_entries_note",
    memory_entries.c.note_key.is_not(None),
    memory_entries.c.user_id,
    memory_entries.c.note_key,
)
Index("memory_entries_words", memory_entries.c.words, postgresql_using="gin").ddl_if(dialect="postgresql")

documents = Table(
    "documents",
    metadata,
    Column("user_id", _name, primary_key=True),
    Column("collection", _name, primary_key=True),
    Column("key", _name, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("writer", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("value", Text, nullable=False),
    Index("documents_size", "user_id", "collection", "size"),
)
"""The documents of all users. `value` is JSON, kept as text, so that a repeated write is recognized.

`size` is the number of bytes of `value`: its index gives the size of a collection without reading the documents."""
