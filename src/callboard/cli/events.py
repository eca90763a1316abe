"""`callboard events`: what happened in a session, and what happens in it, in whichever process."""

import asyncio
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from ..events.board import CursorExpired
from ..events.event import Event, Events
from ..sessions.ids import SessionNotFound
from ..storage.errors import StoreUnavailable
from ..storage.event_log import Page
from ..storage.rows import SessionRow
from ..storage.store import Store
from .console import fail
from .event_lines import EventLines
from .exits import Exit
from .session_status import find_session
from .sessions import SessionId
from .store import DEFAULT, Address, say, visit

PAGE = 500
"""How many events are read at once."""
PAUSE = 1.0
"""Seconds before a store that does not answer is asked again."""


def show_events(
    session_id: SessionId,
    after: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Only events after this number.", show_default=False)
    ] = None,
    last: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Only the newest so many.", show_default=False)
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Every event as a line of JSON.")] = False,
    store: Address = DEFAULT,
) -> None:
    """Show the events of a session's board: all that are kept, or those after a number.

    With --follow also those that come, whichever process posts them,
    until Ctrl-C ends it (exit code 130). Nothing is changed by looking.
    """
    if after is not None and last is not None:
        raise typer.Exit(fail("--after and --last exclude each other.", Exit.USAGE))
    more = asyncio.Event()

    async def tail(store: Store) -> Exit:
        row = await find_session(store, session_id)
        try:
            start = start_of(row, after, last)
        except CursorExpired as expired:
            return Exit(fail(f"{expired} Begin with: --after {expired.first - 1}", Exit.FAILED))
        board = Tail(store, row, start, _json if as_json else EventLines().show)
        if not follow:
            await board.catch_up()
            return Exit.OK
        try:
            while True:
                more.clear()
                await board.keep_up()
                await more.wait()
        except asyncio.CancelledError:  # which is how one stops to follow
            return Exit.INTERRUPTED

    def woken(session: str | None) -> None:
        if session in (None, session_id):
            more.set()

    raise typer.Exit(visit(store, tail, woken))


def start_of(row: SessionRow, after: int | None, last: int | None) -> int:
    """The number after which to begin. Raises `CursorExpired` where the user names one that is not kept any more."""
    if after is not None:
        if after + 1 < row.first_seq:
            raise CursorExpired(after, row.first_seq)
        return after
    if last is not None:
        return max(row.first_seq - 1, row.last_seq - last)
    if row.first_seq > 1:
        say(f"The first {row.first_seq - 1:,} events are not kept any more.")
    return row.first_seq - 1


class Tail:
    """A reader of one board that remembers where it is."""

    def __init__(self, store: Store, row: SessionRow, after: int, show: Callable[[Event], None]) -> None:
        self._store = store
        self._session_id = row.id
        self._after = after
        self._show = show
        self._waiting = False

    async def catch_up(self) -> None:
        """Show what there is."""
        while True:
            page = await self._store.events(self._session_id, self._after, PAGE)
            self._take(page)
            if not page.lines or page.first + len(page.lines) > page.last_seq:
                break
        if page.last_seq == 0 and await self._store.session(self._session_id) is None:
            raise SessionNotFound(f"The session {self._session_id!r} was removed.")

    async def keep_up(self) -> None:
        """The same, however long the store does not answer."""
        while True:
            try:
                await self.catch_up()
            except StoreUnavailable as error:
                if not self._waiting:
                    say(f"{error} It is asked again until it answers.")
                self._waiting = True
                await asyncio.sleep(PAUSE)
            else:
                if self._waiting:
                    say("The store answers again.")
                self._waiting = False
                return

    def _take(self, page: Page) -> None:
        if page.lines and page.first > self._after + 1:
            say(f"The events from {self._after + 1:,} to {page.first - 1:,} were removed before they were shown.")
        for event in Events(page.first, page.lines):
            self._after = event.seq
            self._show(event)
        sys.stdout.flush()


def _json(event: Event) -> None:
    sys.stdout.buffer.write(event.line + b"\n")
