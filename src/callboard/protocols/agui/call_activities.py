"""The progress of calls as AG-UI activities, which pages show and the model's history does not contain."""

from typing import Any

from ...events.event import Event
from ...events.kinds import EventKind
from . import frames

ACTIVITY = "callboard.call"
"""The activity type."""

_FIELDS = {
    EventKind.TOOL_PROGRESS: ("stage", "fraction", "message"),
    EventKind.TOOL_PARTIAL: ("value",),
    EventKind.TOOL_RETRYING: ("attempt", "maximum", "delay"),
}
_OPENING = frozenset(_FIELDS)


class CallActivities:
    """The activities of one run. A call gets one with its first progress, partial result or retry."""

    def __init__(self) -> None:
        self._open: set[str] = set()

    def frame(self, event: Event) -> bytes | None:
        """Return the frame for an event, or None if it changes no activity."""
        kind = event.kind
        if kind not in _OPENING and kind not in (EventKind.TOOL_EXECUTING, EventKind.TOOL_RESULT):
            return None
        data = event.data
        execution_id: str = data["execution_id"]
        is_open = execution_id in self._open
        if not is_open and kind not in _OPENING:
            return None
        changed = {"status": _status(kind, data)}
        changed |= {name: data[name] for name in _FIELDS.get(EventKind(kind), ()) if data.get(name) is not None}
        if is_open:
            return frames.activity_delta(f"activity-{execution_id}", ACTIVITY, changed)
        self._open.add(execution_id)
        call = {"executionId": execution_id, "toolCallId": data["call_id"], "tool": data["tool"]}
        return frames.activity_snapshot(f"activity-{execution_id}", ACTIVITY, {**call, **changed})


def _status(kind: str, data: dict[str, Any]) -> str:
    if kind == EventKind.TOOL_RESULT:
        return str(data["status"])
    return "retrying" if kind == EventKind.TOOL_RETRYING else "executing"
