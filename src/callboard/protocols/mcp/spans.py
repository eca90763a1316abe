"""Spans of requests: the SDK's middleware, left out while no spans are recorded."""

from time import monotonic
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

from .connections import Context

INTERVAL = 1.0
"""Seconds between two looks for a tracer provider, each of which reads the environment."""


class SpansWhenTraced(ServerMiddleware[Any]):
    """Middleware that applies another one, which makes spans, once the process has set a tracer provider."""

    def __init__(self, spans: ServerMiddleware[Any]) -> None:
        self._spans = spans
        self._is_traced = False
        self._look_at = 0.0

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if (now := monotonic()) >= self._look_at:
            self._is_traced = not isinstance(get_tracer_provider(), ProxyTracerProvider)
            self._look_at = now + INTERVAL
        return await (self._spans(ctx, call_next) if self._is_traced else call_next(ctx))
