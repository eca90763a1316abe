"""The board of one session: an append-only log of events. Each reader has a cursor of its own.

There is no queue per reader: a reader reads the events after its cursor and is notified of new ones, so a slow reader
costs nothing. With a store, which keeps the whole log, the board holds the newest part, and a reader that is further
behind reads from the store.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, Self

from ..budget import LARGE, Budget, MemoryAccount
from ..errors import CallboardError
from .event import Event, Events

log = logging.getLogger("callboard.events")


class CursorExpired(CallboardError):
    """The events after a cursor are no longer kept. The reader must start again from `first`."""

    code = "cursor_expired"

    def __init__(self, after: int, first: int) -> None:
        super().__init__(f"The events after {after} are not kept any more. Start again; the first kept one is {first}.")
        self.first = first


class Archive(Protocol):
    """The storage of a session's whole log."""

    async def events(self, after: int, limit: int) -> tuple[int, Events]:
        """Return the number of the first stored event, and the events after a number."""
        ...

    def behind(self) -> None:
        """Have the board receive the events that are stored and that it does not have yet."""
        ...


PAGE = 500
"""The number of events that are read from the archive at once."""


_SLACK = 512
"""The number of events above the retention at which the oldest are dropped together."""


class Board:
    """The log in memory. It keeps at least the newest `retention` events, of those with numbers above `after`.

    With a budget, large events are bounded by their bytes too, and fewer may be kept.
    """

    __slots__ = (
        "_account",
        "_archive",
        "_ended",
        "_first",
        "_flushing",
        "_followers",
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
        self._account: MemoryAccount | None = None if budget is None else MemoryAccount(budget, user_id, self._evict)

    @property
    def last_seq(self) -> int:
        """The number of the newest event; 0 if there is none."""
        return self._first + len(self._lines) - 1

    @property
    def first_seq(self) -> int:
        """The number of the oldest event that is kept."""
        return self._first

    def append(self, *events: bytes) -> int:
        """Append encoded events of any size. Returns the number of the last one."""
        self._extend(events)
        return self.last_seq

    def extend(self, events: Sequence[bytes], subject: object = None) -> None:
        """Append encoded events of an execution, and notify readers.

        Only the first (arguments) and the last (a result) can be large. A board in memory ignores the subject.
        """
        if events and (len(events[-1]) > LARGE or len(events[0]) > LARGE) and self._account is not None:
            self._account.add(_large(events))
        lines = self._lines
        lines.extend(events)
        if len(lines) > self._limit:
            self._flush()  # subscribers get the events before they are dropped
            self._forget()
        if self._waiting:
            self._notify()
        if self._readers and not self._flushing:
            self._flush_soon()

    def _extend(self, events: Sequence[bytes]) -> None:
        """Append events of which any may be large: one by one, so that the first can be dropped before the last."""
        if _large(events):
            for event in events:
                self.extend((event,))
        else:
            self.extend(events)

    def say(self, event: bytes) -> None:
        """Deliver an event to current listeners only. It has no number and is not kept."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                self._listeners.remove(listener)
                log.exception("a listener of a board failed; it is not called again")

    @contextmanager
    def listening(self, listener: Callable[[bytes], Any]) -> Generator[None]:
        """Deliver events that are not kept, such as the text of a turn piece by piece, to a listener."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def receive(self, last: int, events: Sequence[bytes]) -> None:
        """Append stored events, the last of which has this number, without those that the board has already.

        If events are missing before them, all of these are read from the archive.
        """
        new = last - self.last_seq
        if 0 < new <= len(events):
            self._extend(events[len(events) - new :])
        elif new > 0 and self._archive is not None:
            self._archive.behind()

    def restart(self, after: int) -> None:
        """Drop all events, and continue after a number."""
        if self._account is not None:
            self._account.remove(self._account.kept)
        self._lines = []
        self._first = after + 1

    def end(self) -> None:
        """End the board of a deleted session: waiting readers return."""
        self._ended = True
        if self._account is not None:
            self._account.close()
        self._notify()

    def shrink(self) -> None:
        """Drop the events that can be read from the archive, unless there is a reader."""
        if self._archive is not None and not self.watched:
            self.restart(self.last_seq)

    @property
    def watched(self) -> bool:
        """Whether there is a reader."""
        return bool(self._readers or self._followers or self._waiting)

    @contextmanager
    def attended(self) -> Generator[None]:
        """Count a reader, also while it processes a batch."""
        self._followers += 1
        try:
            yield
        finally:
            self._followers -= 1

    def refresh(self) -> None:
        """Read the events that other processes stored, if there are any."""
        if self._archive is not None:
            self._archive.behind()

    def read(self, after: int, limit: int | None = None) -> Events:
        """Return the kept events after a cursor, oldest first. Raises `CursorExpired`."""
        start = after + 1 - self._first
        if start < 0:
            raise CursorExpired(after, self._first)
        return Events(after + 1, self._lines[start:] if limit is None else self._lines[start : start + limit])

    async def wait(self, after: int) -> None:
        """Return when there is an event after the cursor, or the board has ended."""
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
        """Yield every event after the cursor, present and future, until the board ends.

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
        """Return whether all events after the cursor are in memory, or there is no archive."""
        return after + 1 >= self._first or self._archive is None

    async def recall(self, after: int) -> Events:
        """Return the next events after a cursor from the archive. Raises `CursorExpired`."""
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
        """Deliver events in batches, at most one per turn of the event loop, until the subscription is closed.

        Raises `CursorExpired`. No event is missed: events are delivered before they are dropped. If they must be read
        from the archive and it fails or no longer has them, the delivery ends, and `ended` is called with the reason.
        """
        if after is not None and after + 1 < self._first and self._archive is None:
            raise CursorExpired(after, self._first)
        return Subscription(self, callback, self.last_seq if after is None else after, ended)

    def attach(self, reader: "Subscription") -> None:
        """Start to deliver to a subscription."""
        self._readers.append(reader)
        if self.last_seq > reader.cursor and not self._flushing:
            self._flush_soon()

    def detach(self, reader: "Subscription") -> None:
        """Stop delivering to a subscription."""
        if reader in self._readers:
            self._readers.remove(reader)

    def _forget(self, gone: int | None = None) -> None:
        """Drop the oldest events: that many, or all beyond the retention."""
        gone = len(self._lines) - self._retention if gone is None else gone
        if self._account is not None and self._account.kept:
            self._account.remove(_large(self._lines[:gone]))
        del self._lines[:gone]
        self._first += gone

    def _evict(self, size: int) -> None:
        """Drop the oldest events until that many bytes are free, after delivering them."""
        self._flush()
        freed = gone = 0
        while gone < len(self._lines) and freed < size:
            line = self._lines[gone]
            freed += len(line) if len(line) > LARGE else 0
            gone += 1
        self._forget(gone)

    def _notify(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    def _flush_soon(self) -> None:
        self._flushing = True
        asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        """Deliver new events to every subscription."""
        self._flushing = False
        for reader in tuple(self._readers):
            reader.deliver()


def _large(events: Sequence[bytes]) -> int:
    """Return the bytes of the large events."""
    return sum(len(event) for event in events if len(event) > LARGE)


class Subscription:
    """A reader that gets events by callback until `close`, or the end of its `with`."""

    __slots__ = ("_board", "_callback", "_closed", "_ended", "_recalling", "cursor")

    def __init__(
        self, board: Board, callback: Callable[[Events], Any], after: int, ended: Callable[[Exception], Any] | None
    ) -> None:
        self._board = board
        self._callback = callback
        self._ended = ended
        self._closed = False
        self._recalling: asyncio.Task[None] | None = None
        """Reads from the archive while the cursor is behind the events in memory."""
        self.cursor = after
        """The number of the last delivered event."""
        board.attach(self)

    @property
    def closed(self) -> bool:
        """Whether the delivery has ended."""
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
        """Deliver new events. A callback that raises is not called again."""
        if self._closed or self._recalling is not None or self._board.last_seq <= self.cursor:
            return
        if self._board.remembers(self.cursor):
            self._hand_over(self._board.read(self.cursor))
        else:
            self._recalling = asyncio.get_running_loop().create_task(self._recall())

    async def _recall(self) -> None:
        """Deliver events from the archive until the rest is in memory."""
        try:
            while not self._closed and not self._board.remembers(self.cursor):
                self._hand_over(await self._board.recall(self.cursor))
        except Exception as error:
            self._recalling = None
            self.close()
            if self._ended is None:
                log.warning("a subscription of a board ended: %s", error)
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
            log.exception("a subscriber of a board failed; it is not called again")
