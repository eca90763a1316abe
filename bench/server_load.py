"""The load: many cheap clients in one process, on a separate core.

They implement just enough HTTP to read uvicorn's responses. Frames of events are found directly in the stream, because
no event contains a line break. A reader checks the number of every event.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable
from typing import Any, cast

_FRAME = re.compile(rb'id: (\d+)\nevent: (\w+)\ndata: (?:[^\n]*?"handed":([\d.e+-]+))?[^\n]*\n\n')
_BEGINNINGS = frozenset({b"snapshot", b"resync"})
"""Frames after which sequence numbers continue from theirs."""


class Tally:
    """Counters shared by all readers of a kind."""

    def __init__(self) -> None:
        self.ready = 0
        """Readers that have received a response."""
        self.events = 0
        self.wrong = 0
        """Events that were missing, duplicated or out of order."""
        self.resyncs = 0
        self.waits: list[float] = []
        """Seconds from the posting of each event to its reader."""
        self._wanted = 0
        self._more = asyncio.Event()

    def notify(self) -> None:
        """Resume tasks whose count is reached."""
        if self.events >= self._wanted or not self._wanted:
            self._more.set()

    async def have(self, events: int) -> None:
        """Wait until the readers have seen that many events."""
        await self._until(lambda: self.events >= events, events)

    async def are_ready(self, readers: int) -> None:
        """Wait until that many readers have received a response."""
        await self._until(lambda: self.ready >= readers, 0)

    async def _until(self, done: Callable[[], bool], wanted: int) -> None:
        self._wanted = wanted
        try:
            async with asyncio.timeout(60.0):
                while not done():
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            found = f"{self.ready} readers, {self.events} events, {self.wrong} wrong"
            raise TimeoutError(f"timed out with {found}") from None


class Reader(asyncio.Protocol):
    """A connection that reads one session from a sequence number on."""

    __slots__ = ("_answered", "_request", "_rest", "_tally", "_transport", "ended", "last")

    def __init__(self, tally: Tally, session_id: str, after: int = 0) -> None:
        self._request = _get(f"/api/chat/stream?session_id={session_id}", after)
        self._tally = tally
        self._rest = b""
        self._answered = False
        self._transport: asyncio.Transport | None = None
        self.last = after
        """The sequence number of the last event."""
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def leave(self) -> None:
        """Close the connection immediately."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        now, tally = time.perf_counter(), self._tally
        if not self._answered:
            if not data.startswith(b"HTTP/1.1 200"):
                raise ConnectionError(data[:500].decode(errors="replace"))
            self._answered = True
            tally.ready += 1
        if self._rest:
            data = self._rest + data
        end = 0
        for match in _FRAME.finditer(data):
            number, name, handed = match.groups()
            seq = int(number)
            if name in _BEGINNINGS:
                tally.resyncs += 1
            elif name != b"goodbye":
                tally.wrong += seq != self.last + 1
                tally.events += 1
                if handed is not None:
                    tally.waits.append(now - float(handed))
            self.last = seq
            end = match.end()
        begun = data.find(b"id: ", end)
        self._rest = data[begun:] if begun >= 0 else data[max(end, len(data) - 3) :]
        tally.notify()


class Poster(asyncio.Protocol):
    """A connection that posts, waits for the response, and posts again, until it is stopped."""

    def __init__(self, path: str, body: Callable[[], object], done: Callable[[float], bool]) -> None:
        self._path = path
        self._body = body
        self._done = done
        """Called after each request; returns whether to continue."""
        self._rest = b""
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(ConnectionError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        self._rest += data
        head, found, body = self._rest.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 202")):
            self.ended.set_exception(ConnectionError(self._rest[:500].decode(errors="replace")))
            self._transport.close()
        elif self._done(time.perf_counter()):
            self._ask()
        else:
            self.ended.set_result(None)
            self._transport.close()

    def _ask(self) -> None:
        self._rest = b""
        self._transport.write(_post(self._path, self._body()))


async def ask(port: int, path: str, **body: Any) -> Any:
    """Send a request to a server over a new connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(_post(path, body))
        head = await reader.readuntil(b"\r\n\r\n")
        answer = await reader.readexactly(_length(head))
    finally:
        writer.close()
    if not head.startswith(b"HTTP/1.1 200"):
        raise ConnectionError((head + answer)[:500].decode(errors="replace"))
    return json.loads(answer)


async def connect(port: int, reader: Reader) -> Reader:
    """Connect a reader."""
    await asyncio.get_running_loop().create_connection(lambda: reader, "127.0.0.1", port)
    return reader


async def post(port: int, poster: Poster) -> None:
    """Connect a poster, and return when it was stopped."""
    await asyncio.get_running_loop().create_connection(lambda: poster, "127.0.0.1", port)
    await poster.ended


def _length(head: bytes) -> int:
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return int(found[1]) if found else 0


def _get(path: str, after: int) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nlast-event-id: {after}\r\n\r\n".encode()


def _post(path: str, body: object) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(content)}\r\n\r\n".encode() + content
