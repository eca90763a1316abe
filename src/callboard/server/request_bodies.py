"""Request bodies: counted while they arrive, held within a budget, and parsed one large body at a time.

A small body is read directly. A large one is refused before it is parsed, once it exceeds the bytes or JSON values that
its route allows.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect, Request

from ..jsonrules.value_count import ValueCounter
from ..pacer import Pacer
from ..protocols.problem import Problem, body_too_large, too_many_values
from .byte_budget import MIB, ByteBudget

SMALL = 8_192
"""Bytes up to which a body is read directly: parsing it takes less than a millisecond."""
PER_VALUE = 8e-6
PER_BYTE = 15e-9
"""Estimated seconds per JSON value and per byte of a request."""


class RequestBodies:
    """The large bodies of one server. `per_user` and `total` limit the bytes that are held at once."""

    def __init__(self, *, per_user: int = 16 * MIB, total: int = 256 * MIB) -> None:
        self.budget = ByteBudget(_too_many, per_user=per_user, total=total)
        self._pacer = Pacer()

    @staticmethod
    def is_small(request: Request) -> bool:
        """Whether the declared length of a body is small, so that it needs no budget and no count."""
        return (length := _length(request)) is not None and length <= SMALL

    @asynccontextmanager
    async def reading(self, request: Request, user_id: str, size: int, values: int) -> AsyncGenerator[bytes]:
        """Read a body of at most `size` bytes and `values` JSON values, to be parsed within the `async with`.

        Raises `Problem`.
        """
        length = _length(request)
        if length is not None and length > size:
            await _discard(request)
            raise body_too_large(size)
        if length is not None and length <= SMALL:
            yield await _received(request)
            return
        with self.budget.holding(user_id, size if length is None else length):
            content, count = await _counted(request, size, values)
            await self._pacer.enter(user_id, count * PER_VALUE + len(content) * PER_BYTE)
            yield content


def _too_many() -> Problem:
    detail = "You have too many large requests in progress. Send fewer, or wait for their responses."
    return Problem(429, "too_many_large_requests", "Too many at once", detail, {"retry-after": "1"})


async def _received(request: Request) -> bytes:
    """Read a small body, as `Request.body` does, without its generator: nearly every body comes in one piece."""
    body = b""
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body


async def _counted(request: Request, size: int, values: int) -> tuple[bytes, int]:
    """Read a body, and return it with an upper bound of its values."""
    counter, received, pieces = ValueCounter(), 0, list[bytes]()
    async for piece in request.stream():
        received += len(piece)
        if received > size:
            raise body_too_large(size)
        if counter.values > values or counter.feed(piece) > values:
            pieces.clear()  # the rest is discarded
            continue
        pieces.append(piece)
    if counter.values > values:
        raise too_many_values(values)
    return b"".join(pieces), counter.values


async def _discard(request: Request) -> None:
    """Read a body to its end: a client that sends all of it before it reads would lose an earlier response.

    A body above the limits of every route is not read: `BodyLimitMiddleware` refuses it.
    """
    async for _ in request.stream():
        pass


def _length(request: Request) -> int | None:
    """Return the declared length of a body, or None if it is unknown."""
    is_chunked = False
    for name, value in request.scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() and len(value) < 16 else None
        is_chunked = is_chunked or name == b"transfer-encoding"
    return None if is_chunked else 0
