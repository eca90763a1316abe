"""A feed: one subscription of a session's board for all readers of that session. Events are encoded once for all."""

from contextlib import ExitStack

from ..events.event import Events
from ..events.routing import Family
from ..sessions.live_session import LiveSession
from .frames import chunks, live_frame
from .reader import Reader


class Feed:
    """Begun for the first reader, closed after the last."""

    __slots__ = ("_readers", "_stack", "_subscription", "session")

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self._readers: dict[Reader, None] = {}
        self._stack = ExitStack()
        self._subscription = self._stack.enter_context(session.subscribe(self._deliver, ended=self._lost))
        self._stack.enter_context(session.board.listening(self._say))

    def __len__(self) -> int:
        return len(self._readers)

    @property
    def over(self) -> bool:
        """Whether nothing comes any more: whoever is still there has only to take his last word."""
        return self._subscription.closed

    def join(self, reader: Reader) -> None:
        self._readers[reader] = None

    def leave(self, reader: Reader) -> None:
        self._readers.pop(reader, None)

    def end(self, last_word: str) -> None:
        """Give everybody what is there, and a last word with the number after which to come back."""
        self._subscription.deliver()
        for reader in self._readers:
            reader.end(last_word)

    def close(self) -> None:
        self._stack.close()

    def _deliver(self, events: Events) -> None:
        before, last = events.first - 1, events.first + len(events) - 1
        shared: dict[Family | None, list[bytes]] = {}
        for reader in self._readers:
            if reader.behind or reader.cursor >= last:
                continue
            if reader.cursor == before:
                pieces = shared.get(reader.family)
                if pieces is None:
                    pieces = shared[reader.family] = list(chunks(events, reader.family))
            else:  # it has read the first ones by itself
                rest = Events(reader.cursor + 1, events.encoded[reader.cursor - before :])
                pieces = list(chunks(rest, reader.family))
            reader.take(pieces, last)

    def _say(self, line: bytes) -> None:
        self._subscription.deliver()  # what was posted before comes before
        piece = live_frame(line)
        for reader in self._readers:
            if reader.family is not Family.SYSTEM:
                reader.hear(piece)

    def _lost(self, error: Exception) -> None:
        """The board cannot be read on: everybody comes back, and is told where to begin again."""
        for reader in self._readers:
            reader.end("goodbye")
