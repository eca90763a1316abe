"""The store that commands use beside other processes, its rows as JSON data, and `callboard migrate`.

A command recovers nothing, interrupts nothing and logs in no user: it writes to the store, and the processes that own
the work carry it out.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import typer
from pydantic_core import from_json

from ...runtime import Reach, migrate_store, open_store, store_address
from ...sessions.answers import arguments_hash
from ...sessions.ids import SessionNotFound
from ...sessions.liveness import is_dead
from ...storage.api_keys import key_state
from ...storage.change import Notice
from ...storage.errors import StoreError
from ...storage.rows import ExecutionRow, KeyRow, OwnerRow, RequestRow, SessionRow
from ...storage.store import Store, Woken
from ..interrupts import Interrupts
from ..process import CommandError, Exit
from ..terminal.console import AsJson, note, out, print_json, print_logs
from ..terminal.text import one_line

T = TypeVar("T")

DEFAULT = "sqlite:///callboard.db"
MAX_MATCHES = 5
"""Ids that begin with the same text of which an error lists, at most."""

Address = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="CALLBOARD_STORE",
        help="The store: sqlite:///file.db or postgresql://host/name.",
    ),
]

SessionId = Annotated[
    str, typer.Argument(metavar="SESSION", help="The id of the session, or its beginning.", show_default=False)
]


def ignore_write(session_id: str | None, notice: Notice = Notice.CHANGED, /) -> None:
    """Do nothing after another process has written."""


def use_store(url: str, work: Callable[[Store], Awaitable[T]], on_write: Woken | None = None) -> T:
    """Open the store at an address, do some work with it, and close it. See `use_opened`.

    Raises `StoreError`, also for a SQLite file that does not exist: no file is created.
    """
    require_store(url)
    return use_opened(open_store(url), work, on_write)


def use_opened(store: Store, work: Callable[[Store], Awaitable[T]], on_write: Woken | None = None) -> T:
    """Open a store, do some work with it, and close it. Ctrl-C cancels the work; a second one exits at once."""

    async def run() -> T:
        task = asyncio.current_task()
        assert task is not None
        with Interrupts(task.cancel), print_logs(note):
            await store.open(on_write or ignore_write)
            try:
                return await work(store)
            finally:
                await store.close()

    return asyncio.run(run())


def require_store(url: str) -> None:
    """Raise `StoreError` for a store that a command cannot open: one in memory, or a file that does not exist."""
    refuse_memory(url)
    if name := missing_file(url):
        raise StoreError(
            f"There is no file {name}. Name the store with --store or CALLBOARD_STORE. To create a new one, start a "
            "server or run: callboard migrate"
        )


def missing_file(url: str) -> str | None:
    """The name of the SQLite file, if it does not exist; None for any other store."""
    file = store_address(url).file
    if file is not None:
        try:
            file.stat()
        except (FileNotFoundError, NotADirectoryError):
            return str(file)
        except OSError:
            return None  # the store says why it cannot be opened
    return None


def refuse_memory(url: str) -> None:
    """Raise `StoreError` for a store in memory, which only its own process can use."""
    if store_address(url).reach is Reach.PROCESS:
        raise StoreError("A store in memory is only visible to its own process. Name another one with --store.")


def migrate(store: Address = DEFAULT, as_json: AsJson = False) -> None:
    """Create or migrate the tables of a store.

    A SQLite file is also migrated whenever it is opened. A PostgreSQL
    database is migrated only by this command, unless it is empty.
    Running it again is harmless.
    """
    refuse_memory(store)
    before, after = migrate_store(store)
    if as_json:
        print_json({"before": before, "after": after, "changed": before != after})
    elif before == after:
        out.print(f"The tables are already at the newest revision, {after}.")
    elif before is None:
        out.print(f"Created the tables at revision {after}.")
    else:
        out.print(f"Migrated the tables from revision {before} to {after}.")


async def find_session(store: Store, session_id: str) -> SessionRow:
    """Find a session by its id, or the only one whose id begins so. Raises `SessionNotFound` or `CommandError`."""
    row = await store.session(session_id)
    if row is None:  # ids that begin with a text follow it in the order of ids
        following = await store.sessions(after=session_id, limit=MAX_MATCHES)
        row = only_match(session_id, following, "sessions")
    if row is None:
        raise SessionNotFound(f"There is no session {one_line(session_id)!r}. See: callboard sessions list")
    return row


R = TypeVar("R", SessionRow, RequestRow, KeyRow)


def only_match(beginning: str, rows: Iterable[R], what: str) -> R | None:
    """Return the only row whose id begins with a text, or None. Raises `CommandError` if there are several."""
    matching = [row for row in rows if beginning and row.id.startswith(beginning)]
    if len(matching) > 1:
        ids = ", ".join(one_line(row.id) for row in matching[:MAX_MATCHES])
        raise CommandError(
            f"Several {what} begin with {one_line(beginning)!r}: {ids}. Give more of the id.", Exit.USAGE
        )
    return matching[0] if matching else None


def owner_of(row: ExecutionRow, owners: Mapping[str, OwnerRow]) -> str | None:
    """The id of the process that runs an execution; None if it has no owner, or its owner is gone."""
    owner = None if row.owner is None else owners.get(row.owner)
    return owner.id if owner is not None and is_alive(owner) else None


def is_alive(owner: OwnerRow) -> bool:
    """Whether a process still uses the store, as far as this machine can tell."""
    return owner.beat >= 0 and not is_dead(owner)


def process_name(owner: str) -> str:
    """The host and process id in an owner's id."""
    return one_line(owner.rpartition("-")[0] or owner)


# Rows as JSON data: fields by their names, times in ISO 8601, stored JSON parsed. Arguments are masked; the call's
# original document, which may hold secrets, is left out.


def session_data(row: SessionRow) -> dict[str, Any]:
    names = ("id", "user_id", "title", "open", "namespaces", "channel", "allow", "tools", "created_at", "updated_at")
    return _fields(row, *names, "last_activity", "first_seq", "last_seq", "unconsumed")


def execution_data(row: ExecutionRow) -> dict[str, Any]:
    return {
        **_fields(row, "id", "call_id", "tool", "kind", "status", "cancelling", "attempt", "max_attempts"),
        "arguments": from_json(row.display_arguments),
        **_fields(row, "parent_id", "queued_at", "started_at", "owner"),
    }


def result_data(row: ExecutionRow) -> dict[str, Any]:
    """An ended execution: its status, and its value or error."""
    return _fields(row, "id", "call_id", "tool", "status", "value", "error", "completed_at")


def request_data(row: RequestRow, now: float) -> dict[str, Any]:
    return {
        **_fields(row, "id", "session_id", "user_id", "execution_id", "kind", "purpose", "tool"),
        "status": request_status(row, now),
        "payload": from_json(row.payload),
        "answer_schema": from_json(row.schema),
        "arguments_hash": arguments_hash(row),
        **_fields(row, "answer", "created_at", "expires_at", "answered_at"),
    }


def request_status(row: RequestRow, now: float) -> str:
    """The status of a request: `expired` from the moment of its expiry, even if the row still says `open`."""
    expired = row.status == "open" and row.expires_at is not None and row.expires_at <= now
    return "expired" if expired else row.status


def key_data(row: KeyRow, now: float) -> dict[str, Any]:
    """A key, without its hash."""
    times = _fields(row, "created_at", "expires_at", "revoked_at", "last_used_at")
    return {**_fields(row, "id", "user_id", "name"), "state": key_state(row, now), **times}


def _fields(row: object, *names: str) -> dict[str, Any]:
    return {name: _json_value(getattr(row, name)) for name in names}


def _json_value(value: Any) -> Any:
    match value:
        case bytes():
            return from_json(value)
        case float():
            return datetime.fromtimestamp(value, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case _:
            return value
