"""Requests that get no response: the errors that report them, told apart from errors that a server sends.

Both have the same form and codes, and a server can send any text. So what a server sent is marked, and the error that
is made of HTTP 404 has data that no server knows.
"""

import secrets

from mcp import types
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, JSONRPCError

SESSION_GONE = JSONRPCError(
    jsonrpc="2.0",
    id=None,
    error=types.ErrorData(code=types.INVALID_REQUEST, message="Session terminated", data=secrets.token_hex()),
)
"""The error for a request that a server has not carried out, because it does not know the session, or no longer."""
_FROM_SERVER = object()
"""The data of an error that a server sent with the code of a loss."""
_STREAM_LOSSES = ("SSE stream ended without a response", "SSE stream ended and reconnection attempts were exhausted")
_STREAM_FAILURE = "SSE stream failed: "


def mark_sent(error: types.ErrorData, *, is_http: bool) -> None:
    """Mark an error that a server sent with the code of a loss.

    The SDK delivers the loss of a response over HTTP as if it were sent: its exact texts are not marked.
    """
    is_stream_loss = error.message in _STREAM_LOSSES or error.message.startswith(_STREAM_FAILURE)
    if error.code == CONNECTION_CLOSED and not (is_http and is_stream_loss):
        error.data = _FROM_SERVER


def is_loss(error: MCPError) -> bool:
    """Return whether no response will come, because the connection or the session is lost."""
    return is_session_gone(error) or (error.code == CONNECTION_CLOSED and error.data is not _FROM_SERVER)


def is_session_gone(error: MCPError) -> bool:
    """Return whether the server does not know the session, so that it did nothing."""
    return error.data == SESSION_GONE.error.data
