"""The SDK's HTTP application for the sessions of one server, both eras of the protocol.

It runs between `run` and its cancellation. Above it is `endpoint`; below it is `server`, which serves stdio too.
"""

from collections.abc import Callable

from anyio import CancelScope, sleep_forever
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from ...clock import SystemClock
from ...sessions.session import Session
from ...types import Wake
from ..mount import ProtocolHost
from .connections import Connections
from .head_start import HeadStart
from .message_ids import check_message_ids
from .quick_calls import QuickCalls
from .resumption import ResumableManager
from .server import McpServer
from .user_connections import UserConnections

IDLE_AFTER = 1_800.0
"""Seconds without a request after which a connection of the handshake era ends. Its session is kept."""
REFRESH_AFTER = IDLE_AFTER / 2
"""Seconds after which a connection is used again by the SDK's transport, which ends idle ones."""
MAX_CONNECTIONS = 10_000
RETRY_MS = 1_000
"""Milliseconds that a client should wait before it resumes a stream."""
MAX_KEPT = 16 * 1024
"""Bytes of a message that the SDK may keep as the last one of a connection, in each direction."""

_PING = b'{"jsonrpc":"2.0","id":"callboard-ping","method":"ping"}'
_HEADERS = [(b"accept", b"application/json, text/event-stream"), (b"content-type", b"application/json")]


class HttpServer:
    """Streamable HTTP for the users that a `ProtocolHost` authenticates."""

    def __init__(self, host: ProtocolHost, *, max_body_bytes: int) -> None:
        self._server = McpServer(Connections(_HostSessions(host)))
        clock = SystemClock()
        self._open = UserConnections(clock, IDLE_AFTER)
        self._quick = QuickCalls(self._server, self._server.ready, host.registry, clock, REFRESH_AFTER)
        self._manager = ResumableManager(
            self._server,
            session_idle_timeout=IDLE_AFTER,
            max_request_body_size=max_body_bytes,
            max_sessions=MAX_CONNECTIONS,
            retry_interval=RETRY_MS,
        )

    async def run(self, started: Callable[[], None]) -> None:
        """Serve until cancelled. Calls `started` when it can handle requests."""
        async with self._manager.run():
            started()
            await sleep_forever()

    async def handle_post(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Handle a request with this body. See `handle`. Raises `Problem` if its message has a long id."""
        check_message_ids(body)
        start = HeadStart()
        if await self._quick.answer(scope, body, send, start):
            return
        try:
            await self.handle(scope, _replay(body, receive), send, len(body))
        finally:
            if start.call is not None and not start.is_taken_over:
                with CancelScope(shield=True):
                    await start.call.abandon()

    async def handle(self, scope: Scope, receive: Receive, send: Send, size: int = 0) -> None:
        """Handle a request of the user in `scope["state"]`. Only this user can use the connections that it opens.

        `size` is that of its body. Raises `Problem` if the user has too many connections.
        """
        user_id = scope["state"]["user_id"]
        headers = Headers(scope=scope)
        asked_for, is_modern = headers.get(MCP_SESSION_ID_HEADER), _is_modern(headers)
        if asked_for is None and not is_modern:
            self._open.check(user_id)
        elif asked_for is not None:
            self._quick.passed_on(asked_for)

        used: str | None = None
        most = size

        async def watch(message: Message) -> None:
            nonlocal used, most
            if message["type"] == "http.response.start" and not is_modern:
                used = self._note(user_id, scope["method"], asked_for, message)
            most = max(most, len(message.get("body", b"")))
            await send(message)

        await self._pass_on(scope, receive, watch)
        if used is not None and most > MAX_KEPT:
            await self._replace_last_messages(scope, used)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the SDK handle a request of the user in `scope["state"]`, whom the guard has authenticated."""
        token = AccessToken(token="", client_id="callboard", scopes=[], subject=scope["state"]["user_id"])
        await self._manager.handle_request({**scope, "user": AuthenticatedUser(token)}, receive, send)

    async def _replace_last_messages(self, scope: Scope, connection_id: str) -> None:
        """Send a ping to a connection: the SDK keeps its last message and the last response until the next ones.

        The ping is not waited for, as if its client had disconnected.
        """
        headers = [*_HEADERS, (MCP_SESSION_ID_HEADER.encode(), connection_id.encode("latin-1"))]
        scope = {**scope, "method": "POST", "headers": headers}
        await self._pass_on(scope, _replay(_PING, _disconnected), _discard)

    def _note(self, user_id: str, method: str, asked_for: str | None, response: Message) -> str | None:
        """Note which connection a response belongs to, or that it has ended. Returns the id of the connection."""
        found = asked_for or Headers(raw=response["headers"]).get(MCP_SESSION_ID_HEADER)
        if found is None:
            return None
        if response["status"] < 400 and method != "DELETE":
            self._open.used(user_id, found)
        elif method == "DELETE" or response["status"] == 404 or asked_for is None:
            self._open.ended(user_id, found)
        return found

    def drain(self) -> None:
        """End the streams of changes, so that their clients reconnect to another process."""
        self._server.drain()


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return the receiving side of a request whose body was read."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


async def _disconnected() -> Message:
    return {"type": "http.disconnect"}


async def _discard(_: Message) -> None: ...


def _is_modern(headers: Headers) -> bool:
    """Return whether a request is of the era without connections."""
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    return version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS


class _HostSessions:
    """The sessions of a `ProtocolHost` as a `SessionSource`."""

    how_to_answer = (
        "A person must answer the request {request}: on the page of the server, or with the command "
        "callboard requests answer {request}."
    )

    def __init__(self, host: ProtocolHost) -> None:
        self._host = host
        self.registry = host.registry

    def user_id(self, request: Request | None) -> str:
        assert request is not None
        return self._host.user_id(request)

    async def open(self, request: Request | None, session_id: str) -> Session:
        assert request is not None
        return await self._host.open_session(request, session_id, Wake.UI_ONLY)

    async def find(self, request: Request | None, session_id: str) -> Session:
        assert request is not None
        return await self._host.find_session(request, session_id)
