"""The response of a double, sent in chunks, with gates and breaks of the script between them.

A client that disconnects is noticed immediately, also while the double waits at a gate.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .request import Refusal, Request
from .script import Answer, Break, Pause
from .synchronization import Gate, Signal

Chunk = bytes | Pause


@dataclass(slots=True)
class Exchange:
    """One request and its outcome."""

    request: Request
    refusal: Refusal | None = None
    answer: Answer | None = None
    complete: bool = False
    """Whether the whole response was sent."""
    left: bool = False
    """Whether the client disconnected before that."""
    ended: Signal = field(default_factory=Signal)
    """Set when nothing more will be sent."""


class Reply(Response):
    """A response whose body is sent in chunks."""

    def __init__(
        self, chunks: Iterable[Chunk], exchange: Exchange, closing: Signal, *, media_type: str, headers: dict[str, str]
    ) -> None:
        super().__init__(None, headers=headers, media_type=media_type)
        del self.headers["content-length"]
        self._chunks = iter(chunks)
        self._exchange = exchange
        self._closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with self._until_disconnect(receive):
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._send(self._chunks, send)
        finally:
            self._exchange.ended.set()

    async def _send(self, chunks: Iterator[Chunk], send: Send) -> None:
        for chunk in chunks:
            if isinstance(chunk, Gate):
                await chunk.wait()
            elif isinstance(chunk, Break):
                return  # the server cuts the connection of an incomplete response
            else:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        self._exchange.complete = True

    @asynccontextmanager
    async def _until_disconnect(self, receive: Receive) -> AsyncGenerator[None]:
        """Cancel the block when the client disconnects or the double stops."""
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
