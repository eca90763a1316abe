"""The record of an execution, as it stands at one moment."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .lifecycle import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRecord:
    """Everything that is known about one execution. Durations are in seconds; arguments have secret fields masked."""

    id: str
    call_id: str
    tool: str
    session_id: str
    user_id: str
    arguments: Any
    status: Status
    value: Any
    error: dict[str, Any] | None
    queued_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    queued_for: float | None
    """From the call until the first attempt."""
    ran_for: float | None
    """From the first attempt until the end, or until now."""
    attempt: int
    max_attempts: int
    previous_errors: tuple[dict[str, Any], ...]
    """Of the attempts that were followed by another, oldest first."""
    promoted: bool
    """Whether it outlasted its inline budget."""
    parent_id: str | None
    """The execution whose handler made this call, if one did."""
