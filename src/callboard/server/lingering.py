"""Lingering close: after a response that precedes the end of a request's body, the rest of the body is discarded.

Closing a socket with unread data makes the kernel reset the connection, and a client that is still sending fails before
it reads the response. So the server shuts down only its sending side, discards received bytes, and closes the socket
after the client does. The bytes and seconds per connection are limited, and so is the number of such connections.
"""

import asyncio
from collections.abc import Callable
from typing import Any

IDLE = 5.0
"""Seconds without a byte after which a lingering connection is closed."""
LONGEST = 15.0
"""Seconds after which a lingering connection is closed, even if the client is still sending."""
MOST = 16 * 1_048_576
"""Bytes to discard per connection: more than the largest body that any route accepts."""


class LingeringConnections:
    """The lingering connections of one server, by owner: a user, or an address if the user is unknown.

    If there are too many, the oldest connection of the owner with the most is closed. A lingering connection buffers
    nothing, so the limits are about sockets and CPU time.
    """

    __slots__ = ("_by_owner", "_count", "_per_owner", "_total")

    def __init__(self, *, per_owner: int = 64, total: int = 1_024) -> None:
        self._per_owner = per_owner
        self._total = total
        self._by_owner: dict[str, dict[Linger, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        """Return the number of lingering connections."""
        return self._count

    def held_by(self, owner: str) -> int:
        """Return the number of lingering connections of an owner."""
        return len(self._by_owner.get(owner, ()))

    def add(self, linger: "Linger") -> None:
        """Add a connection, and close the oldest of an owner if there are too many."""
        own = self._by_owner.setdefault(linger.owner, {})
        own[linger] = None
        self._count += 1
        if len(own) > self._per_owner:
            next(iter(own)).close()
        elif self._count > self._total:
            next(iter(max(self._by_owner.values(), key=len))).close()

    def remove(self, linger: "Linger") -> None:
        """Remove a connection that has been closed."""
        own = self._by_owner[linger.owner]
        del own[linger]
        self._count -= 1
        if not own:
            del self._by_owner[linger.owner]


class Linger:
    """A connection between its last response and the closing of its socket."""

    __slots__ = ("_close", "_connections", "_deadline", "_left", "_loop", "_timer", "owner")

    def __init__(
        self, owner: str, close: Callable[[], Any], connections: LingeringConnections, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.owner = owner
        self._close = close
        """Closes the socket; called at most once."""
        self._connections = connections
        self._loop = loop
        self._left = MOST
        self._deadline = loop.time() + LONGEST
        self._timer: asyncio.TimerHandle | None = loop.call_later(IDLE, self.close)
        connections.add(self)

    def discard(self, size: int) -> None:
        """Count discarded bytes. Closes the connection if they exceed the limit."""
        if self._timer is None:
            return
        self._left -= size
        self._timer.cancel()
        self._timer = self._loop.call_at(min(self._loop.time() + IDLE, self._deadline), self.close)
        if self._left < 0:
            self.close()

    def close(self) -> None:
        """Close the socket, unless it is closed already."""
        if self._timer is not None:
            self.end()
            self._close()

    def end(self) -> None:
        """Stop the timer: the socket is closed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._connections.remove(self)
