"""The states of an execution and the transitions between them, as one table."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum

from ..errors import CallboardError


class Status(StrEnum):
    """The state of an execution."""

    PENDING = "pending"
    """Accepted, and waiting for a free slot."""
    VALIDATING = "validating"
    """Its arguments are being validated."""
    EXECUTING = "executing"
    """An attempt is running."""
    WAITING = "waiting"
    """It waits for a person, for the delay before a retry, or for a breaker."""
    SUCCEEDED = "succeeded"
    """It ended with a result."""
    FAILED = "failed"
    """It ended with an error. Timed out and interrupted executions are failed too, with their own category."""
    CANCELLED = "cancelled"
    """It was cancelled."""

    moves: "tuple[Status, ...]"
    """The states that may follow, from `TRANSITIONS`: a copy on the member, since looking an enum up is slow."""

    @property
    def terminal(self) -> bool:
        """Whether no state follows."""
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
"""Every transition that is allowed."""

for _status, _moves in TRANSITIONS.items():
    _status.moves = _moves


class IllegalTransition(CallboardError):
    """A transition that the table does not allow: a bug in the runtime."""

    code = "illegal_transition"

    def __init__(self, current: Status, target: Status) -> None:
        super().__init__(f"an execution cannot go from {current} to {target}")


def move(current: Status, target: Status) -> Status:
    """Return the target. Raises `IllegalTransition` if the table does not allow that transition."""
    if target not in current.moves:
        raise IllegalTransition(current, target)
    return target


class Phase(IntEnum):
    """The steps in which an execution begins. Each of them but the first has an event."""

    NEW = 0
    CALLED = 1
    VALIDATED = 2
    EXECUTING = 3
