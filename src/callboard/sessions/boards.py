"""Boards with a store behind them: they receive the events that other processes wrote."""

from collections.abc import Mapping

from ..events.board import Board
from ..events.event import Events
from ..storage.event_log import EventLog
from .background_tasks import BackgroundTasks
from .live_session import LiveSession

PAGE = 1_000
"""How many events are read from the store at once for a board that has fallen behind."""

READ_BYTES = 1_048_576
"""About how many bytes of events are read at once for a reader that is behind."""


class Boards:
    """Keeps the boards of one process up to date."""

    def __init__(self, store: EventLog, sessions: Mapping[str, LiveSession], background: BackgroundTasks) -> None:
        self._store = store
        self._sessions = sessions
        self._background = background
        self._behind: dict[str, bool] = {}
        """Boards that are catching up, and whether they have fallen behind again meanwhile."""

    async def catch_up(self, session_id: str, board: Board) -> None:
        """Add to a board the stored events that it misses."""
        while True:
            page = await self._store.events(session_id, board.last_seq, PAGE)
            if page.lines:
                if page.first > board.last_seq + 1:  # the events between are not kept any more
                    board.restart(page.first - 1)
                board.receive(page.first + len(page.lines) - 1, page.lines)
            if not page.lines or page.first + len(page.lines) > page.last_seq:
                return

    def behind(self, session_id: str) -> None:
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

    async def events(self, session_id: str, after: int, limit: int) -> tuple[int, Events]:
        """Return stored events after a number, and the number of the first one that is kept."""
        page = await self._store.events(session_id, after, limit, max_bytes=READ_BYTES)
        return page.first_seq, Events(page.first, page.lines)

    def archive(self, session_id: str) -> "Archive":
        """Return the stored part of a session's board."""
        return Archive(self, session_id)


class Archive:
    """The stored part of one board. See `events.board.Archive`."""

    __slots__ = ("_boards", "_session_id")

    def __init__(self, boards: Boards, session_id: str) -> None:
        self._boards = boards
        self._session_id = session_id

    async def events(self, after: int, limit: int) -> tuple[int, Events]:
        return await self._boards.events(self._session_id, after, limit)

    def behind(self) -> None:
        self._boards.behind(self._session_id)
