"""Tools of MCP servers that were changed after their approval: shown, and approved."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from callboard import Registry

from .mcp_servers import load_toolkit
from .process import CommandError, Exit
from .terminal.console import note, print_json


def approve_tools(files: Sequence[str], names: Collection[str], *, every: bool) -> Exit:
    """Approve tools of the servers in files, or show the tools that were changed. Raises `CommandError`.

    Returns `Exit.FAILED` if a server is not connected, so that its tools are not known.
    """
    toolkit = load_toolkit()
    toolsets = [each for file in files for each in toolkit.mcp_toolsets(file)]
    return Exit.OK if asyncio.run(_approve(toolsets, names, every)) else Exit.FAILED


async def _approve(toolsets: list[Any], names: Collection[str], every: bool) -> bool:
    """Return whether all servers are connected."""
    async with Registry(toolsets):
        is_complete = all(each.problem is None for each in toolsets)
        changed = {f"{each.namespace}.{tool}": (each, tool) for each in toolsets for tool in sorted(each.changed)}
        for each in toolsets:
            if each.problem is not None:
                note(f"The MCP server {each.namespace} is not connected: {each.problem}.")
        if unknown := sorted(set(names) - changed.keys()):
            known = ", ".join(changed) or "none"
            raise CommandError(f"{', '.join(unknown)}: not a changed tool. Changed tools: {known}.", Exit.NOT_FOUND)
        if not names and not every:
            print_json({name: _described(*found) for name, found in changed.items()})
            return is_complete
        for name in changed if every else names:
            toolset, tool = changed[name]
            toolset.approve(tool)
            note(f"{name} is approved.")
        return is_complete


def _described(toolset: Any, tool: str) -> dict[str, Any]:
    found = toolset.definition(tool)
    return {
        "title": found.title,
        "description": found.description,
        "input_schema": found.input_schema,
        "output_schema": found.output_schema,
        "hints": found.hints.model_dump(exclude_none=True),
    }
