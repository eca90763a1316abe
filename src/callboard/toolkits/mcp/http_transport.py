"""The HTTP transports: the SDK's, with headers and limits for responses."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from callboard.jsonrules.value_count import ValueCounter

from .address import HttpAddress
from .allowance import Allowance
from .event_values import EventValueCounter
from .losses import SESSION_GONE
from .message_size import BYTE_BURST, BYTE_RATE, MAX_MESSAGE, MAX_VALUES, TooManyValues

TIMEOUT = httpx2.Timeout(30.0, read=None)
"""Limits for connecting and sending. A response may take as long as the call may: each call has its own limit."""
STREAM_BURST, STREAM_RATE = 50, 10.0
"""Streams that are opened at once, and per second after that. A server says how soon the SDK resumes one: at once."""

_EVENTS = "text/event-stream"

Sleep = Callable[[float], Awaitable[None]]


class LimitedTransport(httpx2.AsyncBaseTransport):
    """Limits the size and the speed of responses, and how often streams are opened.

    The SDK limits the bytes of each event of a stream of events. A response is such a stream only if the request takes
    one: redirects, errors and the documents of a login are read whole.

    It asks for responses that are not compressed, and takes no others: a few kilobytes can become gigabytes.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, sleep: Sleep = anyio.sleep) -> None:
        self._inner = inner
        self._sleep = sleep
        self._allowance = Allowance(BYTE_BURST, BYTE_RATE, time.monotonic)
        self._streams = Allowance(STREAM_BURST, STREAM_RATE, time.monotonic)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET" and (delay := self._streams.spend(1)):
            await self._sleep(delay)
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.status_code == 404 and request.method == "POST" and "mcp-session-id" in request.headers:
            await response.aclose()
            gone = SESSION_GONE.model_dump_json().encode()
            return httpx2.Response(404, headers={"content-type": "application/json"}, content=gone)
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            await response.aclose()
            raise httpx2.ReadError("the response is compressed, which was not asked for")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()  # as the SDK reads it
        is_events = kind == _EVENTS and response.is_success and _EVENTS in request.headers.get("accept", "")
        if is_events:
            response.encoding = "utf-8"  # as values are counted, whatever the server declares
        stream = cast("httpx2.AsyncByteStream", response.stream)
        response.stream = _LimitedStream(stream, self._allowance, self._sleep, is_events=is_events)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _LimitedStream(httpx2.AsyncByteStream):
    """The body of a response: one message, or a stream of events with a message each."""

    def __init__(self, inner: httpx2.AsyncByteStream, allowance: Allowance, sleep: Sleep, *, is_events: bool) -> None:
        self._inner = inner
        self._allowance = allowance
        self._sleep = sleep
        self._is_events = is_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, counter = 0, EventValueCounter() if self._is_events else ValueCounter()
        async for chunk in self._inner:
            if delay := self._allowance.spend(len(chunk)):
                await self._sleep(delay)
            size += len(chunk)
            if size > MAX_MESSAGE and not self._is_events:
                raise httpx2.ReadError(f"the response has more than {MAX_MESSAGE:,} bytes")
            if counter.feed(chunk) > MAX_VALUES:
                raise httpx2.ReadError(str(TooManyValues()))
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def http_transport(address: HttpAddress, sleep: Sleep = anyio.sleep) -> AsyncGenerator[tuple[Any, Any]]:
    """Connect to a server at a URL. Yields the streams of its messages."""

    def limited_client(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        limited = LimitedTransport(httpx2.AsyncHTTPTransport(), sleep)
        return httpx2.AsyncClient(headers=headers, auth=auth, timeout=timeout or TIMEOUT, transport=limited)

    headers, auth = dict(address.headers), address.auth
    if address.transport == "sse":
        async with sse_client(address.url, headers, auth=auth, httpx_client_factory=limited_client) as streams:
            yield streams
        return
    async with (
        limited_client(headers, TIMEOUT, auth) as client,
        streamable_http_client(address.url, http_client=client, max_sse_event_size=MAX_MESSAGE) as streams,
    ):
        yield streams
