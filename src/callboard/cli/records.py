"""Stored rows as JSON data for programs: fields by their names, times in ISO 8601, stored JSON parsed.

Arguments are masked; the call's original document, which may hold secrets, is left out.
"""

from datetime import UTC, datetime
from typing import Any

from pydantic_core import from_json

from ..execution.lifecycle import Status
from ..sessions.answers import arguments_hash
from ..storage.api_keys import key_state
from ..storage.rows import ExecutionRow, KeyRow, RequestRow, SessionRow


def session_data(row: SessionRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "user_id": row.user_id,
        "open": row.open,
        "namespaces": _names(row.namespaces),
        "channel": row.channel,
        "allow": _names(row.allow),
        "tools": list(row.tools),
        "created_at": _time(row.created_at),
        "updated_at": _time(row.updated_at),
        "last_activity": _time(row.last_activity),
        "first_seq": row.first_seq,
        "last_seq": row.last_seq,
        "unconsumed": list(row.unconsumed),
    }


def execution_data(row: ExecutionRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "call_id": row.call_id,
        "tool": row.tool,
        "kind": row.kind,
        "status": row.status,
        "cancelling": row.cancelling,
        "attempt": row.attempt,
        "max_attempts": row.max_attempts,
        "arguments": from_json(row.display_arguments),
        "parent_id": row.parent_id,
        "queued_at": _time(row.queued_at),
        "started_at": _time(row.started_at),
        "owner": row.owner,
    }


def result_data(row: ExecutionRow) -> dict[str, Any]:
    """An ended execution: its status, and its value or error."""
    return {
        "id": row.id,
        "call_id": row.call_id,
        "tool": row.tool,
        "status": row.status,
        "value": _document(row.value),
        "error": _document(row.error),
        "completed_at": _time(row.completed_at),
    }


def request_data(row: RequestRow, now: float) -> dict[str, Any]:
    return {
        "id": row.id,
        "session_id": row.session_id,
        "user_id": row.user_id,
        "execution_id": row.execution_id,
        "kind": row.kind,
        "purpose": row.purpose,
        "tool": row.tool,
        "status": request_status(row, now),
        "payload": from_json(row.payload),
        "answer_schema": from_json(row.schema),
        "arguments_hash": arguments_hash(row),
        "answer": _document(row.answer),
        "created_at": _time(row.created_at),
        "expires_at": _time(row.expires_at),
        "answered_at": _time(row.answered_at),
    }


def request_status(row: RequestRow, now: float) -> str:
    """The status of a request: `expired` from the moment of its expiry, even if the row still says `open`."""
    expired = row.status == "open" and row.expires_at is not None and row.expires_at <= now
    return "expired" if expired else row.status


def key_data(row: KeyRow, now: float) -> dict[str, Any]:
    """A key, without its hash."""
    return {
        "id": row.id,
        "user_id": row.user_id,
        "name": row.name,
        "state": key_state(row, now),
        "created_at": _time(row.created_at),
        "expires_at": _time(row.expires_at),
        "revoked_at": _time(row.revoked_at),
        "last_used_at": _time(row.last_used_at),
    }


def awaits_person(row: ExecutionRow, requests: list[RequestRow]) -> bool:
    """Whether an execution waits for the answer to one of these requests."""
    return row.status == Status.WAITING and any(request.execution_id == row.id for request in requests)


def _time(timestamp: float | None) -> str | None:
    if timestamp is None:
        return None
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _document(document: bytes | None) -> Any:
    return None if document is None else from_json(document)


def _names(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)
