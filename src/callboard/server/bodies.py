"""The bodies of requests: counted while they come, held within a budget, and read when it is their turn.

A small body is read at once. A large one is refused as soon as it has more bytes or more values than its route takes,
before anything parses it.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.requests import Request

from ..jsonrules.value_count import ValueCounter
from .budget import MIB, Budget
from .problems import Problem
from .turnstile import Turnstile

SMALL = 8_192
"""Bytes up to which a body is read at once: reading it takes less than a millisecond."""
PER_VALUE = 8e-6
PER_BYTE = 15e-9
"""Seconds that a value and a byte may cost, all that is done with a request taken together."""


class Bodies:
    """The large bodies of one server. `per_user` and `total` are how many bytes of them are held at once."""

    def __init__(self, *, per_user: int = 16 * MIB, total: int = 256 * MIB) -> None:
        self.budget = Budget(_too_many, per_user=per_user, total=total)
        self._turnstile = Turnstile()

    @staticmethod
    def is_small(request: Request) -> bool:
        """Whether a body says that it is small: then it needs no turn, and no count."""
        return (length := _length(request)) is not None and length <= SMALL

    @asynccontextmanager
    async def taking(self, request: Request, user_id: str, size: int, values: int) -> AsyncGenerator[bytes]:
        """A body of at most `size` bytes and `values` values, to be read within the `with`. Raises `Problem`."""
        length = _length(request)
        if length is not None and length > size:
            await _discard(request)
            raise too_large(size)
        if self.is_small(request):
            yield await request.body()
            return
        with self.budget.holding(user_id, size if length is None else length):
            content, count = await _counted(request, size, values)
            await self._turnstile.enter(user_id, count * PER_VALUE + len(content) * PER_BYTE)
            yield content


def _too_many() -> Problem:
    detail = "There are too many large requests of yours at once. Send fewer, or wait for their answers."
    return Problem(429, "too_many_large_requests", "Too many at once", detail, {"retry-after": "1"})


async def _counted(request: Request, size: int, values: int) -> tuple[bytes, int]:
    """A body, and how many values it has at most."""
    census, held, pieces = ValueCounter(), 0, list[bytes]()
    async for piece in request.stream():
        held += len(piece)
        if held > size:
            raise too_large(size)
        if census.values > values or census.feed(piece) > values:
            pieces.clear()  # the rest is only heard to its end
            continue
        pieces.append(piece)
    if census.values > values:
        detail = f"A body may have at most {values:,} values: keys, texts, numbers, lists and objects."
        raise Problem(413, "too_many_values", "Too large", detail)
    return b"".join(pieces), census.values


async def _discard(request: Request) -> None:
    """Hear a body to its end: a client that sends all of it before it reads would lose an earlier answer.

    What no route takes is not heard at all: `LimitBodies` refuses it.
    """
    async for _ in request.stream():
        pass


def too_large(size: int) -> Problem:
    """The problem of a body that has too many bytes."""
    return Problem(413, "body_too_large", "Too large", f"A body may have at most {size:,} bytes here.")


def _length(request: Request) -> int | None:
    """How long a body says that it is; None where it does not say."""
    text = request.headers.get("content-length")
    if text is None:
        return None if "transfer-encoding" in request.headers else 0
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
