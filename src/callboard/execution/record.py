"""The record of an execution at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from ..storage.brief import Cut
from .lifecycle import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRecord:
    """The state of one execution. Durations are in seconds; secret fields of arguments are masked."""

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
    """Seconds from the call to the first attempt."""
    ran_for: float | None
    """Seconds from the first attempt to the end, or to now."""
    attempt: int
    max_attempts: int
    previous_errors: tuple[dict[str, Any], ...]
    """The errors of attempts that were followed by another, oldest first."""
    promoted: bool
    """Whether it took longer than its inline budget."""
    parent_id: str | None
    """The execution whose handler made this call."""


class BriefRecord(NamedTuple):
    """The record of an execution, without its long values."""

    record: ExecutionRecord
    cut: Mapping[str, Cut]
    """Values that were left out: `display_arguments` or `value`."""
