"""Notifications of changes, in both eras of the protocol: of lists, and of resources to which a client is subscribed.

Of the resources only the session's board is known to change.
"""

from collections import Counter
from collections.abc import Generator
from contextlib import aclosing, contextmanager
from typing import Any
from weakref import WeakSet

from mcp import types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from ...background_tasks import BackgroundTasks
from ...sessions.live_session import LiveSession
from ...sessions.session import live_session
from .connections import Connections, Context
from .pending_changes import PendingChanges
from .resources import BOARD

MAX_STREAMS = 64
"""The number of streams that a user may have open at once."""

_LISTS: tuple[ServerEvent, ...] = (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged())


class Changes:
    """Handles `notifications/initialized`, subscriptions to resources, and `subscriptions/listen`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._subscribed: WeakSet[LiveSession] = WeakSet()
        """The sessions to whose boards connections of the handshake era are subscribed."""
        self._connected: dict[LiveSession, PendingChanges] = {}
        """The changes for these connections. Nothing is done for the events of a session without a subscription."""
        self._streams: set[ListenHandler] = set()
        self._open: Counter[str] = Counter()
        """The number of open streams of each user."""

    # The handshake era

    async def notify_connection(self, ctx: Context, _: types.NotificationParams) -> None:
        """Notify a connection of changes. It returns when the connection ends, which cancels it."""
        session = live_session(await self._connections.session(ctx))
        with self._pending(session) as pending:
            self._connected[session] = pending
            if session in self._subscribed:
                pending.watch_board()
            try:
                async with aclosing(pending.read()) as changes:
                    async for change in changes:
                        await _notify(ctx, change)
            finally:
                del self._connected[session]

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Subscribe a connection to a resource. Only a subscription to the board is kept: no other changes."""
        session = live_session(await self._connections.session(ctx))
        if str(params.uri) == BOARD:
            self._subscribed.add(session)
            if (pending := self._connected.get(session)) is not None:
                pending.watch_board()
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """End the subscription of a connection to a resource."""
        session = live_session(await self._connections.session(ctx))
        if str(params.uri) == BOARD:
            self._subscribed.discard(session)
            if (pending := self._connected.get(session)) is not None:
                pending.leave_board()
        return types.EmptyResult()

    # The era without connections

    async def listen(self, ctx: Context, params: types.SubscriptionsListenRequestParams) -> Any:
        """Serve a stream of changes. Raises `MCPError` for too many streams."""
        session = await self._connections.session(ctx)
        if self._open[session.user_id] >= MAX_STREAMS:
            raise MCPError(types.INTERNAL_ERROR, f"You have {MAX_STREAMS} streams of changes open. Close one first.")
        bus = InMemorySubscriptionBus()
        stream = ListenHandler(bus)

        async def publish() -> None:
            try:
                with self._pending(live_session(session)) as pending:
                    pending.watch_board()
                    async with aclosing(pending.read()) as changes:
                        async for change in changes:
                            await bus.publish(change)
            finally:
                stream.close()  # without changes it would be silent; its client listens again

        self._open[session.user_id] += 1
        self._streams.add(stream)
        try:
            async with BackgroundTasks() as tasks:
                tasks.run(publish())
                return await stream(ctx, params)
        finally:
            self._streams.discard(stream)
            self._open -= Counter({session.user_id: 1})

    def close(self) -> None:
        """End all streams, so that their clients listen again at another process."""
        for stream in tuple(self._streams):
            stream.close()

    @contextmanager
    def _pending(self, session: LiveSession) -> Generator[PendingChanges]:
        """Collect changes of the lists. Meanwhile the session stays in memory."""
        pending = PendingChanges(session)
        with self._connections.registry.subscribe(lambda _: pending.add(*_LISTS)), session.board.reading():
            try:
                yield pending
            finally:
                pending.leave_board()


async def _notify(ctx: Context, change: ServerEvent) -> None:
    match change:
        case ToolsListChanged():
            await ctx.session.send_tool_list_changed()
        case PromptsListChanged():
            await ctx.session.send_prompt_list_changed()
        case ResourcesListChanged():
            await ctx.session.send_resource_list_changed()
        case ResourceUpdated(uri=uri):
            await ctx.session.send_resource_updated(uri)
