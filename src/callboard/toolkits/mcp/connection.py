"""A connection to an MCP server that is kept: made again, with growing delays, after it is lost.

It lists the tools of the server and follows their changes. It makes no `Tool` of them: the toolset above it does. One
task, `run`, owns the transport; calls come from any task.
"""

import logging
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

import anyio
from mcp import Client, types
from mcp.client.session import ElicitationFnT
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError

import callboard
from callboard import ToolError

from .address import Address, HttpAddress, StdioAddress
from .allowance import Allowance
from .http_transport import http_transport
from .stdio_transport import printable, stdio_transport
from .task_extension import TaskExtension
from .unanswered import Unanswered
from .watched_transport import WatchedTransport

FIRST_DELAY, LONGEST_DELAY = 0.5, 60.0
"""Seconds before the first attempt to connect again, and between attempts at most."""
CLOSE_TIMEOUT = 10.0
"""Seconds that closing a lost connection may take: a server can let the request that ends the session wait."""
STOP_TIMEOUT = 2.0
"""Seconds that closing a connection may take when the toolset is left."""
STABLE_AFTER = 60.0
"""Seconds after which a connection counts as stable: the delays begin anew."""
RELIST_DELAY = 1.0
"""Seconds between two lists of the tools, however often the server says that they changed."""
MAX_TOOLS = 2_000
MAX_PAGES = 100
REST = 4
"""How long the list is not read again after a change, as a multiple of the time that the change took."""
WARNING_BURST, WARNING_RATE = 20, 1.0
"""Warnings about invalid messages that are logged at once, and per second after that."""
MAX_PROBLEM = 500
"""Characters of an error of a server that operators read."""

Sleep = Callable[[float], Awaitable[None]]


class Connection:
    """Keeps one server connected while `run` runs."""

    def __init__(
        self,
        address: Address,
        *,
        name: str,
        mode: str,
        connect_timeout: float,
        on_tools: Callable[[Sequence[types.Tool]], Awaitable[None]],
        elicit: ElicitationFnT,
        sleep: Sleep = anyio.sleep,
    ) -> None:
        self._address = address
        self._name = name
        self._mode = mode
        self._connect_timeout = connect_timeout
        self._on_tools = on_tools
        self._elicit = elicit
        self._sleep = sleep
        self._client: Client | None = None
        self._settled = anyio.Event()
        """Set when an attempt to connect has succeeded or failed."""
        self._connected = anyio.Event()
        self._lost = anyio.Event()
        self._changed = anyio.Event()
        self.problem: str | None = None
        """Why the server is not connected, for operators; None while it is."""
        self.unanswered = Unanswered()
        """The calls without a response on the present connection."""
        self._stopping = False
        self._ended = anyio.Event()
        self._warnings = Allowance(WARNING_BURST, WARNING_RATE, time.monotonic)
        self.log = logging.getLogger(f"callboard.mcp.{name}")

    # For calls

    async def client(self) -> Client:
        """Return the connected client, after waiting for it as long as connecting may take. Raises `ToolError`."""
        if self._client is None:
            with anyio.move_on_after(self._connect_timeout):
                await self._connected.wait()
        if self._client is None:
            raise ToolError(
                f"The MCP server {self._name} is not available at the moment. Nothing was done.",
                category="transient",
                retryable=True,
                report=f"{self._name}: {self.problem or 'not connected yet'}",
            )
        return self._client

    def lose(self, client: Client) -> None:
        """Drop a client's broken connection, so that a new one is established."""
        if client is self._client:
            self._disconnect()

    async def settled(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed."""
        await self._settled.wait()

    # Connecting

    async def stop(self) -> None:
        """Close the connection, if there is one, so that the server learns that its session has ended."""
        self._stopping = True
        if self._client is not None:
            self._disconnect()
            with anyio.move_on_after(STOP_TIMEOUT):
                await self._ended.wait()

    async def run(self) -> None:
        """Keep the server connected, until `stop` or the end of this task."""
        failures, self._stopping, self._ended = 0, False, anyio.Event()
        while True:
            started = anyio.current_time()
            try:
                await self._live()
                self.problem = "the connection was closed"
            except Exception as error:
                self.problem = describe(error)
            finally:
                self._disconnect()
                self._settled.set()
            if self._stopping:
                break
            failures = 1 if anyio.current_time() - started > STABLE_AFTER else failures + 1
            delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(failures - 1, 16))
            message = "the MCP server %s is not connected: %s; trying again in %.1f s"
            self.log.warning(message, self._name, self.problem, delay)
            await self._sleep(delay)
        self._ended.set()

    async def _live(self) -> None:
        """Connect, and return when the connection is lost. Raises the reason if it cannot be made."""
        self._lost, self._changed = anyio.Event(), anyio.Event()
        is_closing = False
        with anyio.CancelScope(deadline=anyio.current_time() + self._connect_timeout) as scope:
            async with self._open() as client:
                try:
                    await self._on_tools(await self._list(client))
                    scope.deadline = math.inf
                    self._client, self.problem = client, None
                    self._connected.set()
                    self._settled.set()
                    async with anyio.create_task_group() as group:
                        group.start_soon(self._follow, client)
                        await self._lost.wait()
                        group.cancel_scope.cancel()
                finally:
                    if scope.deadline == math.inf:
                        is_closing = True
                        scope.deadline = anyio.current_time() + CLOSE_TIMEOUT
        if scope.cancelled_caught and not is_closing:
            raise TimeoutError(f"it did not answer within {self._connect_timeout:g} s")

    def _disconnect(self) -> None:
        """Let calls wait for the next connection."""
        if self._client is not None:
            self._client, self._connected = None, anyio.Event()
        self._lost.set()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Client]:
        self.unanswered = Unanswered()
        client = Client(
            WatchedTransport(
                self._transport(),
                self._disconnect,
                self._sleep,
                unanswered=self.unanswered,
                is_http=isinstance(self._address, HttpAddress),
            ),
            mode=self._mode,
            cache=None,
            client_info=types.Implementation(name="callboard", version=callboard.__version__),
            elicitation_callback=self._elicit,
            message_handler=self._received,
            extensions=[TaskExtension()],
        )
        async with client:
            yield client

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        if isinstance(self._address, StdioAddress):
            return stdio_transport(self._address, self.log, self._sleep)
        return http_transport(self._address, self._sleep)

    # The list of tools

    async def _list(self, client: Client) -> list[types.Tool]:
        """Return all tools of the server. Raises `ValueError` for a list without an end."""
        tools: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            try:
                page = await client.list_tools(cursor=cursor)
            except MCPError as error:
                if error.code == types.METHOD_NOT_FOUND:  # it has only resources or prompts
                    return tools
                raise
            tools += page.tools
            if len(tools) > MAX_TOOLS:
                break
            cursor = page.next_cursor
            if cursor is None:
                return tools
        raise ValueError(f"it lists more than {MAX_TOOLS:,} tools or {MAX_PAGES} pages")

    async def _received(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed.set()
        elif isinstance(message, Exception) and self._warnings.take():
            self.log.warning("it sent something that is not a message of the protocol: %s", describe(message))

    async def _follow(self, client: Client) -> None:
        """List the tools again after each change."""
        async with anyio.create_task_group() as group:
            if client.session.initialize_result is None:
                group.start_soon(self._listen, client)
            while True:
                await self._changed.wait()
                self._changed = anyio.Event()
                started = anyio.current_time()
                try:
                    with anyio.fail_after(self._connect_timeout):
                        tools = await self._list(client)
                except (MCPError, TimeoutError, ValueError) as error:
                    self.log.warning("its tools cannot be listed: %s", describe(error))
                else:
                    await self._on_tools(tools)
                await self._sleep(max(RELIST_DELAY, REST * (anyio.current_time() - started)))

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes, as revisions without a handshake need it."""
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    if not changes.honored.tools_list_changed:
                        return
                    self._changed.set()  # a change before the subscription
                    async for _ in changes:
                        self._changed.set()
            except SubscriptionLost:
                pass
            except (MCPError, TimeoutError) as error:
                self.log.info("changes of its tools are not followed: %s", describe(error))
                return
            await self._sleep(FIRST_DELAY)


def describe(error: BaseException) -> str:
    """Describe an error for operators, on one line: of a group, its first error."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    said = printable(str(error)[:MAX_PROBLEM])
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
