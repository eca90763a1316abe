"""Security headers of every response, and the responses to errors of inner middleware.

This is the outermost middleware of the app.
"""

import asyncio
from collections.abc import Sequence

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import CallboardError
from .exact_routes import request_path
from .problems import draining, problem_of

_CUT_OFF = "The server is shutting down. Work that was started continues or is stored: repeat the request with its ids."
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
    (
        _POLICY,
        b"default-src 'self'; img-src 'self' data:; media-src 'self' data:; base-uri 'none'; form-action 'self'; "
        b"frame-ancestors 'none'; object-src 'none'",
    ),  # icons of wallets, and images and sounds of results, are data URLs
]
_FOR_DATA = [
    *_ALWAYS,
    (_POLICY, b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
]


class SecurityHeaders:
    """Middleware that adds each header that a response does not set itself.

    Responses below `data_paths` and of the API must not be cached, and load nothing; others are those of the page.
    """

    def __init__(self, app: ASGIApp, data_paths: Sequence[str] = ()) -> None:
        self._app = app
        self._data_paths = frozenset({*_OPERATIONS, *data_paths})
        self._data_folders = ("/api/", *(f"{path.rstrip('/')}/" for path in data_paths))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        path = request_path(scope)
        sender = _Sender(send, path.startswith(self._data_folders) or path in self._data_paths)
        try:
            await self._app(scope, receive, sender)
        except CallboardError as error:
            if sender.started:
                raise
            await problem_of(error).response()(scope, receive, sender)
        except asyncio.CancelledError:  # only the server's shutdown cancels a request, which is no error of the app
            if not sender.started:
                await draining(_CUT_OFF).response()(scope, receive, sender)
        except ClientDisconnect:
            pass  # while the body was read, so there is no response to send


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
