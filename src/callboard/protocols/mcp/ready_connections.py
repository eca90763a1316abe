"""The connections of the handshake era that their clients have initialized, with the SDK's handling of their requests.

A connection is ready from the client's notification on until the SDK ends it.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner
from starlette.requests import Request

from .connections import Context, connection_id_of


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
        self._served: set[str | None] = set()
        """The ids of the ready connections; None is the one on standard streams."""

    def get(self, connection_id: str) -> ReadyConnection | None:
        """Return a connection; None if it is not ready."""
        return self._known.get(connection_id)

    def is_new(self, ctx: Context) -> bool:
        """Return whether a notification makes its connection ready: the first one after the handshake does."""
        return ctx.session.client_params is not None and connection_id_of(ctx) not in self._served

    @contextmanager
    def connected(self, ctx: Context) -> Generator[None]:
        """Know the new connection of a notification."""
        request: Request | None = ctx.request
        connection_id = connection_id_of(ctx)
        self._served.add(connection_id)
        if request is not None and connection_id is not None:
            own = Connection.from_envelope(ctx.protocol_version, None, None)
            own.client_params = ctx.session.client_params
            user_id: str = request.scope["state"]["user_id"]
            self._known[connection_id] = ReadyConnection(user_id, ServerRunner(self._server, own, None))
        try:
            yield
        finally:
            self._served.discard(connection_id)
            if connection_id is not None:
                self._known.pop(connection_id, None)
