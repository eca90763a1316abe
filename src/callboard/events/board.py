"""The board of one session: an append-only log that everyone posts to and reads from a cursor of their own.

There is no queue per reader. A reader is a cursor; it reads what lies after it, and is woken when there is more. A slow
reader therefore costs nothing and slows nobody: it simply reads later. Where a store keeps the whole log, the board is
its newest part, and a reader who is behind that reads from the store.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, Self

from ..budget import LARGE, Budget, Holding
from ..errors import CallboardError
from .event import Event, Events

log = logging.getLogger("callboard.events")


class CursorExpired(CallboardError):
    """The events after a reader's cursor are not kept any more; it has to start again from `first`."""

    code = "cursor_expired"

    def __init__(self, after: int, first: int) -> None:
        super().__init__(f"The events after {after} are not kept any more. Start again; the first kept one is {first}.")
        self.first = first


class Archive(Protocol):
    """Where the whole log of a session is kept."""

    async def events(self, after: int, limit: int) -> tuple[int, Events]:
        """The number of the first event that is kept at all, and the events after a number."""
        ...

    def behind(self) -> None:
        """Events were written of which the board does not know yet: let it be given them."""
        ...


PAGE = 500
"""How many events are read from the archive at once."""


_SLACK = 512
"""How many more may gather before the oldest are let go, together."""


class Board:
    """The log in memory. The newest `retention` events are kept, at least; `after` is the last one before it began.

    With a budget, large events are bounded by their bytes too, and fewer may be kept.
    """

    __slots__ = (
        "_archive",
        "_ended",
        "_first",
        "_flushing",
        "_followers",
        "_holding",
        "_limit",
        "_lines",
        "_listeners",
        "_readers",
        "_retention",
        "_waiting",
    )

    def __init__(
        self,
        retention: int = 10_000,
        *,
        after: int = 0,
        archive: Archive | None = None,
        budget: Budget | None = None,
        user_id: str = "",
    ) -> None:
        self._lines: list[bytes] = []
        self._first = after + 1
        self._archive = archive
        self._ended = False
        self._retention = retention
        self._limit = retention + min(retention, _SLACK)
        self._waiting: list[asyncio.Future[None]] = []
        self._readers: list[Subscription] = []
        self._listeners: list[Callable[[bytes], Any]] = []
        self._followers = 0
        self._flushing = False
        self._holding: Holding | None = None if budget is None else budget.holding(user_id, self._shed)

    @property
    def last_seq(self) -> int:
        """The number of the newest event, 0 where there is none."""
        return self._first + len(self._lines) - 1

    @property
    def first_seq(self) -> int:
        """The number of the oldest event that is kept."""
        return self._first

    def append(self, *events: bytes) -> int:
        """Keep encoded events of any size. Returns the number of the last one."""
        self._extend(events)
        return self.last_seq

    def extend(self, events: Sequence[bytes], subject: object = None) -> None:
        """Keep encoded events of an execution, which gives them their numbers, and wake who waits for them.

        Of these only the first (arguments) and the last (a result) can be large. What they are about is of no interest
        to a board in memory.
        """
        if events and (len(events[-1]) > LARGE or len(events[0]) > LARGE) and self._holding is not None:
            self._holding.add(_large(events))
        lines = self._lines
        lines.extend(events)
        if len(lines) > self._limit:
            self._flush()  # readers that are called miss nothing, however much comes at once
            self._forget()
        if self._waiting:
            self._wake()
        if self._readers and not self._flushing:
            self._flush_soon()

    def _extend(self, events: Sequence[bytes]) -> None:
        """Keep events of which any may be large, one by one then: the first may have to go before the last comes."""
        if _large(events):
            for event in events:
                self.extend((event,))
        else:
            self.extend(events)

    def say(self, event: bytes) -> None:
        """Show an event to those who listen now. It has no number, and is not kept."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                self._listeners.remove(listener)
                log.exception("a listener of a board failed, and is not called again")

    @contextmanager
    def listening(self, listener: Callable[[bytes], Any]) -> Generator[None]:
        """Have what is not kept shown to a listener: the text of a turn, piece by piece."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def receive(self, last: int, events: Sequence[bytes]) -> None:
        """Keep events that the store gave their numbers, the last of them this one. Those known already are left out.

        Where others lie between what is known and these, all of them are asked for.
        """
        new = last - self.last_seq
        if 0 < new <= len(events):
            self._extend(events[len(events) - new :])
        elif new > 0 and self._archive is not None:
            self._archive.behind()

    def restart(self, after: int) -> None:
        """Go on after a later event: what lies between is not kept anywhere."""
        if self._holding is not None:
            self._holding.free(self._holding.kept)
        self._lines = []
        self._first = after + 1

    def end(self) -> None:
        """Nothing comes any more, since the session is deleted: nobody goes on waiting for it."""
        self._ended = True
        if self._holding is not None:
            self._holding.close()
        self._wake()

    def shrink(self) -> None:
        """Keep nothing in memory that can be read from the archive."""
        if self._archive is not None and not self.watched:
            self.restart(self.last_seq)

    @property
    def watched(self) -> bool:
        """Whether anybody reads, or waits for what comes."""
        return bool(self._readers or self._followers or self._waiting)

    @contextmanager
    def attended(self) -> Generator[None]:
        """Somebody reads, also while he is busy with what he has read: he must be told of what comes meanwhile."""
        self._followers += 1
        try:
            yield
        finally:
            self._followers -= 1

    def refresh(self) -> None:
        """Have it given what others wrote, if there is anything."""
        if self._archive is not None:
            self._archive.behind()

    def read(self, after: int, limit: int | None = None) -> Events:
        """The kept events after a cursor, oldest first. Raises `CursorExpired`."""
        start = after + 1 - self._first
        if start < 0:
            raise CursorExpired(after, self._first)
        return Events(after + 1, self._lines[start:] if limit is None else self._lines[start : start + limit])

    async def wait(self, after: int) -> None:
        """Return as soon as there is an event after the cursor, or none will come."""
        while self.last_seq <= after and not self._ended:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                await future
            except BaseException:
                if future in self._waiting:
                    self._waiting.remove(future)
                raise

    async def follow(self, after: int = 0) -> AsyncGenerator[Event]:
        """Every event after the cursor, those that are there and those that come, until it is left or the board ends.

        Raises `CursorExpired`.
        """
        with self.attended():
            while True:
                await self.wait(after)
                if self.last_seq <= after:
                    return
                for event in await self.page(after):
                    after = event.seq
                    yield event

    async def page(self, after: int, limit: int | None = None) -> Events:
        """Return the next events after a cursor, from memory or the archive. Raises `CursorExpired`."""
        return self.read(after, limit) if self.remembers(after) else await self.recall(after)

    def remembers(self, after: int) -> bool:
        """Whether everything after the cursor has to be in memory: it is, or nobody else keeps it."""
        return after + 1 >= self._first or self._archive is None

    async def recall(self, after: int) -> Events:
        """The next events after a cursor from the archive. Raises `CursorExpired`."""
        assert self._archive is not None
        first, events = await self._archive.events(after, PAGE)
        if first > after + 1 or not events:  # without any, the log itself is gone
            raise CursorExpired(after, first)
        return events

    def subscribe(
        self,
        callback: Callable[[Events], Any],
        after: int | None = None,
        ended: Callable[[Exception], Any] | None = None,
    ) -> "Subscription":
        """Have events delivered in batches, at most one batch per turn of the event loop, until it is closed.

        Raises `CursorExpired`. None is missed: before anything is forgotten, it is delivered. Where they have to be
        read from the archive and are not there any more, or the archive fails, the delivery ends, and `ended` is called
        with the reason.
        """
        if after is not None and after + 1 < self._first and self._archive is None:
            raise CursorExpired(after, self._first)
        return Subscription(self, callback, self.last_seq if after is None else after, ended)

    def attach(self, reader: "Subscription") -> None:
        """Begin to call a reader."""
        self._readers.append(reader)
        if self.last_seq > reader.cursor and not self._flushing:
            self._flush_soon()

    def detach(self, reader: "Subscription") -> None:
        """Stop calling a reader."""
        if reader in self._readers:
            self._readers.remove(reader)

    def _forget(self, gone: int | None = None) -> None:
        """Let the oldest go: so many, or all beyond the retention."""
        gone = len(self._lines) - self._retention if gone is None else gone
        if self._holding is not None and self._holding.kept:
            self._holding.free(_large(self._lines[:gone]))
        del self._lines[:gone]
        self._first += gone

    def _shed(self, size: int) -> None:
        """Let the oldest events go until so many bytes are free, after readers that are called were given them."""
        self._flush()
        freed = gone = 0
        while gone < len(self._lines) and freed < size:
            line = self._lines[gone]
            freed += len(line) if len(line) > LARGE else 0
            gone += 1
        self._forget(gone)

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    def _flush_soon(self) -> None:
        self._flushing = True
        asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        """Give every called reader what it has not had: once per turn of the loop, unless very much is posted."""
        self._flushing = False
        for reader in tuple(self._readers):
            reader.deliver()


def _large(events: Sequence[bytes]) -> int:
    """The bytes of the large ones."""
    return sum(len(event) for event in events if len(event) > LARGE)


class Subscription:
    """A reader that is called, between its start and `close` (or the end of its `with`)."""

    __slots__ = ("_board", "_callback", "_closed", "_ended", "_recalling", "cursor")

    def __init__(
        self, board: Board, callback: Callable[[Events], Any], after: int, ended: Callable[[Exception], Any] | None
    ) -> None:
        self._board = board
        self._callback = callback
        self._ended = ended
        self._closed = False
        self._recalling: asyncio.Task[None] | None = None
        """Reads from the archive, while it is behind what is in memory."""
        self.cursor = after
        """The last event that it was given."""
        board.attach(self)

    @property
    def closed(self) -> bool:
        """Whether nothing is delivered any more."""
        return self._closed

    def close(self) -> None:
        """Stop the delivery."""
        self._closed = True
        self._board.detach(self)
        if self._recalling is not None:
            self._recalling.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def deliver(self) -> None:
        """Hand over what is new. A reader that fails harms nobody else, and is not called again."""
        if self._closed or self._recalling is not None or self._board.last_seq <= self.cursor:
            return
        if self._board.remembers(self.cursor):
            self._hand_over(self._board.read(self.cursor))
        else:
            self._recalling = asyncio.get_running_loop().create_task(self._recall())

    async def _recall(self) -> None:
        """Hand over what is not in memory, until the rest is."""
        try:
            while not self._closed and not self._board.remembers(self.cursor):
                self._hand_over(await self._board.recall(self.cursor))
        except Exception as error:
            self._recalling = None
            self.close()
            if self._ended is None:
                log.warning("a reader of a board is not called any more: %s", error)
            else:
                self._ended(error)
        else:
            self._recalling = None
            self.deliver()

    def _hand_over(self, events: Events) -> None:
        self.cursor = events.first + len(events) - 1
        try:
            self._callback(events)
        except Exception:
            self.close()
            log.exception("a reader of a board failed, and is not called again")
