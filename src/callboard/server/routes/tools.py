"""The tools, and their manifest."""

from collections.abc import Iterable

from ...tools.definition import Tool
from ...tools.manifest import entry, manifest
from ..endpoint import ApiCall, Nothing, endpoint
from ..models import Manifest, ToolList, ToolsQuery


async def list_tools(call: ApiCall[Nothing, ToolsQuery]) -> ToolList:
    """List the tools."""
    wanted = call.query
    names = {tool.name: tool for tool in await _visible(call) if tool.name > wanted.after}
    page = sorted(names)[: wanted.limit]
    flags = call.services.runtime.registry.settings.gates
    tools = [entry(names[name], flags) for name in page]
    return ToolList(tools=tools, next=page[-1] if len(page) < len(names) else None)


async def get_manifest(call: ApiCall[Nothing, ToolsQuery]) -> Manifest:
    """Get the capability manifest."""
    made = manifest(await _visible(call), call.services.runtime.registry.settings.gates)
    return Manifest.model_validate(made)


async def _visible(call: ApiCall[Nothing, ToolsQuery]) -> Iterable[Tool]:
    """Return the tools that a session sees, or those of a session with defaults."""
    if call.query.session_id is None:
        return call.services.runtime.registry.snapshot()
    return (await call.services.find(call.query.session_id, call.user_id)).tools()


ENDPOINTS = [
    endpoint("GET", "/api/tools", list_tools, problems=(404,)),
    endpoint("GET", "/api/manifest", get_manifest, problems=(404,)),
]
