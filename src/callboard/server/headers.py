"""The headers of every answer: what a browser may not do with it, whatever stands in it.

This is the outermost middleware of ours. Problems that are raised by the middleware within it become answers here.
"""

import asyncio
from collections.abc import Sequence

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import CallboardError
from .problems import draining, problem_of

_CUT_OFF = "The server is ending. What was begun goes on or is kept: ask again, with the same ids."
_ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
_OPERATIONS = frozenset({"/healthz", "/readyz", "/metrics"})
_POLICY = b"content-security-policy"
_FOR_PAGE = [
    *_ALWAYS,
    (_POLICY, b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"),
]
_FOR_DATA = [
    *_ALWAYS,
    (_POLICY, b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
]


class SafeHeaders:
    """Middleware that adds them, where an answer does not have its own."""

    def __init__(self, app: ASGIApp, data_paths: Sequence[str] = ()) -> None:
        self._app = app
        self._data_paths = ("/api/", *data_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        path: str = scope["path"]
        sender = _Sender(send, path.startswith(self._data_paths) or path in _OPERATIONS)
        try:
            await self._app(scope, receive, sender)
        except CallboardError as error:
            if sender.started:
                raise
            await problem_of(error).response()(scope, receive, sender)
        except asyncio.CancelledError:  # only the end of the server cuts a request off
            if not sender.started:
                await draining(_CUT_OFF).response()(scope, receive, sender)
            raise
        except ClientDisconnect:
            pass  # in the middle of his request: nobody is there to be told


class _Sender:
    __slots__ = ("_is_data", "_send", "started")

    def __init__(self, send: Send, is_data: bool) -> None:
        self._send = send
        self._is_data = is_data
        self.started = False

    async def __call__(self, message: Message) -> None:
        if not self.started:
            self.started = True
            own = [*message.get("headers", ())]
            given = {name.lower() for name, _ in own}
            ours = _FOR_DATA if self._is_data else _FOR_PAGE
            message = {**message, "headers": own + [each for each in ours if each[0] not in given]}
        await self._send(message)
