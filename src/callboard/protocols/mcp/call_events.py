"""The events of one call and of its nested calls, read from the board of its session."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from ...errors import ToolError
from ...events.board import CursorExpired
from ...events.event import Event, Events
from ...events.kinds import EventKind
from ...sessions.live_session import LiveSession

_WANTED = tuple(
    f'{{"kind":"{kind}"'.encode()
    for kind in (
        EventKind.TOOL_PROGRESS,
        EventKind.TOOL_PARTIAL,
        EventKind.TOOL_RETRYING,
        EventKind.HUMAN_REQUEST,
        EventKind.HUMAN_ANSWER,
        EventKind.WALLET_TX_REQUEST,
        EventKind.WALLET_TX_RESPONSE,
    )
)
"""The beginnings of the events that matter, so that others are not decoded."""


class CallEvents:
    """Reads the events of a call, from the newest event of the session on."""

    def __init__(self, session: LiveSession, call_id: str) -> None:
        self._session = session
        self._board = session.board
        self.call_id = call_id
        self._cursor = session.board.last_seq
        self._related: dict[str, bool] = {}
        """Whether an execution is that of the call or nested in it, by id."""
        self._changed = asyncio.Event()
        self.wakes_on_all = False
        """Whether every event of the session ends a wait, not only those that matter to a client."""

    @contextmanager
    def reading(self, *, refresh: bool) -> Generator[None]:
        """Receive events until the end of the `with`. With `refresh`, also those that other processes have written."""
        with self._board.subscribe(self._receive, self._cursor, self.notify):
            if refresh:
                self._board.refresh()
            yield

    def _receive(self, events: Events) -> None:
        if self.wakes_on_all or any(line.startswith(_WANTED) for line in events.encoded):
            self._changed.set()

    def notify(self, _: object = None) -> None:
        """End the current wait."""
        self._changed.set()

    async def wait(self) -> None:
        """Return when there are new events, or after `notify`."""
        await self._changed.wait()
        self._changed.clear()

    @property
    def has_new(self) -> bool:
        """Whether there may be new events of the call: some are of the session, and matter to a client."""
        try:
            new = self._board.read(self._cursor)
        except CursorExpired:
            return True
        for line in new.encoded:  # noqa: SIM110 (`any` costs twice as much for the few events of a call)
            if line.startswith(_WANTED):
                return True
        return False

    async def read(self) -> list[Event]:
        """Return the new events of the call."""
        found: list[Event] = []
        while self._board.last_seq > self._cursor:
            try:
                events = await self._board.page(self._cursor)
            except CursorExpired:  # progress is lost, results and requests are not read from here
                self._cursor = self._board.last_seq
                break
            self._cursor = events.last
            wanted = (event for event in events if event.encoded.startswith(_WANTED))
            found += [event for event in wanted if await self._concerns(event)]
        return found

    async def _concerns(self, event: Event) -> bool:
        """Return whether an event is of the call. Answers are, whatever they answer."""
        execution_id = event.data.get("execution_id")
        return execution_id is None or await self.includes(execution_id)

    async def includes(self, execution_id: str) -> bool:
        """Return whether an execution is that of the call, or nested in it."""
        if (known := self._related.get(execution_id)) is None:
            known = self._related[execution_id] = await is_within(self._session, execution_id, self.call_id)
        return known


async def is_within(session: LiveSession, execution_id: str, call_id: str) -> bool:
    """Return whether an execution is that of a call, by the caller's id, or nested in it."""
    current: str | None = execution_id
    while current is not None:
        execution = session.index.by_id.get(current)
        if execution is not None:
            if execution.call_id == call_id:
                return True
            current = execution.parent_id
            continue
        try:
            record = await session.calls.stored_record(current)
        except ToolError:
            return False
        if record.call_id == call_id:
            return True
        current = record.parent_id
    return False
