"""A reader: the sending half of one connection, without a task or a queue while nothing is to be sent.

What is pushed goes out as soon as the connection takes it, all that waits as one piece. Only so much may wait: a reader
that is slower falls behind, and reads on from the log at its own pace, as one does that begins with an old cursor. So
nobody waits for a slow reader, and it misses nothing. One that takes nothing at all is given up.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pydantic_core import to_json
from starlette.types import Send

from ..errors import CallboardError
from ..events.board import CursorExpired
from ..events.event import Events
from ..events.routing import Family
from .frames import HEARTBEAT, chunks, named_frame, place_frame

log = logging.getLogger("callboard.server")


class Source(Protocol):
    """Where a reader that is behind reads."""

    @property
    def newest(self) -> int: ...

    async def page(self, after: int) -> Events:
        """The next events after a number. Raises `CursorExpired`."""
        ...

    async def snapshot(self, name: str) -> tuple[int, bytes]:
        """How things stand, as a frame of that name, and after which number to go on."""
        ...


class Reader:
    """Made by a stream, which owns it and closes it."""

    __slots__ = (
        "_abort",
        "_last_word",
        "_limit",
        "_pending",
        "_seen",
        "_send",
        "_size",
        "_source",
        "_writing",
        "_written",
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
        abort: Callable[[], Any] | None = None,
    ) -> None:
        self._source = source
        self._send = send
        self._limit = limit
        self._abort = abort
        """Breaks the connection off, where the server lets us."""
        self._pending: list[bytes] = []
        self._size = 0
        self._writing: asyncio.Task[None] | None = None
        self._written = 0
        self._seen = -1
        self._last_word: str | None = None
        """What it is told at its end, which has come."""
        self.cursor = cursor
        """The last event that it was given, or that was not for it."""
        self.family = family
        self.behind = True
        """Whether it reads from the log; else whoever has its newest events gives it those."""

    def begin(self, piece: bytes) -> None:
        """Send something first, and then everything after the cursor."""
        self._push(piece)

    def take(self, pieces: Sequence[bytes], last: int) -> None:
        """Send the newest events, up to a number."""
        size = sum(map(len, pieces))
        if self._size + size > self._limit:
            self.behind = True
            self._write_soon()
            return
        self.cursor = last
        for piece in pieces:
            self._push(piece)

    def hear(self, piece: bytes) -> None:
        """Send what is not kept, to a reader that keeps up. Any other will read it when it is finished."""
        if not self.behind and self._size + len(piece) <= self._limit:
            self._push(piece)

    def end(self, last_word: str) -> None:
        """Send what waits, a last word with the number to come back with, and nothing after it."""
        self._last_word = self._last_word or last_word
        self._write_soon()

    def beat(self) -> None:
        """Show that the connection lives. One that has taken nothing since the last time is given up."""
        if self._writing is None:
            self._push(HEARTBEAT if self.family is None else place_frame(self.cursor))
        elif self._seen != self._written:
            self._seen = self._written
        else:
            log.info("a reader does not read: it is dropped, and can resume")
            self._give_up()

    def close(self) -> None:
        """Send nothing more."""
        self._pending.clear()
        if self._writing is not None:
            self._writing.cancel()

    def _push(self, piece: bytes) -> None:
        if self._last_word is None:
            self._pending.append(piece)
            self._size += len(piece)
            self._write_soon()

    def _write_soon(self) -> None:
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._pending or (self.behind and self._last_word is None):
                if self._pending:
                    body = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
                    self._pending.clear()
                    self._size = 0
                    await self._put(body)
                else:
                    await self._catch_up()
            if self._last_word is not None:
                await self._put(named_frame(self._last_word, to_json({"last_seq": self.cursor}), self.cursor))
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:
            pass  # the connection is gone, which the stream learns by itself
        except Exception:
            log.exception("a stream failed; its client can resume")
            self._give_up()
        finally:
            self._writing = None

    async def _catch_up(self) -> None:
        """Send what lies between the cursor and the newest event, as fast as the connection takes it."""
        while self.cursor < self._source.newest:
            if self._last_word is not None:
                return
            try:
                events = await self._source.page(self.cursor)
            except CursorExpired as expired:
                await self._begin_again(expired.first)
                continue
            except CallboardError as error:
                log.warning("a stream ends, and its client will come again: %s", error)
                self._last_word = "goodbye"
                return
            for piece in chunks(events, self.family):
                await self._put(piece)
            self.cursor += len(events)
        self.behind = False

    async def _begin_again(self, first: int) -> None:
        """The events after the cursor are not kept any more. Whoever asks for everything gets what is kept."""
        if first - 1 <= self.cursor:
            self._last_word = "goodbye"  # the log itself is gone
        elif self.cursor == 0:
            self.cursor = first - 1
        else:
            self.cursor, piece = await self._source.snapshot("resync")
            await self._put(piece)

    async def _put(self, body: bytes) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        self._written += 1

    def _give_up(self) -> None:
        self._pending.clear()
        self._last_word = self._last_word or "goodbye"  # if it ever takes anything again
        if self._abort is not None:
            self._abort()
