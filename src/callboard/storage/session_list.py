"""The list of a user's sessions by activity: its order, its entries, and how far activity moves a session."""

from typing import NamedTuple

from .rows import SessionRow

ACTIVITY_STEP = 1.0
"""Seconds by which events must be newer than the stored activity to move a session.

The activity is indexed. Without a step, every event of a busy session would move its entry in that index."""


class ListPosition(NamedTuple):
    """A position in the list, which is sorted by activity and then by id."""

    active_at: float
    session_id: str


class SessionSummary(NamedTuple):
    """A session in the list."""

    row: SessionRow
    active_at: float
    """The time of its newest event, exact to `ACTIVITY_STEP`; of its creation if it has had none."""
    waiting: int
    """The number of its requests to people that can be answered."""
    running: bool
    """Whether a turn runs, or a call that does not wait for a person."""
    calls: int = 0
    """The number of its calls."""
    usage: bytes | None = None
    """The usage of its conversation, see `TurnRow.usage`; None if none is stored."""

    @property
    def position(self) -> ListPosition:
        return ListPosition(self.active_at, self.row.id)


def advance_activity(stored: float, newest: float) -> float:
    """Return the activity of a session after an event."""
    return newest if newest - stored >= ACTIVITY_STEP else stored
