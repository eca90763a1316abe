"""Access to a store from the command line, beside the processes that use it.

A command recovers nothing, interrupts nothing and logs in no user: it writes to the store, and the processes that own
the work carry it out.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from ..runtime import open_store
from ..sessions.ids import SessionNotFound
from ..sessions.liveness import is_dead
from ..storage.errors import StoreError
from ..storage.rows import ExecutionRow, OwnerRow, SessionRow
from ..storage.store import Store
from .interrupts import Interrupts
from .process import Exit
from .terminal.console import fail, note, print_logs
from .terminal.text import one_line

T = TypeVar("T")

DEFAULT = "sqlite:///callboard.db"
_FILE = "sqlite:///"

Address = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="CALLBOARD_STORE",
        help="The store: sqlite:///file.db or postgresql://host/name.",
    ),
]

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The id of the session.", show_default=False)]
OnWrite = Callable[[str | None], Any]
"""Called with a session id, or None for any session, when another process has written to the store."""


def use_store(url: str, work: Callable[[Store], Awaitable[T]], on_write: OnWrite | None = None) -> T:
    """Open the store at an address, do some work with it, and close it. See `use_opened`.

    Raises `StoreError`, also for a SQLite file that does not exist: no file is created.
    """
    require_store(url)
    return use_opened(open_store(url), work, on_write)


def use_opened(store: Store, work: Callable[[Store], Awaitable[T]], on_write: OnWrite | None = None) -> T:
    """Open a store, do some work with it, and close it. Ctrl-C cancels the work; a second one exits at once."""

    async def run() -> T:
        task = asyncio.current_task()
        assert task is not None
        with Interrupts(task.cancel), print_logs(note):
            await store.open(on_write or (lambda _: None))
            try:
                return await work(store)
            finally:
                await store.close()

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        raise typer.Exit(fail("stopped", Exit.INTERRUPTED)) from None


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
    name = url.removeprefix(_FILE)
    return name if url.startswith(_FILE) and not Path(name).exists() else None


def refuse_memory(url: str) -> None:
    """Raise `StoreError` for a store in memory, which only its own process can use."""
    if url == "memory://":
        raise StoreError("A store in memory is only visible to its own process. Name another one with --store.")


async def find_session(store: Store, session_id: str) -> SessionRow:
    """Find a session by its id. Raises `SessionNotFound`."""
    row = await store.session(session_id)
    if row is None:
        raise SessionNotFound(f"There is no session {one_line(session_id)!r}. See: callboard sessions list")
    return row


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
