"""The open streams of a server: a fan-out for each session with readers, and one timer for all heartbeats."""

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from ..clock import Clock, Timer
from ..protocols.problem import Problem
from ..sessions.live_session import LiveSession
from .reader import Reader
from .session_fanout import SessionFanout

SLOTS = 15
"""Groups of readers, whose heartbeats are spread over the interval."""


class Streams:
    """The readers of all sessions. `most` limits their number, `buffer` the pending bytes of each."""

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
        self._fanouts: dict[str, SessionFanout] = {}
        self._slots: list[set[Reader]] = [set() for _ in range(SLOTS)]
        self._slot = 0
        self._timer: Timer | None = None
        self._count = 0
        self._draining = False
        self.counted: Callable[[], AbstractContextManager[None]] = nullcontext
        """A context manager that is entered for each reader, to count it."""

    def __len__(self) -> int:
        return self._count

    def admit(self, session: LiveSession) -> None:
        """Raise `Problem` (503) if there are too many readers."""
        fanout = self._fanouts.get(session.id)
        full = self._count >= self._most or self._by_user[session.user_id] >= self._per_user
        if full or (fanout is not None and len(fanout) >= self._per_session):
            detail = "There are too many open streams. Close one, or try again later."
            raise Problem(503, "too_many_readers", "Not available", detail, {"retry-after": "5"})

    @contextmanager
    def reading(self, session: LiveSession, reader: Reader) -> Generator[None]:
        """Deliver events and heartbeats to a reader until the end of the `with`."""
        fanout = self._fanouts.get(session.id)
        if fanout is None or fanout.closed or fanout.session is not session:
            fanout = self._fanouts[session.id] = SessionFanout(session)
        fanout.join(reader)
        slot = self._slots[self._count % SLOTS]
        slot.add(reader)
        self._count += 1
        self._by_user[session.user_id] += 1
        if self._timer is None:
            self._timer = self._clock.call_later(self.heartbeat / SLOTS, self._send_heartbeats)
        if self._draining:
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
            fanout.leave(reader)
            if not len(fanout):
                fanout.close()
                if self._fanouts.get(session.id) is fanout:
                    del self._fanouts[session.id]

    def end(self, session_id: str) -> None:
        """End the streams of a deleted session."""
        if (fanout := self._fanouts.get(session_id)) is not None:
            fanout.end("deleted")

    def drain(self) -> None:
        """End all streams after their pending events; each client gets the number to resume after."""
        self._draining = True
        for fanout in tuple(self._fanouts.values()):
            fanout.end("goodbye")

    def _send_heartbeats(self) -> None:
        self._slot = (self._slot + 1) % SLOTS
        for reader in tuple(self._slots[self._slot]):
            reader.heartbeat()
        self._timer = self._clock.call_later(self.heartbeat / SLOTS, self._send_heartbeats) if self._count else None
