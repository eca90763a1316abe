"""The session of a connection.

In the handshake era each connection has a session of its own. From 2026-07-28 on there are no connections: all requests
that name the same client share one session of their user.
"""

import hashlib
import secrets
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from ...sessions.ids import SessionIdInvalid, SessionNotFound
from ...sessions.live_session import LiveSession
from ...sessions.open_request import OpenRequest
from ...sessions.session import Session, live_session
from ...sessions.task_tools import task_tools
from ...tools.registry import Registry
from ..problem import Problem

Context: TypeAlias = ServerRequestContext[Any, Any]
"""The SDK's context of one request."""

TASKS = "io.modelcontextprotocol/tasks"
"""The name of the tasks extension."""

MAX_LATE_RESULTS = 50
"""The number of late results that wait to be taken in a session."""

LONGEST_NAME = 256
"""Characters of a client's name whose session id is kept."""


class SessionSource(Protocol):
    """The sessions of the users that a transport serves. Requests are None on standard streams."""

    @property
    def registry(self) -> Registry:
        """The tools of all sessions."""
        ...

    @property
    def how_to_answer(self) -> str:
        """Where a person can answer the request `{request}`, for the model to tell."""
        ...

    def user_id(self, request: Request | None) -> str:
        """Return the user of a request."""
        ...

    async def open(self, request: Request | None, session_id: str) -> Session:
        """Open a session of the user of a request. Raises `SessionNotFound` or `Problem`."""
        ...

    async def find(self, request: Request | None, session_id: str) -> Session:
        """Open a session that exists. Raises `SessionNotFound` or `Problem`."""
        ...


class Connections:
    """Opens the session of each request: the one with `session_id`, if it is given."""

    def __init__(self, source: SessionSource, session_id: str | None = None) -> None:
        self._source = source
        self.registry = source.registry
        """The tools of all sessions."""
        self._session_id = session_id
        self._secret = secrets.token_hex(16)
        self._own_id = f"mcp-{self._secret}"
        """The session of the only connection on standard streams, in the handshake era."""
        self._prepared: WeakSet[LiveSession] = WeakSet()
        self.log_levels: WeakKeyDictionary[LiveSession, types.LoggingLevel] = WeakKeyDictionary()
        """The levels that clients of the handshake era have set."""

    async def session(self, ctx: Context) -> Session:
        """Open the session of a request. Raises `MCPError` if it cannot be opened."""
        session_id = self._session_id or self._name(ctx)
        try:
            try:
                session = await self._source.open(ctx.request, session_id)
            except SessionNotFound:
                if self._session_id is not None or not is_modern(ctx):
                    raise
                # Another user has taken the id, which can be computed. The one with a secret cannot.
                session = await self._source.open(ctx.request, f"{session_id}-{self._secret}")
        except (SessionNotFound, SessionIdInvalid, Problem) as error:
            raise _refused(error) from None
        live = live_session(session)
        if live not in self._prepared or live.results:
            await self._prepare(session)
        return session

    async def find(self, ctx: Context, session_id: str) -> Session:
        """Open an existing session of the user of a request. Raises `MCPError` if there is none."""
        try:
            session = await self._source.find(ctx.request, session_id)
        except (SessionNotFound, SessionIdInvalid, Problem) as error:
            raise _refused(error) from None
        await self._prepare(session)
        return session

    def how_to_answer(self, requests: Sequence[OpenRequest]) -> str:
        """Return where a person can answer requests; an empty text without requests."""
        return " ".join(self._source.how_to_answer.format(request=each.id) for each in requests)

    async def _prepare(self, session: Session) -> None:
        live = live_session(session)
        if live not in self._prepared:
            live.add_tools_for_sessions(task_tools)
            self._prepared.add(live)
        if len(live.results) >= MAX_LATE_RESULTS:
            await session.take_results()  # clients read results by their ids, and never take them

    def _name(self, ctx: Context) -> str:
        request: Request | None = ctx.request
        if not is_modern(ctx):
            if request is None:
                return self._own_id
            if (connection := connection_id_of(ctx)) is None:
                raise MCPError(types.INVALID_REQUEST, "The connection has no session.")
            return f"mcp-{connection}"
        client = ctx.session.client_params
        name = "" if client is None else client.client_info.name
        make = _client_session if len(name) <= LONGEST_NAME else _client_session.__wrapped__
        return make(self._source.user_id(request), name)


def _refused(error: Exception) -> MCPError:
    """Return the error for a client whose session cannot be opened."""
    if isinstance(error, Problem):
        return MCPError(types.INTERNAL_ERROR, error.detail or error.title)
    return MCPError(types.INVALID_PARAMS, "There is no such session.")


@lru_cache(4_096)
def _client_session(user_id: str, client_name: str) -> str:
    """Return the id of the session of a user's client."""
    parts = repr([user_id, client_name]).encode("utf-8", "surrogatepass")
    return f"mcp-{hashlib.sha256(parts).hexdigest()[:32]}"


def connection_id_of(ctx: Context) -> str | None:
    """Return the id of the connection of a request; None on standard streams and without connections."""
    request: Request | None = ctx.request
    return None if request is None else request.headers.get(MCP_SESSION_ID_HEADER)


def is_modern(ctx: Context) -> bool:
    """Return whether a request is of the era without connections."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def supports_tasks(ctx: Context) -> bool:
    """Return whether the client of a request understands tasks."""
    capabilities = ctx.session.client_capabilities
    return is_modern(ctx) and capabilities is not None and TASKS in (capabilities.extensions or {})
