"""`/mcp`: Streamable HTTP. It starts the SDK's application at the first request, and passes it bodies within limits."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from anyio import CancelScope, create_task_group
from anyio.abc import TaskGroup, TaskStatus
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..mount import ProtocolHost
from ..problem import Problem

if TYPE_CHECKING:
    from .http_server import HttpServer

MAX_BODY_BYTES = 4 * 1_048_576
MAX_VALUES = 200_000


class McpMount:
    """MCP as a `ProtocolMount`."""

    path = "/mcp"
    methods: Sequence[str] = ("GET", "POST", "DELETE")
    max_body_bytes = MAX_BODY_BYTES
    max_body_values = MAX_VALUES
    request_headers: Sequence[str] = ("mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id")
    response_headers: Sequence[str] = ("mcp-session-id",)

    def __init__(self) -> None:
        self._tasks: TaskGroup | None = None
        self._starting = asyncio.Lock()
        self._server: HttpServer | None = None
        self._streams: set[CancelScope] = set()
        """The open GET requests, which end only when they are cancelled."""

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    def application(self, host: ProtocolHost) -> ASGIApp:
        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            server = await self._started(host)
            request = Request(scope, receive)
            if scope["method"] == "POST":
                async with host.read_body(request) as body:
                    await server.handle_post(_with_user(scope, host.user_id(request)), body, receive, send)
            else:
                await self._stream(server, _with_user(scope, host.user_id(request)), receive, send)

        return application

    def drain(self) -> None:
        for stream in tuple(self._streams):
            stream.cancel()
        if self._server is not None:
            self._server.drain()

    async def _stream(self, server: "HttpServer", scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request without a body, and end its response properly if the server drains."""
        response = _Response(send)
        with CancelScope() as stream:
            self._streams.add(stream)
            try:
                await server.handle(scope, receive, response.send)
            finally:
                self._streams.discard(stream)
        await response.end()

    async def _started(self, host: ProtocolHost) -> "HttpServer":
        if self._server is None:
            async with self._starting:
                if self._server is None:
                    self._server = await self._start(host)
        return self._server

    async def _start(self, host: ProtocolHost) -> "HttpServer":
        if self._tasks is None:
            raise Problem(503, "not_ready", "Not available", "The server has not started, or has ended.")
        try:  # in a thread, because other requests are served meanwhile
            module: Any = await asyncio.to_thread(import_module, ".http_server", __package__)
        except ModuleNotFoundError as missing:
            detail = 'MCP needs an optional part. Install it with: pip install "callboard[mcp]"'
            raise Problem(501, "missing_extra", "Not installed", detail) from missing
        server: HttpServer = module.HttpServer(host, max_body_bytes=self.max_body_bytes)

        async def serve(*, task_status: TaskStatus[None]) -> None:
            try:
                await server.run(task_status.started)
            finally:
                self._server = None

        await self._tasks.start(serve)
        return server


def _with_user(scope: Scope, user_id: str) -> Scope:
    """Return a scope for the SDK's application: with the user, and without white space around header values."""
    headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
    return {**scope, "headers": headers, "state": {**scope.get("state", {}), "user_id": user_id}}


class _Response:
    """The sending side of a request that may be cancelled."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._started = self._ended = False

    async def send(self, message: Message) -> None:
        self._started = True
        self._ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """End the response, if it has started and not ended."""
        if self._started and not self._ended:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
