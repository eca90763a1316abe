"""The response of `GET /api/chat/stream`: a session's events for one client.

The request itself only waits for the client to disconnect; its `Reader` sends the events.
"""

from functools import partial

from starlette.types import Receive, Scope, Send

from ..events.event import Events
from ..events.routing import Family
from ..sessions.live_session import LiveSession
from .app_services import AppServices
from .problems import not_found
from .reader import CHUNK, Reader
from .session_state import read_state
from .sse import BEGIN, named_frame

ABORT = "callboard.abort"
"""The ASGI extension that aborts the connection (see `connection`)."""
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """A stream as an ASGI app, and the source from which its reader catches up."""

    __slots__ = ("_after", "_family", "_services", "_session")

    def __init__(self, services: AppServices, session: LiveSession, after: int | None, family: Family | None) -> None:
        self._services = services
        self._session = session
        self._after = after
        """The client's cursor; None starts with a snapshot."""
        self._family = family

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream. Raises `Problem` (404, 429, 503), also for what changed while the snapshot was read."""
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            return await send({"type": "http.response.body", "body": b"", "more_body": False})
        cursor, first = (self._after, b"") if self._after is not None else await self.snapshot("snapshot")
        streams = self._services.streams
        streams.admit(self._session)  # again: other requests that read a snapshot were admitted too
        if self._session.deleted:
            raise not_found("session")
        user_id, unsent = self._session.user_id, self._services.unsent_frames
        if len(first) > CHUNK:
            unsent.check(user_id, len(first))
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        abort = scope.get("extensions", {}).get(ABORT)
        hold = partial(unsent.holding, user_id)
        reader = Reader(self, send, cursor, family=self._family, limit=streams.buffer, hold=hold, abort=abort)
        try:
            with streams.reading(self._session, reader):
                reader.start(BEGIN + first)
                while (await receive())["type"] != "http.disconnect":
                    pass
        finally:
            await reader.close()

    @property
    def newest_seq(self) -> int:
        return self._session.board.last_seq

    async def page(self, after: int) -> Events:
        return await self._session.board.page(after)

    async def snapshot(self, name: str) -> tuple[int, bytes]:
        async with self._services.query_slots.of(self._session.user_id):
            state = await read_state(self._services, self._session)
            return state.last_seq, named_frame(name, state.model_dump_json().encode(), state.last_seq)
