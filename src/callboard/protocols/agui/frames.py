"""AG-UI events as server-sent events.

Each function returns the bytes of a frame. Frames are written by hand, because the models of `ag_ui.core` take ten
times as long; a test validates each frame with its model.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json

HEARTBEAT = b":\n\n"
"""A comment that keeps proxies from closing a quiet run."""


def _frame(kind: str, fields: Mapping[str, Any]) -> bytes:
    return b"data: %b\n\n" % to_json({"type": kind, **fields}, inf_nan_mode="null")


# Runs


def run_started(thread_id: str, run_id: str, version: str | None) -> bytes:
    fields: dict[str, Any] = {"threadId": thread_id, "runId": run_id}
    return _frame("RUN_STARTED", fields if version is None else {**fields, "protocolVersion": version})


def run_finished(thread_id: str, run_id: str, ended: Mapping[str, Any], usage: Sequence[Mapping[str, Any]]) -> bytes:
    """Write the end of a run; `ended` has its outcome or result."""
    fields: dict[str, Any] = {"threadId": thread_id, "runId": run_id, **ended}
    return _frame("RUN_FINISHED", fields if not usage else {**fields, "usage": usage})


def run_error(message: str, code: str) -> bytes:
    return _frame("RUN_ERROR", {"message": message, "code": code})


# Messages


def text_start(message_id: str, role: str = "assistant") -> bytes:
    return _frame("TEXT_MESSAGE_START", {"messageId": message_id, "role": role})


def text_content(message_id: str, delta: str) -> bytes:
    return b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":%b,"delta":%b}\n\n' % (
        to_json(message_id),
        to_json(delta),
    )


def text_end(message_id: str) -> bytes:
    return _frame("TEXT_MESSAGE_END", {"messageId": message_id})


def tool_call(call_id: str, name: str, arguments: str, parent: str) -> bytes:
    """Write a whole call: start, arguments as JSON, end."""
    start = {"toolCallId": call_id, "toolCallName": name, "parentMessageId": parent}
    return b"%b%b%b" % (
        _frame("TOOL_CALL_START", start),
        _frame("TOOL_CALL_ARGS", {"toolCallId": call_id, "delta": arguments}),
        _frame("TOOL_CALL_END", {"toolCallId": call_id}),
    )


def tool_result(message_id: str, call_id: str, content: str) -> bytes:
    fields = {"messageId": message_id, "toolCallId": call_id, "content": content, "role": "tool"}
    return _frame("TOOL_CALL_RESULT", fields)


# Snapshots and activities


def messages_snapshot(messages: Sequence[Mapping[str, Any]]) -> bytes:
    return _frame("MESSAGES_SNAPSHOT", {"messages": messages})


def state_snapshot(state: Any) -> bytes:
    return _frame("STATE_SNAPSHOT", {"snapshot": state})


def activity_snapshot(message_id: str, kind: str, content: Mapping[str, Any]) -> bytes:
    return _frame("ACTIVITY_SNAPSHOT", {"messageId": message_id, "activityType": kind, "content": content})


def activity_delta(message_id: str, kind: str, changed: Mapping[str, Any]) -> bytes:
    """Write the fields of an activity that are new or changed."""
    patch = [{"op": "add", "path": f"/{name}", "value": value} for name, value in changed.items()]
    return _frame("ACTIVITY_DELTA", {"messageId": message_id, "activityType": kind, "patch": patch})
