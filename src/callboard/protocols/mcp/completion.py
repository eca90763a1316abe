"""`completion/complete`: values of an argument of a prompt or a resource, where its type is an enumeration."""

from typing import Any, cast

from mcp import types

from ...sessions.session import Session
from ...tools.definition import Tool
from ...types import JSONSchema
from .connections import Connections, Context
from .prompts import find_prompt

MAX_VALUES = 100
"""The number of values in one response, as the protocol says."""


class Completion:
    """Handles `completion/complete`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def __call__(self, ctx: Context, params: types.CompleteRequestParams) -> dict[str, Any]:
        tool = _tool(await self._connections.session(ctx), params.ref)
        properties = {} if tool is None else cast("dict[str, JSONSchema]", tool.input_schema["properties"])
        known = cast("list[Any]", properties.get(params.argument.name, {}).get("enum", []))
        typed = params.argument.value.lower()
        values = [each for each in known if isinstance(each, str) and each.lower().startswith(typed)]
        completion = {"values": values[:MAX_VALUES], "total": len(values), "hasMore": len(values) > MAX_VALUES}
        return {"resultType": "complete", "completion": completion}


def _tool(session: Session, reference: types.PromptReference | types.ResourceTemplateReference) -> Tool | None:
    if isinstance(reference, types.PromptReference):
        return find_prompt(session, reference.name)
    return next((tool for tool in session.tools() if tool.resource == reference.uri), None)
