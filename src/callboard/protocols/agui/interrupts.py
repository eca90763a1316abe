"""Requests to people as interrupts of a run, and the answers in a resumed run."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from ag_ui.core import ResumeEntry
from pydantic_core import from_json

from ...storage.rows import RequestRow
from ...tools.definition import Tool
from ...types import RequestPurpose
from .run_refused import RunRefused


def wants_approval(row: RequestRow) -> bool:
    """Whether a request asks for the approval of a call."""
    return row.purpose == RequestPurpose.APPROVAL


def interrupt(row: RequestRow, call_id: str | None, tool: Tool | None) -> dict[str, Any]:
    """Return a request as an interrupt with the same id."""
    written: dict[str, Any] = {"id": row.id, "reason": _reason(row), "message": _question(row, tool)}
    if call_id is not None:
        written["toolCallId"] = call_id
    written["responseSchema"] = _schema(row, tool)
    if row.expires_at is not None:
        written["expiresAt"] = datetime.fromtimestamp(row.expires_at, UTC).isoformat(timespec="milliseconds")
    written["metadata"] = {"callboard": {"kind": row.kind, "tool": row.tool, "arguments": from_json(row.payload)}}
    return written


def _reason(row: RequestRow) -> str:
    if row.purpose == RequestPurpose.WALLET:
        return "callboard:wallet_tx"
    return "tool_call" if wants_approval(row) else "input_required"


def _question(row: RequestRow, tool: Tool | None) -> str:
    title = row.tool if tool is None else tool.topic
    return f"Allow this call: {title}?" if wants_approval(row) else f"An answer is needed: {title}."


def _schema(row: RequestRow, tool: Tool | None) -> Any:
    if not wants_approval(row):
        return from_json(row.schema)
    edited: Mapping[str, Any] = {"type": "object"} if tool is None else tool.input_schema
    return {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "description": "Whether the call may run"},
            "editedArgs": {**edited, "description": "The complete arguments to run it with instead"},
            "reason": {"type": "string", "description": "The reason of a rejection, for the model"},
        },
        "required": ["approved"],
    }


def answer(entry: ResumeEntry, row: RequestRow) -> Any:
    """Return the answer of a resume entry, or None to cancel the call. Raises `RunRefused`."""
    if entry.status == "cancelled":
        if row.purpose == RequestPurpose.WALLET:
            return {"status": "rejected", "detail": "Cancelled by the person."}
        return {"approved": False, "reason": "Cancelled by the person."} if wants_approval(row) else None
    if not wants_approval(row):
        if entry.payload is None:
            raise RunRefused(f"The answer to {row.id} has no payload. See the interrupt's responseSchema.")
        return entry.payload
    payload: Any = entry.payload
    if not isinstance(payload, dict):
        raise RunRefused(f"The answer to {row.id} must be an object with `approved`: see its responseSchema.")
    given = cast("dict[str, Any]", payload)
    names = {"editedArgs": "arguments"}
    return {names.get(name, name): value for name, value in given.items() if value is not None}
