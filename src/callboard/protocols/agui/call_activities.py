"""Progress of calls as activities: people see them, and the model's history does not have them."""

from typing import Any

from ...events.event import Event
from ...events.kinds import EventKind
from . import frames

ACTIVITY = "callboard.call"
"""The type of these activities."""

_SHOWN = {
    EventKind.TOOL_PROGRESS: ("stage", "fraction", "message"),
    EventKind.TOOL_PARTIAL: ("value",),
    EventKind.TOOL_RETRYING: ("attempt", "maximum", "delay"),
}
_OPENS = frozenset(_SHOWN)


class CallActivities:
    """The activities of one run. A call has one as soon as there is something to tell beside its result."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def frame(self, event: Event) -> bytes | None:
        """What an event changes, if anything."""
        kind = event.kind
        if kind not in _OPENS and kind not in (EventKind.TOOL_EXECUTING, EventKind.TOOL_RESULT):
            return None
        data = event.data
        execution_id: str = data["execution_id"]
        known = execution_id in self._shown
        if not known and kind not in _OPENS:
            return None
        changed = {"status": _status(kind, data)}
        changed |= {name: data[name] for name in _SHOWN.get(EventKind(kind), ()) if data.get(name) is not None}
        if known:
            return frames.activity_delta(f"activity-{execution_id}", ACTIVITY, changed)
        self._shown.add(execution_id)
        named = {"executionId": execution_id, "toolCallId": data["call_id"], "tool": data["tool"]}
        return frames.activity_snapshot(f"activity-{execution_id}", ACTIVITY, {**named, **changed})


def _status(kind: str, data: dict[str, Any]) -> str:
    if kind == EventKind.TOOL_RESULT:
        return str(data["status"])
    return "retrying" if kind == EventKind.TOOL_RETRYING else "executing"
