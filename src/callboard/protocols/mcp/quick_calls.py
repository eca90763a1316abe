"""Calls that end soon, answered with one JSON document and without the SDK's transport.

The transport opens a stream for each response, with tasks, keep-alive and events that can be resumed, though most calls
end before the first event. So `QuickCalls` gives calls a head start (see `head_start`), with the SDK's own handling of
requests. It knows only the plain request `tools/call`: anything else, and anything wrong, is left to the transport.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast
from weakref import WeakKeyDictionary

import anyio
from mcp import types
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner, modern_error_data
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, check_accept_headers
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundModernRoute,
    classify_inbound_request,
    find_invalid_x_mcp_header,
    x_mcp_header_map,
)
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import from_json, to_json
from starlette.requests import Request
from starlette.types import Scope, Send

from ...clock import Clock
from ...tools.definition import Tool
from ...tools.registry import Registry
from ...types import Mode
from .envelope import connection_of
from .head_start import HEAD_START, HeadStart
from .ready_connections import ReadyConnections

METHOD = "tools/call"
MAX_BYTES = 64 * 1024
"""Bytes of a request. A larger one would be parsed twice if the transport takes over."""
MAX_PASSED_ON = 63
"""The most calls of a tool that are passed on to the transport between two head starts in vain."""
_FIELDS = {"jsonrpc", "id", "method", "params"}


class QuickCalls:
    """Answers calls for the connections of a server, and for requests without connections.

    The SDK ends a connection that its transport has not used for a while. So the transport handles a call of each
    connection every `refresh_after` seconds.
    """

    def __init__(
        self, server: Server[Any], ready: ReadyConnections, registry: Registry, clock: Clock, refresh_after: float
    ) -> None:
        self._server = server
        self._ready = ready
        self._registry = registry
        self._clock = clock
        self._refresh_after = refresh_after
        self._has_headers: WeakKeyDictionary[Tool, bool] = WeakKeyDictionary()
        """Whether clients repeat arguments of a tool in HTTP headers."""
        self._slow: WeakKeyDictionary[Tool, _SlowTool] = WeakKeyDictionary()
        """Tools whose previous fast-path call did not end in time."""

    def passed_on(self, connection_id: str) -> None:
        """Note that the transport handles a request of a connection."""
        if (known := self._ready.get(connection_id)) is not None:
            known.passed_on_at = self._clock.monotonic()

    async def answer(self, scope: Scope, body: bytes, send: Send, start: HeadStart) -> bool:
        """Answer a request. Returns False if the transport must do it, with the call of `start`, if any."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if len(headers) < len(scope["headers"]) or not _is_plain(headers.get("accept"), headers.get("content-type")):
            return False
        message = _tool_call(body)
        if message is None or "requestState" in message["params"]:
            return False
        tool = self._registry.get(message["params"]["name"])
        if tool is not None and not self._may_be_quick(tool):
            return False
        version, connection_id = headers.get(MCP_PROTOCOL_VERSION_HEADER), headers.get(MCP_SESSION_ID_HEADER)
        request = Request(scope)
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            route = classify_inbound_request(message, headers=headers)
            if not isinstance(route, InboundModernRoute) or (tool is not None and self._repeats_arguments(tool)):
                return False
            connection_id = None
            context = _Exchange(request, message["id"], can_send_request=False)
            handling = self._serve(connection_of(route), context, message["params"])
        else:
            known = None if connection_id is None else self._ready.get(connection_id)
            if known is None or known.user_id != scope["state"]["user_id"]:
                return False
            if known.passed_on_at is None or self._clock.monotonic() > known.passed_on_at + self._refresh_after:
                return False
            context = _Exchange(request, message["id"], can_send_request=True)
            handling = known.handle(context, METHOD, message["params"])
        scope["state"][HEAD_START] = start
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        status = 200
        try:
            reply["result"] = await handling
        except Exception as failure:
            error = modern_error_data(failure)
            reply["error"] = error.model_dump(mode="json", by_alias=True, exclude_none=True)
            status = 200 if connection_id is not None else ERROR_CODE_HTTP_STATUS.get(error.code, 200)
        if tool is not None:
            self._note(tool, is_quick=start.call is None)
        if start.call is not None:
            return False
        await _send_json(send, status, to_json(reply), connection_id)
        return True

    async def _serve(self, client: Connection, context: "_Exchange", params: dict[str, Any]) -> dict[str, Any]:
        """Handle a request without a connection, as the SDK's `serve_one` does, but close the exit stack unshielded.

        Nothing here adds to that stack, and the shield with its time limit costs a twentieth of a call.
        """
        async with client.exit_stack:
            return await ServerRunner(self._server, client, None).on_request(context, METHOD, params)

    def _may_be_quick(self, tool: Tool) -> bool:
        """Return whether a call may end soon. Background and human tools never do, and slow tools are tried rarely."""
        if tool.mode is not Mode.INLINE:
            return False
        slow = self._slow.get(tool)
        if slow is None or slow.left == 0:
            return True
        slow.left -= 1
        return False

    def _note(self, tool: Tool, *, is_quick: bool) -> None:
        """Note whether a head start was enough for a call. Each one in vain doubles the calls until the next."""
        if is_quick:
            self._slow.pop(tool, None)
            return
        slow = self._slow.setdefault(tool, _SlowTool())
        slow.left = slow.passed_on = min(MAX_PASSED_ON, 2 * slow.passed_on + 1)

    def _repeats_arguments(self, tool: Tool) -> bool:
        if (found := self._has_headers.get(tool)) is None:
            schema = tool.input_schema
            is_valid = find_invalid_x_mcp_header(schema) is None
            found = self._has_headers[tool] = is_valid and bool(x_mcp_header_map(schema))
        return found


class _SlowTool:
    """A tool whose last head start was in vain."""

    __slots__ = ("left", "passed_on")

    def __init__(self) -> None:
        self.passed_on = 0
        """The number of calls that are passed on before the next head start."""
        self.left = 0
        """How many of them are left."""


class _Exchange:
    """The SDK's view of a request during its head start: one that can send nothing but the result."""

    def __init__(self, request: Request, request_id: types.RequestId, *, can_send_request: bool) -> None:
        self.request_id = request_id
        self.can_send_request = can_send_request
        self.transport = TransportContext(
            kind="streamable-http", can_send_request=can_send_request, headers=request.headers
        )
        self.message_metadata = ServerMessageMetadata(request_context=request)

    @property
    def cancel_requested(self) -> anyio.Event:
        return anyio.Event()  # never set: `cancellations` watches the request

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None: ...

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None: ...


def _tool_call(body: bytes) -> dict[str, Any] | None:
    """Parse a request to call a tool; None for anything else."""
    if len(body) > MAX_BYTES:
        return None
    try:
        message: Any = from_json(body)
    except ValueError:
        return None
    match message:
        case {"jsonrpc": "2.0", "id": str() | int() as given, "method": "tools/call", "params": {"name": str()}}:
            known = cast("dict[str, Any]", message)
            return known if not isinstance(given, bool) and known.keys() <= _FIELDS else None
        case _:
            return None


@lru_cache(256)
def _is_plain(accepted: str | None, media_type: str | None) -> bool:
    """Return whether a client sends JSON, and accepts JSON and streams."""
    if accepted is None or media_type is None or not media_type.lower().startswith("application/json"):
        return False
    headers = [(b"accept", accepted.encode("latin-1"))]
    return check_accept_headers(Request({"type": "http", "headers": headers})) == (True, True)


async def _send_json(send: Send, status: int, content: bytes, connection_id: str | None) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
    if connection_id is not None:
        headers.append((MCP_SESSION_ID_HEADER.encode(), connection_id.encode("latin-1")))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
