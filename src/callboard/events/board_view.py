"""The board of a session as users see it: events to read and to wait for, and no way to change them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .board import Board
from .event import Events


class BoardView:
    """Reads the events of a session that are in memory. To append one, use `Session.post` or `Session.notice`."""

    __slots__ = ("_board",)

    def __init__(self, board: Board) -> None:
        self._board = board

    @property
    def first_seq(self) -> int:
        """The number of the oldest event that is kept in memory."""
        return self._board.first_seq

    @property
    def last_seq(self) -> int:
        """The number of the newest event; 0 if there is none."""
        return self._board.last_seq

    @property
    def has_readers(self) -> bool:
        """Whether there is a reader."""
        return self._board.has_readers

    def read(self, after: int, limit: int | None = None) -> Events:
        """Return the events in memory after a cursor, oldest first. Raises `CursorExpired`."""
        return self._board.read(after, limit)

    async def wait(self, after: int) -> None:
        """Return when there is an event after the cursor, or the session is deleted."""
        await self._board.wait(after)

    def listening(self, listener: Callable[[bytes], Any]) -> AbstractContextManager[None]:
        """Deliver events that are not kept, such as the text of a turn piece by piece, to a listener."""
        return self._board.listening(listener)
