"""Reads a board and what is said live, in the order in which both came.

A piece of text has no number. It is kept with that of the newest event when it came, and so comes after this one and
before the next. Events are not kept at all: a slow reader reads them from the log.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from pydantic_core import from_json

from ...events.board import CursorExpired
from ...events.event import Event, Events
from ...sessions.live_session import LiveSession

PAGE = 500
"""How many events are read at once."""


class Piece(NamedTuple):
    """Text that the model says, and the response that it is a part of."""

    response: int
    """Counted from 1; 0 where it is not known."""
    text: str


class Follower:
    """One reader of a session, from the moment it begins."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._board = session.board
        self.cursor = session.board.last_seq
        self._pieces: list[tuple[int, int, list[str]]] = []
        """After which event each piece came, its response, and its text."""
        self._woken = asyncio.Event()

    @contextmanager
    def reading(self) -> Generator[None]:
        """Hear what comes, until the end of the block."""
        with self._board.listening(self._hear), self._session.subscribe(self._wake, self.cursor, self._wake):
            yield

    def _hear(self, encoded: bytes) -> None:
        data = from_json(encoded)["data"]
        if delta := data.get("delta"):
            where = (self._board.last_seq, data.get("response") or 0)
            if not self._pieces or self._pieces[-1][:2] != where:
                self._pieces.append((*where, []))
            self._pieces[-1][2].append(delta)
            self._woken.set()

    def _wake(self, _: object) -> None:
        self.wake()

    def wake(self) -> None:
        """Have whoever waits look."""
        self._woken.set()

    async def wait(self, timeout: float) -> bool:
        """Wait until something came. False where nothing did for so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._woken.wait()
        return self._woken.is_set()

    async def take(self) -> list[Event | Piece]:
        """What came: events, and pieces of text between them."""
        self._woken.clear()
        found: list[Event | Piece] = []
        for event in await self._events():
            self._say(event.seq - 1, found)
            found.append(event)
            self.cursor = event.seq
        self._say(self.cursor, found)
        if self._pieces or self._board.last_seq > self.cursor:
            self._woken.set()
        return found

    def _say(self, until: int, found: list[Event | Piece]) -> None:
        while self._pieces and self._pieces[0][0] <= until:
            _, response, texts = self._pieces.pop(0)
            found.append(Piece(response, "".join(texts)))

    async def _events(self) -> Events:
        if self._board.last_seq <= self.cursor:
            return Events(self.cursor + 1, [])
        try:
            if self._board.remembers(self.cursor):
                return self._board.read(self.cursor, PAGE)
            return await self._board.recall(self.cursor)
        except CursorExpired:  # what matters is in the transcript, too
            self.cursor = self._board.last_seq
            return Events(self.cursor + 1, [])
