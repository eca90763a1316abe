"""A reader of a session: the sending side of one event stream. It has a task only while it sends.

Pending frames are sent together as soon as the connection accepts them. A slow reader, whose pending frames exceed the
limit, falls behind and reads from the log at its own pace, like a reader with an old cursor. So it misses nothing, and
holds up no other reader. The connection of a reader that accepts nothing is aborted, and so is that of a reader for
whose large frames there is no memory: its client resumes later.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from pydantic_core import to_json
from starlette.types import Send

from ..errors import CallboardError
from ..events.board import CursorExpired
from ..events.event import Events
from ..events.routing import Family
from ..protocols.problem import Problem
from .sse import HEARTBEAT, chunks, cursor_frame, named_frame

log = logging.getLogger("callboard.server")

CHUNK = 65_536
"""Bytes that are sent at once. The connection may buffer as many again."""


class Source(Protocol):
    """The log from which a reader catches up."""

    @property
    def newest_seq(self) -> int: ...

    async def page(self, after: int) -> Events:
        """Return the next events after a number. Raises `CursorExpired`."""
        ...

    async def snapshot(self, name: str) -> tuple[int, bytes]:
        """Return the number to resume after, and the session's state as a frame of that name."""
        ...


class Reader:
    """A cursor and the frames that it has still to send. Its stream creates and closes it."""

    __slots__ = (
        "_abort",
        "_final_event",
        "_hold",
        "_limit",
        "_pending",
        "_send",
        "_sending",
        "_sent",
        "_sent_at_heartbeat",
        "_size",
        "_source",
        "behind",
        "cursor",
        "family",
    )

    def __init__(
        self,
        source: Source,
        send: Send,
        cursor: int,
        *,
        family: Family | None = None,
        limit: int = 1_048_576,
        hold: Callable[[int], AbstractContextManager[Any]] = nullcontext,
        abort: Callable[[], Any] | None = None,
    ) -> None:
        self._source = source
        self._send = send
        self._limit = limit
        self._hold = hold
        """Reserves memory for so many bytes while they are sent. Raises `Problem` if there is too little."""
        self._abort = abort
        """Aborts the connection, if the server supports that."""
        self._pending: list[bytes] = []
        self._size = 0
        self._sending: asyncio.Task[None] | None = None
        self._sent = 0
        self._sent_at_heartbeat = -1
        self._final_event: str | None = None
        """The event that ends the stream, once it is to end."""
        self.cursor = cursor
        """The last event that was sent, or filtered out."""
        self.family = family
        self.behind = True
        """Whether it reads from the log; otherwise the fan-out delivers new events."""

    def start(self, piece: bytes) -> None:
        """Send a first frame, then all events after the cursor."""
        self._push(piece)

    def deliver(self, pieces: Sequence[bytes], last: int) -> None:
        """Send new events up to the number `last`."""
        size = sum(map(len, pieces))
        if self._size + size > self._limit:
            self.behind = True
            self._send_soon()
            return
        self.cursor = last
        for piece in pieces:
            self._push(piece)

    def deliver_live(self, piece: bytes) -> None:
        """Send an event that is not stored, unless the reader is behind; it will read the final text from the log."""
        if not self.behind and self._size + len(piece) <= self._limit:
            self._push(piece)

    def end(self, final_event: str) -> None:
        """Send pending frames and a final event with the number to resume after."""
        self._final_event = self._final_event or final_event
        self._send_soon()

    def heartbeat(self) -> None:
        """Send a heartbeat. Abort the connection if it accepted nothing since the previous one."""
        if self._sending is None:
            self._push(HEARTBEAT if self.family is None else cursor_frame(self.cursor))
        elif self._sent_at_heartbeat != self._sent:
            self._sent_at_heartbeat = self._sent
        else:
            log.info("stream aborted: its client reads nothing; it can resume")
            self._abort_connection()

    async def close(self) -> None:
        """Stop sending, and wait for the end of the sending task."""
        self._pending.clear()
        if (sending := self._sending) is not None:
            sending.cancel()
            await asyncio.wait([sending])

    def _push(self, piece: bytes) -> None:
        if self._final_event is None:
            self._pending.append(piece)
            self._size += len(piece)
            self._send_soon()

    def _send_soon(self) -> None:
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send_pending())

    async def _send_pending(self) -> None:
        try:
            while self._pending or (self.behind and self._final_event is None):
                if self._pending:
                    body = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
                    self._pending.clear()
                    self._size = 0
                    await self._put(body)
                else:
                    await self._catch_up()
            if self._final_event is not None:
                await self._put(named_frame(self._final_event, to_json({"last_seq": self.cursor}), self.cursor))
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:
            pass  # disconnected; the stream notices by itself
        except Problem as problem:
            log.info("stream aborted: %s Its client can resume.", problem.detail)
            self._abort_connection()
        except Exception:
            log.exception("stream failed; its client can resume")
            self._abort_connection()
        finally:
            self._sending = None

    async def _catch_up(self) -> None:
        """Send the events between the cursor and the newest, at the speed of the connection."""
        while self.cursor < self._source.newest_seq:
            if self._final_event is not None:
                return
            try:
                events = await self._source.page(self.cursor)
            except CursorExpired as expired:
                await self._skip_expired(expired.first)
                continue
            except CallboardError as error:
                log.warning("stream ended; its client can resume: %s", error)
                self._final_event = "goodbye"
                return
            with self._hold(sum(map(len, events.encoded))):
                for piece in chunks(events, self.family):
                    await self._write(piece)
            self.cursor += len(events)
        self.behind = False

    async def _skip_expired(self, first: int) -> None:
        """Continue after events that are no longer stored: with a snapshot, or the oldest event for a cursor of 0."""
        if first - 1 <= self.cursor:
            self._final_event = "goodbye"  # the session was deleted
        elif self.cursor == 0:
            self.cursor = first - 1
        else:
            self.cursor, piece = await self._source.snapshot("resync")
            await self._put(piece)

    async def _put(self, body: bytes) -> None:
        """Send bytes that only this reader holds. Raises `Problem` if there are too many of its user's."""
        if len(body) <= CHUNK:
            await self._write(body)
        else:
            with self._hold(len(body)):
                await self._write(body)

    async def _write(self, body: bytes) -> None:
        """Send bytes at the speed of the connection."""
        for start in range(0, len(body), CHUNK):
            await self._send({"type": "http.response.body", "body": body[start : start + CHUNK], "more_body": True})
            self._sent += 1

    def _abort_connection(self) -> None:
        self._pending.clear()
        self._final_event = self._final_event or "goodbye"  # in case the connection accepts anything again
        if self._abort is not None:
            self._abort()
