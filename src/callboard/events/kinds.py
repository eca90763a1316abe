"""The kinds of events. Kinds that a newer version knows are carried as plain strings, not refused."""

from enum import StrEnum


class EventKind(StrEnum):
    """What an entry of the board is about."""

    TOOL_STARTED = "tool_started"
    """A call was accepted: its arguments, with secret fields masked."""
    TOOL_VALIDATING = "tool_validating"
    """Its arguments are held against the tool's input."""
    TOOL_EXECUTING = "tool_executing"
    """An attempt begins: which one, of how many."""
    TOOL_PROGRESS = "tool_progress"
    """How far it is, for people."""
    TOOL_PARTIAL = "tool_partial"
    """A part of the result, for people."""
    TOOL_RETRYING = "tool_retrying"
    """An attempt failed and another will follow after a delay."""
    TOOL_RESULT = "tool_result"
    """The one terminal event of an execution: its value, or why there is none."""
    SYSTEM_NOTICE = "system_notice"
    """Something that people should know."""
