"""All streams of a server: one feed for each session that is read, and one timer for the heartbeats of all."""

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from ..clock import Clock, Timer
from ..sessions.live_session import LiveSession
from .feed import Feed
from .problems import Problem
from .reader import Reader

SLOTS = 15
"""Into how many parts the readers are divided for their heartbeats, so that not all come at once."""


class Streams:
    """Who reads what. `most` is how many readers there may be, `buffer` how many bytes may wait for one of them."""

    def __init__(
        self,
        clock: Clock,
        *,
        heartbeat: float = 15.0,
        buffer: int = 1_048_576,
        most: int = 20_000,
        per_user: int = 15_000,
        per_session: int = 200,
    ) -> None:
        self.buffer = buffer
        self.heartbeat = heartbeat
        self._clock = clock
        self._most = most
        self._per_user = per_user
        self._per_session = per_session
        self._by_user: Counter[str] = Counter()
        self._feeds: dict[str, Feed] = {}
        self._slots: list[set[Reader]] = [set() for _ in range(SLOTS)]
        self._turn = 0
        self._timer: Timer | None = None
        self._count = 0
        self._over = False
        self.counted: Callable[[], AbstractContextManager[None]] = nullcontext
        """Entered for every reader, as long as it is there."""

    def __len__(self) -> int:
        """How many readers there are."""
        return self._count

    def admit(self, session: LiveSession) -> None:
        """Raises `Problem` (503) where there are too many readers already."""
        feed = self._feeds.get(session.id)
        full = self._count >= self._most or self._by_user[session.user_id] >= self._per_user
        if full or (feed is not None and len(feed) >= self._per_session):
            detail = "There are too many readers already. Close one, or try again later."
            raise Problem(503, "too_many_readers", "Not available", detail, {"retry-after": "5"})

    @contextmanager
    def reading(self, session: LiveSession, reader: Reader) -> Generator[None]:
        """Give a reader whatever comes, until the end of the `with`."""
        feed = self._feeds.get(session.id)
        if feed is None or feed.over or feed.session is not session:
            feed = self._feeds[session.id] = Feed(session)
        feed.join(reader)
        slot = self._slots[self._count % SLOTS]
        slot.add(reader)
        self._count += 1
        self._by_user[session.user_id] += 1
        if self._timer is None:
            self._timer = self._clock.call_later(self.heartbeat / SLOTS, self._beat)
        if self._over:
            reader.end("goodbye")
        try:
            with self.counted():
                yield
        finally:
            self._count -= 1
            self._by_user[session.user_id] -= 1
            if not self._by_user[session.user_id]:
                del self._by_user[session.user_id]
            slot.discard(reader)
            feed.leave(reader)
            if not len(feed):
                feed.close()
                if self._feeds.get(session.id) is feed:
                    del self._feeds[session.id]

    def end(self, session_id: str) -> None:
        """A session is gone: so are its streams."""
        if (feed := self._feeds.get(session_id)) is not None:
            feed.end("deleted")

    def drain(self) -> None:
        """End all streams after what is there. Their clients come back with the number that they were given."""
        self._over = True
        for feed in tuple(self._feeds.values()):
            feed.end("goodbye")

    def _beat(self) -> None:
        self._turn = (self._turn + 1) % SLOTS
        for reader in tuple(self._slots[self._turn]):
            reader.beat()
        self._timer = self._clock.call_later(self.heartbeat / SLOTS, self._beat) if self._count else None
