"""The time limits of one execution, as plain fields: one timer watches those of all executions (see `deadlines`)."""

from dataclasses import dataclass, field
from enum import StrEnum


class Due(StrEnum):
    """A time limit of an execution that has passed. Its value is the field of `TimeLimits` with the time."""

    FORCED = "forced_at"
    """The grace time of a handler that was cancelled."""
    TOTAL = "deadline"
    """The deadline of the whole execution."""
    ATTEMPT = "attempt_deadline"
    """The deadline of the current attempt."""
    BUDGET = "budget_at"
    """The inline budget, for which the caller waits."""


@dataclass(slots=True, eq=False, repr=False)
class TimeLimits:
    """The part of an execution's state that the timer reads. All times are monotonic."""

    deadline: float | None = field(default=None, init=False)
    """When the whole execution must have ended."""
    attempt_deadline: float | None = field(default=None, init=False)
    """When the current attempt must have ended."""
    budget_at: float | None = field(default=None, init=False)
    """When the caller stops waiting for an inline call."""
    forced_at: float | None = field(default=None, init=False)
    """When a handler that ignores its cancellation is given up."""

    def limits(self) -> list[float]:
        """Return the times of its limits, in any order."""
        times = (self.deadline, self.attempt_deadline, self.budget_at, self.forced_at)
        return [when for when in times if when is not None]

    def take_due(self, now: float) -> list[Due]:
        """Return the time limits that have passed, and clear them."""
        due = [limit for limit in Due if (when := getattr(self, limit)) is not None and when <= now]
        for limit in due:
            setattr(self, limit, None)
        return due

    def remaining(self, now: float) -> float | None:
        """Return the seconds until the attempt or the execution must have ended, whichever comes first."""
        times = [when for when in (self.deadline, self.attempt_deadline) if when is not None]
        return max(0.0, min(times) - now) if times else None

    def set_attempt_deadline(self, deadline: float) -> None:
        self.attempt_deadline = deadline

    def force_at(self, when: float) -> None:
        """Set when a handler that ignores its cancellation is given up."""
        self.forced_at = when
