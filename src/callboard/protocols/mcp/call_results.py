"""Outcomes of calls as results of `tools/call`.

An error is a result too, which the model reads and can act on. It contains no more than the model may see.
"""

from typing import Any

from mcp import types
from mcp.shared.exceptions import MCPError
from pydantic_core import to_json

from ...errors import ErrorCategory
from ...execution.outcome import Outcome
from ...sessions.live_session import LiveSession
from ...sessions.model_view import render_text
from ...tools.definition import Tool
from .tool_list import declares_output

HOW_TO_READ = "Read the result later with the tool task_result and this execution_id; task_status reports its status."


def call_result(outcome: Outcome, tool: Tool | None, live: LiveSession, tasks: bool) -> dict[str, Any]:
    """Return the result of a call that has ended: as text, and as structured content if the tool declares an output."""
    value = outcome.value
    blocks = None if outcome.error is not None or tool is None else tool.content(value)
    if blocks is not None:
        return {"resultType": "complete", "content": blocks, "isError": False}
    text = render_text(outcome, tool, live.toolbox.view.channel)
    result = _text_result(text, is_error=outcome.error is not None)
    if outcome.error is None and tool is not None and declares_output(tool, tasks):
        is_object = (tool.output_schema or {}).get("type") == "object"
        result["structuredContent"] = value if is_object else {"result": value}
    return result


def acknowledgement_result(outcome: Outcome, tool: Tool, how_to_answer: str) -> dict[str, Any]:
    """Return the acknowledgement of a call that continues, which tells the model how to get the result.

    A client that expects structured content would refuse a result without it, unless it is marked as an error.
    """
    next_step = f"{how_to_answer} {HOW_TO_READ}".strip()
    text = to_json({**outcome.value, "next_step": next_step}).decode()
    return _text_result(text, is_error=declares_output(tool, tasks=False))


def _text_result(text: str, *, is_error: bool) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": text}], "isError": is_error}


def raise_error(outcome: Outcome) -> None:
    """Raise `MCPError` if a call failed whose result is not one of a tool: that of a prompt or a resource."""
    if (error := outcome.error) is not None:
        is_callers = error.category in (ErrorCategory.VALIDATION, ErrorCategory.NOT_FOUND)
        raise MCPError(types.INVALID_PARAMS if is_callers else types.INTERNAL_ERROR, error.message)
