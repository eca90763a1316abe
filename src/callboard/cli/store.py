"""The store that a command looks into, beside whatever processes work with it.

A command line recovers nothing, interrupts nothing and logs nobody in: what it does is done by the store, and carried
out by the processes that hold the work.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from ..runtime import open_store
from ..storage.errors import StoreError
from ..storage.store import Store
from .console import err, fail
from .exits import Exit
from .interrupts import Interrupts
from .logs import logs_said
from .text import one_line

T = TypeVar("T")

DEFAULT = "sqlite:///callboard.db"
_FILE = "sqlite:///"

Address = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="CALLBOARD_STORE",
        help="Which store: sqlite:///file.db or postgresql://host/name.",
    ),
]


def visit(url: str, work: Callable[[Store], Awaitable[T]], woken: Callable[[str | None], Any] | None = None) -> T:
    """Do some work with the store at an address. `woken` is called when another process wrote, as the store says.

    Raises `StoreError`, also for a file that is not there: none is made. Ctrl-C cancels the work; a second one leaves
    at once.
    """
    require(url)
    return visit_opened(open_store(url), work, woken)


def visit_opened(
    store: Store, work: Callable[[Store], Awaitable[T]], woken: Callable[[str | None], Any] | None = None
) -> T:
    """The same, with a store that somebody else has made. It is opened here, and closed."""

    async def visited() -> T:
        task = asyncio.current_task()
        assert task is not None
        with Interrupts(task.cancel, lambda: None), logs_said(say):
            await store.open(woken or (lambda _: None))
            try:
                return await work(store)
            finally:
                await store.close()

    try:
        return asyncio.run(visited())
    except asyncio.CancelledError:
        raise typer.Exit(fail("stopped", Exit.INTERRUPTED)) from None


def require(url: str) -> None:
    """Raises `StoreError` for a store that cannot be looked into from here: one in memory, a file that is not there."""
    refuse_memory(url)
    if name := missing_file(url):
        raise StoreError(
            f"There is no file {name}. Name the store with --store or in CALLBOARD_STORE; a new one is made by a "
            "runtime, or by: callboard migrate"
        )


def missing_file(url: str) -> str | None:
    """The name of a store's file that is not there; None for one that is, and for any other store."""
    name = url.removeprefix(_FILE)
    return name if url.startswith(_FILE) and not Path(name).exists() else None


def say(message: str) -> None:
    """Tell the person something on standard error that is no error."""
    err.print(Text(one_line(message), style="yellow"), soft_wrap=True)


def refuse_memory(url: str) -> None:
    """Raises `StoreError` for a store in memory, which only its own process can see."""
    if url == "memory://":
        raise StoreError("A store in memory is seen by its own process only. Name another one with --store.")
