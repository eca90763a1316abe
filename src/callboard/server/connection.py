"""The server's HTTP connections: uvicorn's protocol with limits on the head of a request and on slow clients.

uvicorn's httptools protocol limits neither the size of a request's head nor the time to receive it. `Connection` limits
both, aborts the connection of a client that does not read its response, and offers streams a way to abort theirs. A
connection that ends while its client is still sending lingers (see `lingering`), so that the client can read the
response.
"""

import asyncio
import logging
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from ..protocols.problem import MEDIA_TYPE
from .body_limits import WHOLE
from .connection_transport import ConnectionTransport
from .event_stream import ABORT
from .lingering import Linger, LingeringConnections

log = logging.getLogger("callboard.server")

MAX_HEAD = 64 * 1024
"""Bytes of a request's URL and headers."""
MAX_HEADERS = 100
PATIENCE = 15.0
"""Seconds that the head of a request may take, from the start of the connection or its first byte."""

STALL = 30.0
"""Seconds in which a client must read at least `LEAST` bytes of a response, or its connection is aborted."""
LEAST = 4_096


def _answer(status: bytes, code: bytes, title: bytes) -> bytes:
    """Return the problem response for bytes that are not a valid request."""
    body = b'{"type":"urn:callboard:problem:%b","title":"%b","status":%b,"code":"%b"}' % (code, title, status[:3], code)
    head = b"content-type: %b\r\ncontent-length: %d\r\nconnection: close" % (MEDIA_TYPE.encode(), len(body))
    return b"HTTP/1.1 %b\r\n%b\r\n\r\n%b" % (status, head, body)


_TOO_LARGE = _answer(b"431 Request Header Fields Too Large", b"head_too_large", b"Too large")
_NOT_HTTP = _answer(b"400 Bad Request", b"http_invalid", b"Not valid HTTP")


class Connection(HttpToolsProtocol):
    """One connection of the server."""

    _head_bytes = 0
    _header_count = 0
    _in_head = False
    _refused = False
    """Whether all further bytes of the client are discarded."""
    _keep_alive = True
    """Whether the connection may stay open after the newest request, if its body is received completely."""
    _linger: Linger | None = None
    _socket: asyncio.Transport
    _responses: ConnectionTransport
    _timer: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None
    _unsent = 0
    _answering: RequestResponseCycle | None = None
    """The request that is being answered, if pipelined requests wait behind it."""

    def __init__(self, *args: Any, lingering: LingeringConnections, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lingering = lingering

    @property
    def _current(self) -> RequestResponseCycle | None:
        """The request that is being answered, or the last one that was answered."""
        return self._answering or self.cycle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast("asyncio.Transport", transport)
        self._responses = ConnectionTransport(self._socket, self.loop, self._close, self._is_closing)
        super().connection_made(cast("asyncio.Transport", self._responses))
        self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timeout()
        self._unwatch()
        if self._linger is not None:
            self._linger.end()
        super().connection_lost(exc)
        self._disconnect(self._answering)  # uvicorn notifies only the newest request
        self._forget_references()

    def _forget_references(self) -> None:
        """Break the reference cycles of an ended connection: they would stay until a full collection of garbage."""
        self._responses.forget_connection()
        self._answering = self.cycle = cast("Any", None)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            if self._linger is not None:
                self._linger.discard(len(data))
            return
        super().data_received(data)
        if self._in_head:
            if self._timer is None:
                self._start_timeout()
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD:
                self._refuse_head()

    def on_message_begin(self) -> None:
        self._head_bytes = self._header_count = 0
        self._in_head = True
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)["extensions"] = {ABORT: self.transport.abort}

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_count += 1
        if self._header_count <= MAX_HEADERS:
            super().on_header(name, value)
        else:
            self._refuse_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._refused:
            return
        self._cancel_timeout()
        before = self.cycle
        super().on_headers_complete()
        if self.pipeline and self._answering is None:
            self._answering = before
        self._keep_alive = self.cycle.keep_alive
        self.cycle.keep_alive = False  # a response before the end of the body closes the connection

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._refused:
            super().on_message_complete()
            cast("dict[str, Any]", self.scope)["extensions"][WHOLE] = True
            if not self.cycle.response_started:
                self.cycle.keep_alive = self._keep_alive

    def shutdown(self) -> None:
        self._keep_alive = False
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        if not self._refused:
            self.transport.write(_NOT_HTTP)
            self._start_lingering()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        self._unwatch()
        super().resume_writing()

    def on_response_complete(self) -> None:
        self._responses.flush()  # the head of a response without a body
        if self.transport.get_write_buffer_size():
            self._watch()
        self._answering = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()

    def _watch(self) -> None:
        """Check later whether the client reads its response."""
        self._unwatch()
        self._unsent = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(STALL, self._check_stall)

    def _unwatch(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _check_stall(self) -> None:
        """Abort the connection if its client has read too little since the last check."""
        self._stall = None
        left = self.transport.get_write_buffer_size()
        if left and left > self._unsent - LEAST:
            log.info("connection aborted: its client does not read the response")
            self.transport.abort()
        elif left:
            self._watch()

    def _refuse_head(self) -> None:
        if not self._refused:
            self.transport.write(_TOO_LARGE)
            self._start_lingering()

    def _close(self) -> None:
        """Close the socket, after lingering if the last response preceded the end of its request's body."""
        self._responses.flush()
        answered = self._current
        if answered is not None and answered.response_complete and answered.more_body and not self._is_closing():
            self._start_lingering()
        elif self._linger is None:
            self._socket.close()

    def _is_closing(self) -> bool:
        return self._linger is not None or self._socket.is_closing()

    def _start_lingering(self) -> None:
        """Send nothing more, and discard received bytes until the client closes the connection."""
        self._refused = True
        self._cancel_timeout()
        self._responses.flush()
        if self._socket.is_closing():
            return
        self._disconnect(self._current)
        try:
            if self._socket.can_write_eof():
                self._socket.write_eof()
        except OSError:  # the client has reset the connection
            self._socket.abort()
            return
        self.flow.resume_reading()
        self._linger = Linger(self._owner(), self._time_out, self._lingering, self.loop)

    def _disconnect(self, answered: RequestResponseCycle | None) -> None:
        """Mark an unfinished request as disconnected, and wake its handler."""
        if answered is not None and not answered.response_complete:
            answered.disconnected = True
            answered.message_event.set()

    def _owner(self) -> str:
        """Return the user of the last answered request, or the client's address if the user is unknown."""
        answered = self._current
        known = None if answered is None else answered.scope.get("state", {}).get("user_id")
        return f"user {known}" if known is not None else f"host {self.client[0] if self.client else ''}"

    def _start_timeout(self) -> None:
        self._timer = self.loop.call_later(PATIENCE, self._time_out)

    def _cancel_timeout(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        self._socket.close()
        if self._socket.get_write_buffer_size():
            self._watch()
