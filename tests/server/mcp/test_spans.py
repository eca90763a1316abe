"""Spans of requests, made by the SDK only while they are recorded."""

from typing import Any, cast

import pytest
from mcp.server.context import CallNext, HandlerResult
from opentelemetry.trace import ProxyTracerProvider

from callboard.protocols.mcp.connections import Context
from callboard.protocols.mcp.spans import SpansWhenTraced

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("is_traced", [False, True])
async def test_h4_requests_have_spans_once_there_is_a_tracer(is_traced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = object() if is_traced else ProxyTracerProvider()
    monkeypatch.setattr("callboard.protocols.mcp.spans.get_tracer_provider", lambda: provider)
    made: list[str] = []

    async def spans(ctx: Context, call_next: CallNext) -> HandlerResult:
        made.append("span")
        return await call_next(ctx)

    async def answer(ctx: Context) -> HandlerResult:
        return {}

    assert await SpansWhenTraced(cast("Any", spans))(cast("Any", None), answer) == {}
    assert made == (["span"] if is_traced else [])
