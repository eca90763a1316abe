"""`callboard events`: print the events of a session, and follow them across processes."""

import asyncio
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from ...events.board import CursorExpired
from ...events.event import Event, Events
from ...sessions.ids import SessionNotFound
from ...storage.change import Notice
from ...storage.errors import StoreUnavailable
from ...storage.event_log import Page
from ...storage.rows import SessionRow
from ...storage.store import Store
from ..interrupts import alongside
from ..output_pipe import wait_for_closed_output
from ..process import CommandError, Exit
from ..terminal.console import note
from ..terminal.event_lines import EventLines
from ..terminal.text import safe_json
from .store import DEFAULT, Address, SessionId, find_session, use_store

PAGE = 500
"""Events per read."""
RETRY_DELAY = 1.0
"""Seconds between attempts to reach the store."""


def show_events(
    session_id: SessionId,
    after: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Only events after this number.", show_default=False)
    ] = None,
    last: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Only the newest N events.", show_default=False)
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for new events.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print each event as a line of JSON.")] = False,
    store: Address = DEFAULT,
) -> None:
    """Print the events of a session.

    With --follow, also print new events, from any process, until you
    press Ctrl-C (exit code 130). Reading changes nothing.
    """
    if after is not None and last is not None:
        raise CommandError("--after and --last exclude each other.", Exit.USAGE)
    written, followed = asyncio.Event(), session_id

    async def tail(store: Store) -> Exit:
        nonlocal followed
        row = await find_session(store, session_id)
        followed = row.id
        try:
            start = start_of(row, after, last)
        except CursorExpired as expired:
            raise CommandError(f"{expired} Use: --after {expired.first - 1}") from None
        reader = BoardReader(store, row.id, start, _print_json_line if as_json else EventLines().show)
        if not follow:
            await reader.catch_up()
            return Exit.OK
        try:
            async with alongside(wait_for_closed_output()):
                while True:
                    written.clear()
                    await reader.catch_up_patiently()
                    await written.wait()
        except asyncio.CancelledError:  # Ctrl-C
            return Exit.INTERRUPTED

    def on_write(session: str | None, notice: Notice = Notice.CHANGED, /) -> None:
        if session in (None, followed):
            written.set()

    raise typer.Exit(use_store(store, tail, on_write))


def start_of(row: SessionRow, after: int | None, last: int | None) -> int:
    """The number after which to start. Raises `CursorExpired` if the events after `after` are no longer kept."""
    if after is not None:
        if after + 1 < row.first_seq:
            raise CursorExpired(after, row.first_seq)
        return after
    if last is not None:
        return max(row.first_seq - 1, row.last_seq - last)
    if row.first_seq > 1:
        note(f"The first {row.first_seq - 1:,} events are no longer kept.")
    return row.first_seq - 1


class BoardReader:
    """Reads one board from a cursor on."""

    def __init__(self, store: Store, session_id: str, after: int, show: Callable[[Event], None]) -> None:
        self._store = store
        self._session_id = session_id
        self._after = after
        self._show = show

    async def catch_up(self) -> None:
        """Show all events up to the newest. Raises `SessionNotFound` if the session was removed."""
        while True:
            page = await self._store.events(self._session_id, self._after, PAGE)
            self._show_page(page)
            if not page.lines or page.first + len(page.lines) > page.last_seq:
                break
        if page.last_seq == 0 and await self._store.session(self._session_id) is None:
            raise SessionNotFound(f"The session {self._session_id!r} was removed.")

    async def catch_up_patiently(self) -> None:
        """Catch up, and retry until the store answers."""
        retrying = False
        while True:
            try:
                await self.catch_up()
            except StoreUnavailable as error:
                if not retrying:
                    note(f"{error} Retrying until it answers.")
                retrying = True
                await asyncio.sleep(RETRY_DELAY)
            else:
                if retrying:
                    note("The store answers again.")
                return

    def _show_page(self, page: Page) -> None:
        if page.lines and page.first > self._after + 1:
            note(f"The events from {self._after + 1:,} to {page.first - 1:,} were removed before they were read.")
        for event in Events(page.first, page.lines):
            self._after = event.seq
            self._show(event)
        sys.stdout.flush()


def _print_json_line(event: Event) -> None:
    sys.stdout.buffer.write(safe_json(event.line.decode()).encode() + b"\n")
