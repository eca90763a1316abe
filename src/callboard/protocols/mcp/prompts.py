"""Prompts: messages that a client's user chooses. A tool with `as_prompt` makes them, and a usage rule is one.

Such a tool is called through the session like any other; its result is the messages, in the name of the user.
"""

from typing import Any, cast

from mcp import types
from mcp.shared.exceptions import MCPError

from ...execution.outcome import Outcome
from ...schemas.dialects import mcp_icons
from ...sessions.session import Session
from ...shortening import shorten
from ...tools.definition import Tool
from ...tools.schema_preparation import prepare_schemas
from ...types import JSONSchema
from .call_results import raise_error
from .cancellations import Cancellations
from .connections import Connections, Context
from .paging import page_of
from .tool_call import ToolCall
from .tool_list import UNCACHED

USAGE = "usage_of_"
"""The beginning of the name of a prompt that is the usage rule of a tool."""


class Prompts:
    """Handles `prompts/list` and `prompts/get`."""

    def __init__(self, connections: Connections, cancellations: Cancellations) -> None:
        self._connections = connections
        self._cancellations = cancellations

    async def list(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        """List the prompts that the session sees."""
        tools = (await self._connections.session(ctx)).tools().tools
        await prepare_schemas(tool for tool in tools if tool.as_prompt)
        found = [
            *(_described(tool) for tool in tools if tool.as_prompt),
            *(_rule(tool) for tool in tools if tool.usage),
        ]
        page, following = page_of(found, params.cursor, lambda each: each["name"])
        return {**UNCACHED, "prompts": page, **following}

    async def get(self, ctx: Context, params: types.GetPromptRequestParams) -> dict[str, Any]:
        """Make the messages of a prompt. Raises `MCPError` for an unknown prompt, or if its tool fails."""
        session = await self._connections.session(ctx)
        tool = find_prompt(session, params.name)
        if tool is None:
            ruled = session.tools().get(params.name.removeprefix(USAGE))
            if ruled is None or not ruled.usage or not params.name.startswith(USAGE):
                raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {shorten(params.name, 80)}")
            return _messages([{"type": "text", "text": ruled.usage}], f"How to use {ruled.name}")

        def finish(outcome: Outcome) -> dict[str, Any]:
            raise_error(outcome)
            text = outcome.value if isinstance(outcome.value, str) else (outcome.result_json or b"").decode()
            return _messages(tool.content(outcome.value) or [{"type": "text", "text": text}], tool.description)

        call = ToolCall(ctx, session, tool, self._connections, self._cancellations, finish)
        return await call.run(params.arguments or {}, params.request_state)


def find_prompt(session: Session, name: str) -> Tool | None:
    """Return the tool behind a prompt of a session."""
    tool = session.tools().get(name)
    return tool if tool is not None and tool.as_prompt else None


def _messages(blocks: list[dict[str, Any]], description: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": block} for block in blocks]
    return {"resultType": "complete", "description": description, "messages": messages}


def _described(tool: Tool) -> dict[str, Any]:
    schema = tool.input_schema
    required = schema.get("required", ())
    properties = cast("dict[str, JSONSchema]", schema["properties"])
    arguments = [
        {"name": name, "description": each.get("description", ""), "required": name in required}
        for name, each in properties.items()
    ]
    described = {"name": tool.name, "title": tool.title, "description": tool.description, "arguments": arguments}
    return {**described, **mcp_icons(tool)}


def _rule(tool: Tool) -> dict[str, Any]:
    description = f"The rule on when to use {tool.name}"
    return {
        "name": f"{USAGE}{tool.name}",
        "title": f"Usage of {tool.title}",
        "description": description,
        "arguments": [],
    }
