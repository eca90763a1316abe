"""The connections of the handshake era that their clients have initialized, with the SDK's handling of their requests.

A connection is ready from the client's notification on until the SDK ends it.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.requests import Request

from .connections import Context


class ReadyConnection:
    """One connection."""

    __slots__ = ("handle", "passed_on_at", "user_id")

    def __init__(self, user_id: str, runner: ServerRunner[Any]) -> None:
        self.user_id = user_id
        """The user who opened it."""
        self.handle = runner.on_request
        """Handles a request as one of this connection."""
        self.passed_on_at: float | None = None
        """The time of the newest request that the SDK's transport handled."""


class ReadyConnections:
    """The ready connections of a server, by their ids."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self._known: dict[str, ReadyConnection] = {}

    def get(self, connection_id: str) -> ReadyConnection | None:
        """Return a connection; None if it is not ready."""
        return self._known.get(connection_id)

    @contextmanager
    def connected(self, ctx: Context) -> Generator[None]:
        """Know the connection of a notification."""
        request: Request | None = ctx.request
        connection_id = None if request is None else request.headers.get(MCP_SESSION_ID_HEADER)
        client = ctx.session.client_params
        if request is None or connection_id is None or client is None:
            yield
            return
        own = Connection.from_envelope(
            ctx.protocol_version,
            client.client_info.model_dump(by_alias=True),
            client.capabilities.model_dump(by_alias=True),
        )
        user_id: str = request.scope["state"]["user_id"]
        self._known[connection_id] = ReadyConnection(user_id, ServerRunner(self._server, own, None))
        try:
            yield
        finally:
            self._known.pop(connection_id, None)
