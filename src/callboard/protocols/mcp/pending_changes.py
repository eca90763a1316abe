"""Changes that a client is still to be notified of."""

import asyncio
from collections.abc import AsyncGenerator

from mcp.server.subscriptions import ResourceUpdated, ServerEvent

from ...events.board import Subscription
from ...sessions.live_session import LiveSession
from .resources import BOARD

_BOARD_UPDATED = ResourceUpdated(uri=BOARD)


class PendingChanges:
    """The changes of a session for one client. A change that is repeated before it is read is read once."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._pending: dict[ServerEvent, None] = {}
        self._added = asyncio.Event()
        self._board: Subscription | None = None

    def add(self, *changes: ServerEvent) -> None:
        self._pending.update(dict.fromkeys(changes))
        self._added.set()

    def watch_board(self) -> None:
        """Add new events of the session as a change of its board, until `leave_board`."""
        if self._board is None:
            self._board = self._session.subscribe(lambda _: self.add(_BOARD_UPDATED), None, lambda _: None)

    def leave_board(self) -> None:
        """Add no more changes of the board, and drop those that are not read yet."""
        if self._board is not None:
            self._board.close()
            self._board = None
        self._pending.pop(_BOARD_UPDATED, None)

    async def read(self) -> AsyncGenerator[ServerEvent]:
        """Yield changes until cancelled."""
        while True:
            await self._added.wait()
            self._added.clear()
            while self._pending:
                change = next(iter(self._pending))
                del self._pending[change]
                yield change
