"""One stream of events, from its first byte to its last: the answer to `GET /api/chat/stream`.

The request itself waits for nothing but the client's leaving. What is sent is the reader's.
"""

from starlette.types import Receive, Scope, Send

from ..events.event import Events
from ..events.routing import Family
from ..sessions.live_session import LiveSession
from .app_services import AppServices
from .frames import BEGIN, named_frame
from .reader import Reader
from .state import state_of

PAGE = 500
ABORT = "callboard.abort"
"""The name under which a server lets us break a connection off (see `connection`)."""
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """A session's events for one client, as an ASGI app."""

    __slots__ = ("_after", "_family", "_services", "_session")

    def __init__(self, services: AppServices, session: LiveSession, after: int | None, family: Family | None) -> None:
        self._services = services
        self._session = session
        self._after = after
        """Where the client stands; None: it begins, with a snapshot."""
        self._family = family

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            return await send({"type": "http.response.body", "body": b"", "more_body": False})
        cursor, first = (self._after, b"") if self._after is not None else await self.snapshot("snapshot")
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        streams = self._services.streams
        abort = scope.get("extensions", {}).get(ABORT)
        reader = Reader(self, send, cursor, family=self._family, limit=streams.buffer, abort=abort)
        try:
            with streams.reading(self._session, reader):
                reader.begin(BEGIN + first)
                while (await receive())["type"] != "http.disconnect":
                    pass
        finally:
            reader.close()

    @property
    def newest(self) -> int:
        """The number of the newest event."""
        return self._session.board.last_seq

    async def page(self, after: int) -> Events:
        """The next events after a number. Raises `CursorExpired`."""
        board = self._session.board
        return board.read(after, PAGE) if board.remembers(after) else await board.recall(after)

    async def snapshot(self, name: str) -> tuple[int, bytes]:
        """How things stand, and after which number to go on."""
        async with self._services.lanes.of(self._session.user_id):
            state = await state_of(self._services, self._session)
            return state.last_seq, named_frame(name, state.model_dump_json().encode(), state.last_seq)
