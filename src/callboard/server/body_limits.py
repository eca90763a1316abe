"""Limits of the size and duration of every request body, with or without a declared length."""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..protocols.problem import Problem, body_too_large
from .exact_routes import request_path

WHOLE = "callboard.whole"
"""The ASGI extension that marks a completely received body (see `connection`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """The limits of one request."""

    size: int = 1_048_576
    """Bytes of a body."""
    seconds: float = 15.0
    """Seconds from the request's head to the end of its body."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Bytes at paths with another limit."""


class BodyLimitMiddleware:
    """Refuses bodies that are too large (413) or too slow (408)."""

    def __init__(self, app: ASGIApp, limits: BodyLimits) -> None:
        self._app = app
        self._limits = limits
        self._limits_at = {path: replace(limits, size=size) for path, size in limits.sizes.items()}

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return self._app(scope, receive, send)
        limits = self._limits_at.get(request_path(scope), self._limits)
        length: bytes | None = None
        chunked = False
        for name, value in scope["headers"]:
            if name == b"content-length":
                length = value
            elif name == b"transfer-encoding":
                chunked = True
        if length is None and not chunked:
            return self._app(scope, receive, send)
        fits = length is not None and length.isdigit() and len(length) < 16 and int(length) <= limits.size
        if fits and not chunked and WHOLE in scope.get("extensions", ()):
            return self._app(scope, receive, send)
        limited = _Limited(receive, limits)
        limited.refused = length is not None and not fits
        return self._app(scope, limited, send)


class _Limited:
    """The receiving side of a request, whose body is counted and timed."""

    __slots__ = ("_deadline", "_left", "_limits", "_receive", "_whole", "refused")

    def __init__(self, receive: Receive, limits: BodyLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._left = limits.size
        self._whole = False
        self._deadline = asyncio.get_running_loop().time() + limits.seconds
        self.refused = False
        """Whether its declared length is too large."""

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()
        if self.refused:
            raise body_too_large(self._limits.size)
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            detail = f"The body did not arrive within {self._limits.seconds:g} seconds."
            raise Problem(408, "body_too_slow", "Too slow", detail) from None
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise body_too_large(self._limits.size)
        self._whole = not message.get("more_body", False)
        return message
