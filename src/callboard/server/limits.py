"""What a request may cost before anybody has looked at it: how large its body may be, and how long it may take to come.

Both hold for bodies that say their length and for those that do not.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """Of one request."""

    size: int = 1_048_576
    """Bytes."""
    seconds: float = 15.0
    """From the request's head to the end of its body."""


class LimitBodies:
    """Middleware that refuses bodies which are too large (413) or too slow (408)."""

    def __init__(self, app: ASGIApp, limits: BodyLimits) -> None:
        self._app = app
        self._limits = limits

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return self._app(scope, receive, send)
        length: bytes | None = None
        has_body = False
        for name, value in scope["headers"]:
            if name == b"content-length":
                length, has_body = value, True
            elif name == b"transfer-encoding":
                has_body = True
        if not has_body:
            return self._app(scope, receive, send)
        limited = _Limited(receive, self._limits)
        if length is not None and not (length.isdigit() and len(length) < 16 and int(length) <= self._limits.size):
            limited.refused = True
        return self._app(scope, limited, send)


class _Limited:
    """The receiving half of a request whose body is counted and timed."""

    __slots__ = ("_deadline", "_left", "_limits", "_receive", "_whole", "refused")

    def __init__(self, receive: Receive, limits: BodyLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._left = limits.size
        self._whole = False
        self._deadline = asyncio.get_running_loop().time() + limits.seconds
        self.refused = False
        """Whether its own length says that it is too large."""

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()
        if self.refused:
            raise self._too_large()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            detail = f"The body did not come within {self._limits.seconds:g} seconds."
            raise Problem(408, "body_too_slow", "Too slow", detail) from None
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise self._too_large()
        self._whole = not message.get("more_body", False)
        return message

    def _too_large(self) -> Problem:
        detail = f"A body may have at most {self._limits.size:,} bytes."
        return Problem(413, "body_too_large", "Too large", detail)
