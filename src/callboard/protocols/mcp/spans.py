"""Spans of requests: the SDK's middleware, left out while no spans are recorded."""

from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

from .connections import Context


class SpansWhenTraced(ServerMiddleware[Any]):
    """Middleware that applies another one, which makes spans, once the process has set a tracer provider."""

    def __init__(self, spans: ServerMiddleware[Any]) -> None:
        self._spans = spans

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if isinstance(get_tracer_provider(), ProxyTracerProvider):
            return await call_next(ctx)
        return await self._spans(ctx, call_next)
