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

REPLACEMENTS: Mapping[Status, tuple[Status, ...]] = dict.fromkeys(Status, (Status.FAILED,))
"""What may be stored instead of a state whose data the store refused.

Nothing of the refused change is stored: there the execution is unfinished or unknown, and may fail, also if it has
ended in this process. An end is final as soon as it is stored.
"""

for _status, _moves in TRANSITIONS.items():
    _status.moves = _moves

UNFINISHED: Mapping[str, Status] = {status.value: status for status in Status if not status.terminal}
"""The states in which another process may continue a stored execution, by their stored values."""


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


def replace_refused(refused: Status, target: Status) -> Status:
    """Return the target, instead of a state that the store refused with its data. Raises `IllegalTransition`."""
    if target not in REPLACEMENTS[refused]:
        raise IllegalTransition(refused, target)
    return target


class StatusInvalid(CallboardError):
    """A stored execution cannot be continued, because its status is not one of an unfinished execution."""

    code = "status_invalid"

    def __init__(self, stored: str) -> None:
        super().__init__(
            f"An unfinished execution is stored with the status {stored!r}, which must be one of: "
            f"{', '.join(UNFINISHED)}. Restore the store from a backup."
        )


def restore_status(stored: str) -> Status:
    """Return the status with which a stored execution continues. Raises `StatusInvalid` unless it is unfinished."""
    if (status := UNFINISHED.get(stored)) is None:
        raise StatusInvalid(stored)
    return status


class Phase(IntEnum):
    """The steps in which an execution begins. Each of them but the first has an event."""

    NEW = 0
    CALLED = 1
    VALIDATED = 2
    EXECUTING = 3
