"""Limits of a handshake's messages, which a connection keeps for as long as it lives: the description of its client."""

import logging

from mcp import types
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from pydantic_core import to_json
from starlette.requests import Request

from ...jsonrules.value_count import exceeds_values
from .connections import Context

log = logging.getLogger(__name__)

MAX_BYTES = 64 * 1024
MAX_VALUES = 1_000
"""JSON values, because a value takes more memory than its text."""

_METHODS = {"initialize", "notifications/initialized"}


async def limit_handshake(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Middleware that refuses large messages of a handshake: a request with `MCPError`, a notification with a log."""
    if ctx.method not in _METHODS:
        return await call_next(ctx)
    request: Request | None = ctx.request
    text = to_json(ctx.params) if request is None else await request.body()
    if len(text) <= MAX_BYTES and not exceeds_values(text, MAX_VALUES):
        return await call_next(ctx)
    problem = f"The message {ctx.method} may have {MAX_BYTES:,} bytes and {MAX_VALUES:,} JSON values."
    if ctx.request_id is not None:
        raise MCPError(types.INVALID_PARAMS, problem)
    log.warning("ignored a notification: %s", problem)
    return None
