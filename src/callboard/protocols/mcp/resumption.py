"""Streams of the handshake era that a client can resume: each connection keeps its newest messages for a while.

A client that lost a response asks for the messages after the last one that it received.
"""

from collections import deque
from typing import NamedTuple

from mcp import types
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

MAX_MESSAGES = 100
"""The number of messages that a connection keeps."""
MAX_BYTES = 256 * 1024
"""The bytes of all messages that a connection keeps, with the ids of their streams, which clients choose.

A longer message cannot be resumed.
"""


class _Kept(NamedTuple):
    number: int
    stream: str
    message: types.JSONRPCMessage | None
    size: int


class ConnectionMessages(EventStore):
    """The newest messages of one connection, over all its streams."""

    def __init__(self) -> None:
        self._kept: deque[_Kept] = deque()
        self._last = 0
        self._bytes = 0

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        """Keep a message. Returns its number."""
        self._last += 1
        text = "" if message is None else message.model_dump_json(by_alias=True, exclude_unset=True)
        size = len(stream_id) + len(text)
        self._kept.append(_Kept(self._last, stream_id, message, size))
        self._bytes += size
        while self._kept and (len(self._kept) > MAX_MESSAGES or self._bytes > MAX_BYTES):
            self._bytes -= self._kept.popleft().size
        return str(self._last)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send the kept messages of a stream after one of them. Returns the stream; None if that one is not kept."""
        stream = next((each.stream for each in self._kept if str(each.number) == last_event_id), None)
        if stream is not None:
            number = int(last_event_id)
            for each in tuple(self._kept):
                if each.stream == stream and each.number > number and each.message is not None:
                    await send_callback(EventMessage(each.message, str(each.number)))
        return stream


class ResumableManager(StreamableHTTPSessionManager):
    """The SDK's session manager, in which each connection has messages of its own.

    The SDK shares one store between all connections, and its streams are named by the clients' own ids: a client could
    resume the stream of another user.
    """

    @property
    def event_store(self) -> EventStore | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A new store, for the connection that is being opened."""
        return ConnectionMessages()

    @event_store.setter
    def event_store(self, store: EventStore | None) -> None: ...
