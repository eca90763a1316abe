"""The events of one call and of its nested calls, read from the board of its session."""

import asyncio
import re
from collections.abc import Generator
from contextlib import contextmanager

from ...errors import ToolError
from ...events.board import CursorExpired
from ...events.event import Event, Events
from ...events.kinds import EventKind
from ...sessions.live_session import LiveSession
from ...sessions.open_request import OpenRequest


def _beginnings(*kinds: EventKind) -> tuple[bytes, ...]:
    return tuple(f'{{"kind":"{kind}"'.encode() for kind in kinds)


_REQUESTS = _beginnings(EventKind.HUMAN_REQUEST, EventKind.WALLET_TX_REQUEST)
_ANSWERS = _beginnings(EventKind.HUMAN_ANSWER, EventKind.WALLET_TX_RESPONSE)
_REPORTS = _beginnings(EventKind.TOOL_PROGRESS, EventKind.TOOL_PARTIAL, EventKind.TOOL_RETRYING)
_WANTED = (*_REPORTS, *_REQUESTS, *_ANSWERS)
"""The beginnings of the events that matter, so that others are not decoded."""
_ENDS = _beginnings(EventKind.TOOL_RESULT)

_EXECUTION = re.compile(rb'"execution_id":"([^"]+)"')
_REQUEST = re.compile(rb'"request_id":"([^"]+)"')


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
        self._requests: set[str] | None = None
        """The open requests of the call; None until they are looked up."""

    @contextmanager
    def reading(self, *, refresh: bool) -> Generator[None]:
        """Receive events until the end of the `with`. With `refresh`, also those that other processes have written."""
        with self._board.subscribe(self._receive, self._cursor, self.notify):
            if refresh:
                self._board.refresh()
            yield

    def _receive(self, events: Events) -> None:
        if any(map(self._matters, events.encoded)):
            self._changed.set()

    def _matters(self, line: bytes) -> bool:
        """Return whether an event ends a wait. A session may have many calls: most events are of the others."""
        if line.startswith(_ANSWERS):
            return self._requests is None or any(each.decode() in self._requests for each in _REQUEST.findall(line))
        if line.startswith(_REQUESTS):  # its arguments may have the name too
            known = [self._known(each.decode()) for each in _EXECUTION.findall(line)]
            return True in known or False not in known
        if not line.startswith(_REPORTS) and (self._requests is None or not line.startswith(_ENDS)):
            return False
        found = _EXECUTION.search(line)
        return found is not None and self._known(found[1].decode()) is not False

    def _known(self, execution_id: str) -> bool | None:
        """Return whether an execution is that of the call or nested in it; None if memory does not tell."""
        current: str | None = execution_id
        while current is not None and (execution := self._session.index.by_id.get(current)) is not None:
            if execution.call_id == self.call_id:
                return True
            current = execution.parent_id
        return False if current is None else self._related.get(execution_id)

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

    async def open_requests(self) -> list[OpenRequest]:
        """Return the open requests of the call and of its nested calls. From now on, their ends end a wait too."""
        found = [row for row in await self._session.requests() if await self.includes(row.execution_id)]
        self._requests = {row.id for row in found}
        return [OpenRequest.from_row(row) for row in found]


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
