"""The SDK's server with Callboard's handlers. Its transports are `http_server` and `stdio`."""

from typing import Any

from mcp import types
from mcp.server.lowlevel.server import NotificationOptions, Server

import callboard

from ...sessions.session import live_session
from ...types import JSONSchema
from .cancellations import Cancellations
from .changes import Changes
from .completion import Completion
from .connections import TASKS, Connections, Context
from .handshake_limits import limit_handshake
from .prompts import Prompts
from .ready_connections import ReadyConnections
from .resources import Resources
from .spans import SpansWhenTraced
from .tasks import TaskParams, Tasks, TaskUpdateParams
from .tool_call import ToolCalls
from .tool_list import ToolList

INSTRUCTIONS = (
    "A call may be answered with an acknowledgement instead of a result, because it takes long or a person must "
    "decide first. Read its result later with the tool task_result."
)


class McpServer(Server[Any]):
    """The server of one process, for all its users and connections."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._changes = Changes(connections)
        super().__init__(
            "callboard",
            version=callboard.__version__,
            title="Callboard",
            instructions=INSTRUCTIONS,
            get_tool_input_schema=self._input_schema,
            on_subscriptions_listen=self._changes.listen,
        )
        self.middleware = [*(SpansWhenTraced(each) for each in self.middleware), limit_handshake]
        cancellations = Cancellations()
        self.add_request_handler("tools/list", types.PaginatedRequestParams, ToolList(connections))
        self.add_request_handler("tools/call", types.CallToolRequestParams, ToolCalls(connections, cancellations))
        self.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        prompts, resources, paged = (
            Prompts(connections, cancellations),
            Resources(connections, cancellations),
            types.PaginatedRequestParams,
        )
        self.add_request_handler("prompts/list", paged, prompts.list)
        self.add_request_handler("prompts/get", types.GetPromptRequestParams, prompts.get)
        self.add_request_handler("resources/list", paged, resources.list)
        self.add_request_handler("resources/templates/list", paged, resources.list_templates)
        self.add_request_handler("resources/read", types.ReadResourceRequestParams, resources.read)
        self.add_request_handler("resources/subscribe", types.SubscribeRequestParams, self._changes.subscribe)
        self.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, self._changes.unsubscribe)
        self.add_request_handler("completion/complete", types.CompleteRequestParams, Completion(connections))
        tasks = Tasks(connections)
        self.extensions[TASKS] = {}
        self.add_request_handler("tasks/get", TaskParams, tasks.get)
        self.add_request_handler("tasks/update", TaskUpdateParams, tasks.update)
        self.add_request_handler("tasks/cancel", TaskParams, tasks.cancel)
        self.add_notification_handler("notifications/cancelled", types.CancelledNotificationParams, cancellations)
        self.ready = ReadyConnections(self)
        self._description = self.server_info.model_dump(by_alias=True, mode="json", exclude_none=True)
        initialized = "notifications/initialized"
        self.add_notification_handler(initialized, types.NotificationParams, self._serve_connection)

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> types.ServerCapabilities:
        return super().get_capabilities(NotificationOptions(True, True, True), *args, **kwargs)

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """The description of the server for one response. It is flat, so it needs none of the SDK's deep copies."""
        return {**self._description}

    def drain(self) -> None:
        """End the streams of changes, so that their clients reconnect to another process."""
        self._changes.close()

    def _input_schema(self, name: str) -> JSONSchema | None:
        """Return the schema that tells which arguments are repeated in HTTP headers."""
        tool = self._connections.registry.get(name)
        return None if tool is None else tool.input_schema

    async def _serve_connection(self, ctx: Context, params: types.NotificationParams) -> None:
        """Serve a connection beside its requests, until it ends, which cancels this. A connection is served once."""
        if self.ready.is_new(ctx):
            with self.ready.connected(ctx):
                await self._changes.notify_connection(ctx, params)

    async def _set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        session = live_session(await self._connections.session(ctx))
        self._connections.log_levels[session] = params.level
        return types.EmptyResult()
