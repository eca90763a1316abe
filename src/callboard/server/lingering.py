"""Lingering close: the rest of a request's body is discarded after a response that was sent before its end.

A server that closes a socket with unread data makes the kernel reset the connection. A client that still sends then
fails before it reads the response. So a connection first ends only its own half, discards what the client sends, and
closes when the client does. The bytes and seconds of one connection are bounded, and so is how many linger at once.
"""

import asyncio
from collections.abc import Callable
from typing import Any

IDLE = 5.0
"""Seconds without a byte after which a lingering connection is closed."""
LONGEST = 15.0
"""Seconds after which a lingering connection is closed, although the client still sends."""
MOST = 16 * 1_048_576
"""Bytes to discard for one connection: more than the largest body that any route takes."""


class LingeringConnections:
    """All lingering connections of one process, by owner: a user, or an address where no user is known.

    Where there are too many, the oldest one of the owner with the most is closed. Nothing is held for a lingering
    connection, so that the bounds limit sockets and the work of discarding.
    """

    __slots__ = ("_by_owner", "_count", "_per_owner", "_total")

    def __init__(self, *, per_owner: int = 64, total: int = 1_024) -> None:
        self._per_owner = per_owner
        self._total = total
        self._by_owner: dict[str, dict[Linger, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        """The number of lingering connections."""
        return self._count

    def held_by(self, owner: str) -> int:
        """The number of lingering connections of an owner."""
        return len(self._by_owner.get(owner, ()))

    def add(self, linger: "Linger") -> None:
        """Count a connection, and close another one where there are too many."""
        own = self._by_owner.setdefault(linger.owner, {})
        own[linger] = None
        self._count += 1
        if len(own) > self._per_owner:
            next(iter(own)).close()
        elif self._count > self._total:
            next(iter(max(self._by_owner.values(), key=len))).close()

    def remove(self, linger: "Linger") -> None:
        """Count a connection no more."""
        own = self._by_owner[linger.owner]
        del own[linger]
        self._count -= 1
        if not own:
            del self._by_owner[linger.owner]


class Linger:
    """The rest of one connection that has been answered for the last time."""

    __slots__ = ("_among", "_close", "_deadline", "_left", "_loop", "_timer", "owner")

    def __init__(
        self, owner: str, close: Callable[[], Any], among: LingeringConnections, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.owner = owner
        self._close = close
        """Closes the socket; called at most once."""
        self._among = among
        self._loop = loop
        self._left = MOST
        self._deadline = loop.time() + LONGEST
        self._timer: asyncio.TimerHandle | None = loop.call_later(IDLE, self.close)
        among.add(self)

    def discard(self, size: int) -> None:
        """Count bytes that have come and are not looked at. Closes the connection where it was too many."""
        if self._timer is None:
            return
        self._left -= size
        self._timer.cancel()
        self._timer = self._loop.call_at(min(self._loop.time() + IDLE, self._deadline), self.close)
        if self._left < 0:
            self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._timer is not None:
            self.end()
            self._close()

    def end(self) -> None:
        """Stop: the connection is closed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._among.remove(self)


class LingeringTransport:
    """A transport of which `close` is decided by its connection. Everything else goes to the socket's transport."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None], closing: Callable[[], bool]) -> None:
        self.write = transport.write
        self.get_write_buffer_size = transport.get_write_buffer_size
        self.close = close
        self.is_closing = closing
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
