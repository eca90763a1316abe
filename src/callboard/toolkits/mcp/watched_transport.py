"""A transport that is watched: it reports its end, and limits the messages and the open requests of the server."""

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from .allowance import Allowance
from .losses import mark_sent
from .unanswered import Unanswered

MESSAGE_BURST, MESSAGE_RATE = 5_000, 1_000.0
"""Messages that are read at once, and per second after that: a server that sends more has to wait."""
MAX_REQUESTS = 64
"""Requests of a server that are not answered yet. A server that sends more is disconnected."""


class TooManyRequests(Exception):
    """The server sends requests and does not wait for the responses."""


class WatchedTransport:
    """Passes the messages of a transport on, in both directions. `on_end` is called when it has ended."""

    def __init__(
        self,
        inner: AbstractAsyncContextManager[Any],
        on_end: Callable[[], None],
        sleep: Callable[[float], Awaitable[None]],
        *,
        unanswered: Unanswered,
        is_http: bool,
    ) -> None:
        self._inner = inner
        self._on_end = on_end
        self._sleep = sleep
        self._unanswered = unanswered
        self._is_http = is_http
        self._open: Counter[str | int] = Counter()
        """The number of open requests of the server by their ids, which may repeat."""
        self._manager = self._run()

    async def __aenter__(self) -> Any:
        return await self._manager.__aenter__()

    async def __aexit__(self, *exc: Any) -> bool | None:
        return await self._manager.__aexit__(*exc)

    @asynccontextmanager
    async def _run(self) -> AsyncGenerator[tuple[Any, Any]]:
        received, messages = anyio.create_memory_object_stream[Any](0)
        async with received, messages, self._inner as (source, outgoing), anyio.create_task_group() as group:
            group.start_soon(self._pump, source, received)
            try:
                yield messages, _Outgoing(outgoing, self._unanswered, self._close_request)
            finally:
                group.cancel_scope.cancel()

    async def _pump(self, source: Any, received: Any) -> None:
        allowance = Allowance(MESSAGE_BURST, MESSAGE_RATE, anyio.current_time)
        try:
            async with received:
                async for message in source:
                    if delay := allowance.spend(1):
                        await self._sleep(delay)
                    if isinstance(message, SessionMessage):
                        self._receive(message.message)
                    await received.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            self._on_end()

    def _receive(self, message: Any) -> None:
        if isinstance(message, JSONRPCError):
            mark_sent(message.error, is_http=self._is_http)
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._unanswered.answered(message.id)
            self._settle()
        elif isinstance(message, JSONRPCRequest):
            self._open[message.id] += 1
            if self._open.total() > MAX_REQUESTS:
                raise TooManyRequests(f"it sent more than {MAX_REQUESTS} requests without waiting for the responses")
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._close_request((message.params or {}).get("requestId"))

    def _close_request(self, request_id: Any) -> None:
        if isinstance(request_id, str | int):
            self._open[request_id] -= 1
            if self._open[request_id] <= 0:
                del self._open[request_id]
            self._settle()

    def _settle(self) -> None:
        if not self._open:  # a question may be of a call whose response came right after it
            self._unanswered.settle()


class _Outgoing:
    """The stream of messages to the server, which counts calls, and reports the responses that were sent."""

    def __init__(self, inner: Any, unanswered: Unanswered, on_response: Callable[[Any], None]) -> None:
        self._inner = inner
        self._unanswered = unanswered
        self._on_response = on_response

    async def send(self, item: SessionMessage) -> None:
        if isinstance(item.message, JSONRPCRequest) and item.message.method == "tools/call":
            self._unanswered.sent(item.message.id)
        await self._inner.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._on_response(item.message.id)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> "_Outgoing":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()
