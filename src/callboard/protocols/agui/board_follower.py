"""Reads the events and the live text of a board in their order.

A text delta has no number. It is stored with the number of the newest event at that time, and so sorted between this
event and the next. Events are not buffered: a slow reader reads them from the log.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from pydantic_core import from_json

from ...events.board import CursorExpired
from ...events.event import Event, Events
from ...sessions.live_session import LiveSession


class TextDelta(NamedTuple):
    """Text of the model, and the response to which it belongs."""

    response: int
    """The response's number from 1, or 0 if unknown."""
    text: str


class BoardFollower:
    """One reader of a session, from the newest event on."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._board = session.board
        self.cursor = session.board.last_seq
        self._deltas: list[tuple[int, int, list[str]]] = []
        """For each delta the number of the event before it, its response, and its text."""
        self._changed = asyncio.Event()

    @contextmanager
    def reading(self) -> Generator[None]:
        """Receive events and text until the end of the `with`."""
        with self._board.listening(self._add_live), self._session.subscribe(self.notify, self.cursor, self.notify):
            yield

    def _add_live(self, encoded: bytes) -> None:
        data = from_json(encoded)["data"]
        if delta := data.get("delta"):
            where = (self._board.last_seq, data.get("response") or 0)
            if not self._deltas or self._deltas[-1][:2] != where:
                self._deltas.append((*where, []))
            self._deltas[-1][2].append(delta)
            self._changed.set()

    def notify(self, _: object = None) -> None:
        """End the current wait."""
        self._changed.set()

    async def wait(self, timeout: float) -> bool:
        """Wait for an event, text or `notify`. Returns False after the timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        return self._changed.is_set()

    async def read(self) -> list[Event | TextDelta]:
        """Return the new events, and the text between them."""
        self._changed.clear()
        found: list[Event | TextDelta] = []
        for event in await self._events():
            self._take_deltas(event.seq - 1, found)
            found.append(event)
            self.cursor = event.seq
        self._take_deltas(self.cursor, found)
        if self._deltas or self._board.last_seq > self.cursor:
            self._changed.set()
        return found

    def _take_deltas(self, until: int, found: list[Event | TextDelta]) -> None:
        while self._deltas and self._deltas[0][0] <= until:
            _, response, texts = self._deltas.pop(0)
            found.append(TextDelta(response, "".join(texts)))

    async def _events(self) -> Events:
        if self._board.last_seq <= self.cursor:
            return Events(self.cursor + 1, [])
        try:
            return await self._board.page(self.cursor)
        except CursorExpired:  # the transcript has all that matters
            self.cursor = self._board.last_seq
            return Events(self.cursor + 1, [])
