"""Capabilities of a client that a tool requires. A client without them gets an error that names them."""

from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY

from ...tools.definition import Tool
from .client_inputs import ELICIT, SAMPLE, methods_of
from .connections import TASKS, Context, supports_tasks

TASK_REQUIRED = "mcp-task-required"
ELICITATION_REQUIRED = "mcp-elicitation-required"
SAMPLING_REQUIRED = "mcp-sampling-required"
"""Tags of tools that only clients with the capability may call."""


def check_capabilities(ctx: Context, tool: Tool) -> None:
    """Raise `MCPError` if the client of a request lacks a capability that a tool requires."""
    if not tool.tags:
        return
    methods = methods_of(ctx)
    if TASK_REQUIRED in tool.tags and not supports_tasks(ctx):
        raise missing_capability({"extensions": {TASKS: {}}})
    if ELICITATION_REQUIRED in tool.tags and ELICIT not in methods:
        raise missing_capability({"elicitation": {}})
    if SAMPLING_REQUIRED in tool.tags and SAMPLE not in methods:
        raise missing_capability({"sampling": {}})


def missing_capability(required: Mapping[str, Any]) -> MCPError:
    """Return the error for a client that lacks capabilities."""
    message = f"The client must declare the capability: {', '.join(required)}."
    return MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, message, {"requiredCapabilities": required})
