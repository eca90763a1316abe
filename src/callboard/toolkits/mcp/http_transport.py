"""The HTTP transports: the SDK's, with headers and a size limit for responses."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from .address import HttpAddress
from .stdio_transport import MAX_MESSAGE

TIMEOUT = httpx2.Timeout(30.0, read=None)
"""Limits for connecting and sending. A response may take as long as the call may: each call has its own limit."""


class LimitedTransport(httpx2.AsyncBaseTransport):
    """Ends a response that is not a stream of events above the limit. The SDK limits the events of a stream."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, longest: int) -> None:
        self._inner = inner
        self._longest = longest

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _LimitedStream(cast("httpx2.AsyncByteStream", response.stream), self._longest)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, longest: int) -> None:
        self._inner = inner
        self._longest = longest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > self._longest:
                raise httpx2.ReadError(f"the response has more than {self._longest:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def http_transport(address: HttpAddress) -> AsyncGenerator[tuple[Any, Any]]:
    """Connect to a server at a URL. Yields the streams of its messages."""
    if address.transport == "sse":
        async with sse_client(address.url, headers=dict(address.headers), auth=address.auth) as streams:
            yield streams
        return
    limited = LimitedTransport(httpx2.AsyncHTTPTransport(), MAX_MESSAGE)
    async with (
        httpx2.AsyncClient(
            headers=dict(address.headers), auth=address.auth, timeout=TIMEOUT, transport=limited
        ) as client,
        streamable_http_client(address.url, http_client=client, max_sse_event_size=MAX_MESSAGE) as streams,
    ):
        yield streams
