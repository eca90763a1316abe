"""The transport that uvicorn's protocol writes to: the socket's, with two differences.

The head of a response is sent together with the start of its body, and `close` is left to the connection, which may
linger. uvicorn writes head and body separately: the head alone would wake a client that cannot do anything with it.
"""

import asyncio
from collections.abc import Callable
from typing import Any

_HEAD = b"HTTP/1.1 "


class ConnectionTransport:
    """The transport of one connection."""

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        close: Callable[[], None],
        closing: Callable[[], bool],
    ) -> None:
        self.get_write_buffer_size = transport.get_write_buffer_size
        self.close = close
        self.is_closing = closing
        self._transport = transport
        self._loop = loop
        self._head: bytes | None = None

    def write(self, data: bytes) -> None:
        """Send bytes, but hold a head back until the next bytes, or until the next turn of the event loop."""
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.writelines((head, data))
        elif data.startswith(_HEAD):
            self._head = data
            self._loop.call_soon(self.flush)
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Send a head that is held back."""
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head)

    def forget_connection(self) -> None:
        """Leave `close` to the socket's transport too: the connection has ended."""
        self._head = None
        self.close = self._transport.close
        self.is_closing = self._transport.is_closing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
