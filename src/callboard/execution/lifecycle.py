"""The states of an execution and the moves between them, as one table."""

from collections.abc import Mapping
from enum import StrEnum

from ..errors import CallboardError


class Status(StrEnum):
    """Where an execution is."""

    PENDING = "pending"
    """Accepted, and waiting for a free place."""
    VALIDATING = "validating"
    """Its arguments are being read."""
    EXECUTING = "executing"
    """An attempt is under way."""
    WAITING = "waiting"
    """For a person, for a retry's delay, or for a breaker."""
    SUCCEEDED = "succeeded"
    """It ended with a result."""
    FAILED = "failed"
    """It ended with an error; timed out and interrupted executions are failed too, with their own category."""
    CANCELLED = "cancelled"
    """Somebody stopped it."""

    moves: "tuple[Status, ...]"
    """Where one can go from here, by `TRANSITIONS`: a member's own copy, since looking an enum up is slow."""

    @property
    def terminal(self) -> bool:
        """Whether nothing comes after it."""
        return not self.moves


TRANSITIONS: Mapping[Status, tuple[Status, ...]] = {
    Status.PENDING: (Status.VALIDATING, Status.FAILED, Status.CANCELLED),
    Status.VALIDATING: (Status.EXECUTING, Status.WAITING, Status.FAILED, Status.CANCELLED),
    Status.EXECUTING: (Status.SUCCEEDED, Status.WAITING, Status.FAILED, Status.CANCELLED),
    Status.WAITING: (Status.EXECUTING, Status.VALIDATING, Status.SUCCEEDED, Status.FAILED, Status.CANCELLED),
    Status.SUCCEEDED: (),
    Status.FAILED: (),
    Status.CANCELLED: (),
}
"""Every move there is. What is not here cannot happen."""

for _status, _moves in TRANSITIONS.items():
    _status.moves = _moves


class IllegalTransition(CallboardError):
    """A move that the table does not have: a fault of the runtime itself."""

    code = "illegal_transition"


def move(current: Status, target: Status) -> Status:
    """The target, if the table has that move."""
    if target not in current.moves:
        raise IllegalTransition(f"an execution cannot go from {current} to {target}")
    return target
