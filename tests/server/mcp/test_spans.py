"""Spans of requests, made by the SDK only while they are recorded."""

from typing import Any, cast

import pytest
from mcp.server.context import CallNext, HandlerResult
from opentelemetry.trace import ProxyTracerProvider

from callboard.protocols.mcp import spans as module
from callboard.protocols.mcp.connections import Context
from callboard.protocols.mcp.spans import SpansWhenTraced

pytestmark = pytest.mark.anyio


async def test_h4_requests_have_spans_once_there_is_a_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    now, provider, looks, made = 100.0, cast("object", ProxyTracerProvider()), 0, 0

    def look() -> object:
        nonlocal looks
        looks += 1
        return provider

    async def spans(ctx: Context, call_next: CallNext) -> HandlerResult:
        nonlocal made
        made += 1
        return await call_next(ctx)

    async def answer(ctx: Context) -> HandlerResult:
        return {"answered": True}

    monkeypatch.setattr(module, "get_tracer_provider", look)
    monkeypatch.setattr(module, "monotonic", lambda: now)
    middleware = SpansWhenTraced(cast("Any", spans))

    async def request() -> None:
        assert await middleware(cast("Any", None), answer) == {"answered": True}

    for _ in range(10):
        await request()
    assert (looks, made) == (1, 0), "a look reads the environment: it is not made for every request"
    provider = object()
    now += module.INTERVAL
    await request()
    await request()
    assert (looks, made) == (2, 2)
