"""`tools/list`: the tools that a session sees, in pages."""

from typing import Any

from mcp import types

from ...content import is_content
from ...tools.definition import Tool
from ...tools.schema_arguments import SchemaArguments
from ...tools.schema_preparation import prepare_schemas
from ...types import JSONSchema, Mode
from .connections import Connections, Context, supports_tasks
from .paging import page_of

UNCACHED: dict[str, Any] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""Fields of a result that a client must not use again: lists differ between users, and change."""


class ToolList:
    """Handles `tools/list`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def __call__(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        session, tasks = await self._connections.session(ctx), supports_tasks(ctx)
        tools = [tool for tool in session.tools().tools if not tool.as_prompt and tool.resource is None]
        page, following = page_of(tools, params.cursor, lambda tool: tool.name)
        await prepare_schemas(page)
        return {**UNCACHED, "tools": [_described(tool, tasks) for tool in page], **following}


def declares_output(tool: Tool, tasks: bool) -> bool:
    """Return whether the client is given the output schema of a tool.

    Content has no schema. A call of a background or human tool may be answered with an acknowledgement, which no output
    schema describes. A client that understands tasks gets a task instead.
    """
    if tool.output_schema is None or is_content(tool.output_model):
        return False
    return tasks or tool.mode is Mode.INLINE


def _described(tool: Tool, tasks: bool) -> JSONSchema:
    described = tool.shared_schema("mcp")
    if "outputSchema" in described and not declares_output(tool, tasks):
        described = {name: value for name, value in described.items() if name != "outputSchema"}
    if isinstance(tool.arguments, SchemaArguments):  # a schema that was given is passed on as it is
        described = {**described, "inputSchema": {"type": "object", **tool.arguments.schema()}}
    return described
