"""Boards with a store behind them: they receive the events that other processes wrote."""

from collections.abc import Mapping
from typing import NamedTuple

from ..events.board import Board
from ..events.event import Events
from ..storage.event_log import EventLog, Page
from .live_session import LiveSession
from .services import Services

PAGE = 1_000
"""Number of events that are read at once for a board that has fallen behind."""

READ_BYTES = 1_048_576
"""Approximate number of bytes that are read at once for a reader that is behind."""


class Boards:
    """Keeps the boards of one process up to date."""

    def __init__(self, services: Services, sessions: Mapping[str, LiveSession]) -> None:
        self.store: EventLog = services.store
        self._sessions = sessions
        self._background = services.background
        self._behind: dict[str, bool] = {}
        """Sessions whose boards are catching up, and whether each has fallen behind again meanwhile."""

    async def catch_up(self, session_id: str, board: Board) -> None:
        """Add to a board the stored events that it misses."""
        while True:
            page = await self.store.events(session_id, board.last_seq, PAGE)
            if not _add(board, page):
                return

    async def refresh(self, session: LiveSession) -> bool:
        """Add the events that its board misses to a session. False if the store has another session with its id."""
        last_seq = session.board.last_seq
        page = await self.store.events(session.id, last_seq, PAGE)
        if page.made_at != session.created_at or page.last_seq < last_seq:
            return False
        if _add(session.board, page):
            self.catch_up_soon(session.id)
        return True

    def catch_up_soon(self, session_id: str) -> None:
        """Start to catch up with events that other processes wrote."""
        if session_id in self._behind:
            self._behind[session_id] = True
        elif (session := self._sessions.get(session_id)) is not None:
            self._behind[session_id] = True
            self._background.run(self._catch_up_repeatedly(session_id, session.board))

    async def _catch_up_repeatedly(self, session_id: str, board: Board) -> None:
        try:
            while self._behind[session_id]:
                self._behind[session_id] = False
                await self.catch_up(session_id, board)
        finally:
            del self._behind[session_id]


def _add(board: Board, page: Page) -> bool:
    """Add a page of stored events to a board. Return whether more events follow."""
    end = page.first + len(page.lines)
    if page.lines:
        if page.first > board.last_seq + 1:  # the events between are no longer kept
            board.restart(page.first - 1)
        board.receive(end - 1, page.lines)
    return bool(page.lines) and end <= page.last_seq


class StoredBoard(NamedTuple):
    """The stored part of one board, as its `Archive`."""

    boards: Boards
    session_id: str

    async def events(self, after: int, limit: int) -> tuple[int, Events]:
        page = await self.boards.store.events(self.session_id, after, limit, max_bytes=READ_BYTES)
        return page.first_seq, Events(page.first, page.lines)

    def catch_up_soon(self) -> None:
        self.boards.catch_up_soon(self.session_id)
