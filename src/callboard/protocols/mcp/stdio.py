"""MCP over standard input and output, for a desktop client that starts `callboard mcp` as its server."""

from mcp.server.stdio import stdio_server
from starlette.requests import Request

from ...runtime import Runtime
from ...sessions.ids import SessionNotFound
from ...sessions.session import Session
from ...types import Wake
from .connections import Connections
from .server import McpServer


async def serve_stdio(runtime: Runtime, user_id: str, session_id: str | None = None) -> None:
    """Serve a running runtime's tools to one user until standard input ends.

    All requests use one session: the one with `session_id`, or a new one in the handshake era, and the session of the
    user's client from 2026-07-28 on. Meanwhile, anything that is printed goes to standard error.
    """
    server = McpServer(Connections(RuntimeSessions(runtime, user_id), session_id))
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class RuntimeSessions:
    """The sessions of one user of a runtime as a `SessionSource`."""

    def __init__(self, runtime: Runtime, user_id: str) -> None:
        self._runtime = runtime
        self._user_id = user_id
        self._newest: Session | None = None
        """The session that was opened last. While it is kept, it is not made again for each request."""
        self.registry = runtime.registry
        self.how_to_answer = (
            "A person must answer the request {request}: with the command callboard requests answer {request}, or on "
            "the page of a server with the same store."
            if runtime.store.durable
            else "A person must answer the request {request}, which needs a store: start callboard mcp with --store."
        )

    def user_id(self, request: Request | None) -> str:
        return self._user_id

    async def open(self, request: Request | None, session_id: str) -> Session:
        self._newest = await self._runtime.open(session_id, self._user_id, wake=Wake.UI_ONLY)
        return self._newest

    async def find(self, request: Request | None, session_id: str) -> Session:
        known = await self._runtime.sessions.find_or_load(session_id)
        if known is None or known.user_id != self._user_id:
            raise SessionNotFound("There is no such session.")
        return await self._runtime.open(session_id, self._user_id)
