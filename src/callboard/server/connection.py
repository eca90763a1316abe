"""What a connection may cost before there is a request, and a way to break one off.

uvicorn's protocol on httptools has no bound for the head of a request, nor for the time that it takes. This one has
both, and lets a stream end a connection whose other side takes nothing more.
"""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .problems import MEDIA_TYPE
from .stream import ABORT

MAX_HEAD = 64 * 1024
"""Bytes of a request's address and headers."""
MAX_HEADERS = 100
PATIENCE = 15.0
"""Seconds that the head of a request may take, from the connection's beginning or its own first byte."""

LINGER = 2.0
"""Seconds for which one still listens, without hearing, to whom was refused while he spoke."""

_BODY = b'{"type":"urn:callboard:problem:head_too_large","title":"Too large","status":431,"code":"head_too_large"}'
_HEAD = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: %b\r\ncontent-length: %d\r\nconnection: close\r\n"
)
_REFUSED = b"%b\r\n%b" % (_HEAD % (MEDIA_TYPE.encode(), len(_BODY)), _BODY)


class Connection(HttpToolsProtocol):
    """One connection of the server."""

    _size = 0
    _count = 0
    _in_head = False
    _refused = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        if self._in_head:
            self._size += len(data)
            if self._size > MAX_HEAD:
                self._refuse()

    def on_message_begin(self) -> None:
        self._size = self._count = 0
        self._in_head = True
        if self._timer is None:
            self._wait()
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)["extensions"] = {ABORT: self.transport.abort}

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count += 1
        if self._count <= MAX_HEADERS:
            super().on_header(name, value)
        else:
            self._refuse()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop()
        if not self._refused:
            super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.more_body and not self.transport.is_closing():  # answered before it was asked to the end
            self._leave()

    def _refuse(self) -> None:
        if not self._refused:
            self.transport.write(_REFUSED)
            self._leave()

    def _leave(self) -> None:
        """Say nothing more, and hang up soon: at once, the other side might lose the answer that is on its way."""
        self._refused = True
        self._stop()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._timer = self.loop.call_later(LINGER, self._too_slow)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(PATIENCE, self._too_slow)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        self.transport.close()
