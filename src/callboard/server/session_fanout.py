"""The fan-out of a session's board: one subscription for all readers, so that each event is encoded once."""

from contextlib import ExitStack

from ..events.event import Events
from ..events.routing import Family
from ..sessions.live_session import LiveSession
from .reader import Reader
from .sse import chunks, live_frame


class SessionFanout:
    """Delivers a session's events to its readers, from the first reader until the last."""

    __slots__ = ("_readers", "_stack", "_subscription", "session")

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self._readers: dict[Reader, None] = {}
        self._stack = ExitStack()
        self._subscription = self._stack.enter_context(session.subscribe(self._deliver, ended=self._fail))
        self._stack.enter_context(session.board.listening(self._deliver_live))

    def __len__(self) -> int:
        return len(self._readers)

    @property
    def closed(self) -> bool:
        """Whether the subscription has ended, so that a new reader needs another fan-out."""
        return self._subscription.closed

    def join(self, reader: Reader) -> None:
        self._readers[reader] = None

    def leave(self, reader: Reader) -> None:
        self._readers.pop(reader, None)

    def end(self, final_event: str) -> None:
        """Deliver pending events, then a final event with the number to resume after."""
        self._subscription.deliver()
        for reader in self._readers:
            reader.end(final_event)

    def close(self) -> None:
        self._stack.close()

    def _deliver(self, events: Events) -> None:
        before, last = events.first - 1, events.last
        shared: dict[Family | None, list[bytes]] = {}
        for reader in self._readers:
            if reader.behind or reader.cursor >= last:
                continue
            if reader.cursor == before:
                pieces = shared.get(reader.family)
                if pieces is None:
                    pieces = shared[reader.family] = list(chunks(events, reader.family))
            else:  # the reader has read the first events from the log
                rest = Events(reader.cursor + 1, events.encoded[reader.cursor - before :])
                pieces = list(chunks(rest, reader.family))
            reader.deliver(pieces, last)

    def _deliver_live(self, line: bytes) -> None:
        self._subscription.deliver()  # keeps the order of stored and live events
        piece = live_frame(line)
        for reader in self._readers:
            if reader.family is not Family.SYSTEM:
                reader.deliver_live(piece)

    def _fail(self, error: Exception) -> None:
        """End all readers because the board cannot be read; their clients resume."""
        for reader in self._readers:
            reader.end("goodbye")
