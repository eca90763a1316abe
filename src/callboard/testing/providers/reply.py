"""How an answer is sent: piece by piece, waiting at gates, cut off where the script says so.

A client that leaves is noticed at once, also while the double stands at a gate.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .request import Refusal, Request
from .script import Answer, Break, Pause
from .signals import Gate, Signal

Piece = bytes | Pause


@dataclass(slots=True)
class Exchange:
    """One request and what became of it."""

    request: Request
    refusal: Refusal | None = None
    answer: Answer | None = None
    complete: bool = False
    """Whether everything was sent."""
    left: bool = False
    """Whether the client went away before that."""
    ended: Signal = field(default_factory=Signal)
    """Set when nothing more will be sent."""


class Reply(Response):
    """A body that is made of pieces."""

    def __init__(
        self, pieces: Iterable[Piece], exchange: Exchange, closing: Signal, *, media_type: str, headers: dict[str, str]
    ) -> None:
        super().__init__(None, headers=headers, media_type=media_type)
        del self.headers["content-length"]
        self._pieces = iter(pieces)
        self._exchange = exchange
        self._closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with self._while_wanted(receive):
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._send(self._pieces, send)
        finally:
            self._exchange.ended.set()

    async def _send(self, pieces: Iterator[Piece], send: Send) -> None:
        for piece in pieces:
            if isinstance(piece, Gate):
                await piece.passed()
            elif isinstance(piece, Break):
                return  # a response that was not brought to its end is cut off by the server
            else:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        self._exchange.complete = True

    @asynccontextmanager
    async def _while_wanted(self, receive: Receive) -> AsyncGenerator[None]:
        """What happens inside is cancelled when the client leaves, or the double ends."""
        async with anyio.create_task_group() as group:

            async def left() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                self._exchange.left = not self._exchange.complete
                group.cancel_scope.cancel()

            async def closed() -> None:
                await self._closing.wait()
                group.cancel_scope.cancel()

            group.start_soon(left)
            group.start_soon(closed)
            yield
            group.cancel_scope.cancel()
