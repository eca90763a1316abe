"""The board of one session: an append-only log of events. Each reader has a cursor of its own.

There is no queue per reader: a reader reads the events after its cursor and is notified of new ones, so a slow reader
costs nothing. With a store, which keeps the whole log, the board holds the newest part, and a reader that is further
behind reads from the store.
"""

import asyncio
import inspect
import logging
from bisect import bisect_left
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, Self

from ..budget import LARGE, Budget, MemoryAccount
from ..errors import CallboardError
from .event import Event, Events, encoded_time, iso_time

log = logging.getLogger("callboard.events")


class CursorExpired(CallboardError):
    """The events after a cursor are no longer kept. The reader must start again from `first`."""

    code = "cursor_expired"

    def __init__(self, after: int, first: int) -> None:
        super().__init__(f"The events after {after} are no longer kept. Start again; the first kept one is {first}.")
        self.first = first


class Archive(Protocol):
    """The storage of a session's whole log."""

    async def events(self, after: int, limit: int) -> tuple[int, Events]:
        """Return the number of the first stored event, and the events after a number."""
        ...

    def catch_up_soon(self) -> None:
        """Start to add the stored events that the board does not have yet."""
        ...


PAGE = 500
"""The number of events that are read at once."""

_SLACK = 512
"""The number of events above the retention at which the oldest are dropped together."""


class Board:
    """The log in memory. It keeps at least the newest `retention` events, of those with numbers above `after`.

    The budget also bounds large events by their bytes, so that fewer may be kept.
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
        self._account = MemoryAccount(budget or Budget(), user_id, self._evict)

    @property
    def last_seq(self) -> int:
        """The number of the newest event; 0 if there is none."""
        return self._first + len(self._lines) - 1

    @property
    def first_seq(self) -> int:
        """The number of the oldest event that is kept."""
        return self._first

    def append(self, *events: bytes) -> int:
        """Append encoded events of any size. Returns the number of the last event."""
        if _large(events):  # one by one, so that the first can be dropped before the last
            for event in events:
                self.extend((event,))
        else:
            self.extend(events)
        return self.last_seq

    def extend(self, events: Sequence[bytes], subject: object = None) -> None:
        """Append encoded events of an execution, and notify readers.

        Only the first (arguments) and the last (a result) can be large. A board in memory ignores the subject.
        """
        if events and (len(events[-1]) > LARGE or len(events[0]) > LARGE):
            self._account.add(_large(events))
        lines = self._lines
        lines.extend(events)
        if len(lines) > self._limit:
            self._flush()  # subscribers get the events before they are dropped
            self._drop_oldest()
        if self._waiting:
            self._notify()
        if self._readers and not self._flushing:
            self._flush_soon()

    def deliver_live(self, event: bytes) -> None:
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

        If events are missing before them, all of these are read from the archive for the readers; without a reader,
        the board continues with these.
        """
        new = last - self.last_seq
        if new > len(events) and self._archive is not None:
            if self.has_readers:
                self._archive.catch_up_soon()
                return
            self.restart(last - len(events))
            new = len(events)
        if 0 < new <= len(events):
            self.append(*events[len(events) - new :])

    def restart(self, after: int) -> None:
        """Drop all events, and continue after a number."""
        self._account.remove(self._account.kept)
        self._lines = []
        self._first = after + 1

    def end(self) -> None:
        """End the board of a deleted session: waiting readers return."""
        self._ended = True
        self._account.close()
        self._notify()

    def drop_archived(self) -> None:
        """Drop the events that can be read from the archive, unless there is a reader."""
        if self._archive is not None and not self.has_readers:
            self.restart(self.last_seq)

    @property
    def has_readers(self) -> bool:
        """Whether there is a reader."""
        return bool(self._readers or self._followers or self._waiting)

    @contextmanager
    def reading(self) -> Generator[None]:
        """Count a reader, also while it processes a batch."""
        self._followers += 1
        try:
            yield
        finally:
            self._followers -= 1

    def refresh(self) -> None:
        """Read the events that other processes stored, if there are any."""
        if self._archive is not None:
            self._archive.catch_up_soon()

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
        with self.reading():
            while True:
                await self.wait(after)
                if self.last_seq <= after:
                    return
                for event in await self.page(after):
                    after = event.seq
                    yield event

    async def page(self, after: int) -> Events:
        """Return the next events after a cursor, from memory or the archive. Raises `CursorExpired`."""
        if after + 1 >= self._first or self._archive is None:
            return self.read(after, PAGE)
        first, events = await self._archive.events(after, PAGE)
        if first > after + 1 or not events:  # without any, the log itself is gone
            raise CursorExpired(after, first)
        return events

    async def kept_page(self, after: int) -> Events:
        """Return the next events after a cursor that are still kept. None are if the session is deleted."""
        while True:
            try:
                return await self.page(after)
            except CursorExpired as expired:
                if expired.first <= after + 1:
                    return Events(after + 1, [])
                after = expired.first - 1

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
        if inspect.iscoroutinefunction(callback):
            raise TypeError("callback is a coroutine function, which is not awaited. Read session.events() instead.")
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

    def _drop_oldest(self, count: int | None = None) -> None:
        """Drop the oldest events: that many, or all beyond the retention."""
        count = len(self._lines) - self._retention if count is None else count
        if self._account.kept:
            self._account.remove(_large(self._lines[:count]))
        del self._lines[:count]
        self._first += count

    def drop_before(self, timestamp: float) -> None:
        """Drop the events before a time, after delivering them."""
        self._flush()
        self._drop_oldest(bisect_left(self._lines, iso_time(timestamp), key=encoded_time))

    def _evict(self, size: int) -> None:
        """Drop the oldest events until that many bytes are free, after delivering them."""
        self._flush()
        freed = count = 0
        while count < len(self._lines) and freed < size:
            line = self._lines[count]
            freed += len(line) if len(line) > LARGE else 0
            count += 1
        self._drop_oldest(count)

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


def _ignore(events: Events) -> None:
    """Take the place of the callback of a closed subscription."""


def _large(events: Sequence[bytes]) -> int:
    """Return the bytes of the large events."""
    return sum(len(event) for event in events if len(event) > LARGE)


class Subscription:
    """A reader that gets events by callback until `close`, or the end of its `with`."""

    __slots__ = ("_archive_reader", "_board", "_callback", "_closed", "_ended", "cursor")

    def __init__(
        self, board: Board, callback: Callable[[Events], Any], after: int, ended: Callable[[Exception], Any] | None
    ) -> None:
        self._board = board
        self._callback = callback
        self._ended = ended
        self._closed = False
        self._archive_reader: asyncio.Task[None] | None = None
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
        self._callback, self._ended = _ignore, None  # their owner often has this subscription: that is a cycle
        self._board.detach(self)
        if self._archive_reader is not None:
            self._archive_reader.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def deliver(self) -> None:
        """Deliver new events. A callback that raises is not called again."""
        if self._closed or self._archive_reader is not None or self._board.last_seq <= self.cursor:
            return
        if self._board.first_seq <= self.cursor + 1:
            self._call_back(self._board.read(self.cursor))
        else:
            self._archive_reader = asyncio.get_running_loop().create_task(self._read_archive())

    async def _read_archive(self) -> None:
        """Deliver events from the archive until the rest is in memory."""
        try:
            while not self._closed and self._board.first_seq > self.cursor + 1:
                self._call_back(await self._board.page(self.cursor))
        except Exception as error:
            self._archive_reader = None
            ended = self._ended
            self.close()
            if ended is None:
                log.warning("a subscription of a board ended: %s", error)
            else:
                ended(error)
        else:
            self._archive_reader = None
            self.deliver()

    def _call_back(self, events: Events) -> None:
        self.cursor = events.last
        try:
            self._callback(events)
        except Exception:
            self.close()
            log.exception("a subscriber of a board failed; it is not called again")
