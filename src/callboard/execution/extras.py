"""The fields of an execution that few executions set, kept apart so that an ordinary one stays small."""

from dataclasses import dataclass

from ..errors import ToolError
from ..storage.rows import TOOL, RequestRow


@dataclass(slots=True)
class Extras:
    """Optional state of one execution. Only `Execution` writes it."""

    kind: str = TOOL
    """`WORKER` for an execution that answers a user's request: only its answer is reported."""
    errors: tuple[ToolError, ...] = ()
    """The failures of earlier attempts, oldest first."""
    error: ToolError | None = None
    """The failure with which it ended."""
    forced_at: float | None = None
    """The monotonic time at which a handler that ignores its cancellation is given up."""
    retry_at: float | None = None
    """The time of day before which the next attempt must not begin."""
    parent_id: str | None = None
    """The parent's id, for an execution that another process began."""
    request: RequestRow | None = None
    """The request to a person that must be answered before it runs."""
    stored: bool = False
    """Whether the store has it, or is about to."""
    lost: bool = False
    """Whether another process owns it, or none."""
    settled: bool = False
    """Whether its end is stored. Until then another process may own it."""
    unloaded: bool = False
    """Whether its arguments and result are only in the store."""
    held: int = 0
    """The bytes of large arguments that count against the user's limit until it ends."""
    target: str | None = None
    """The key of the current attempt's breaker, for tools with breakers by target."""
    fingerprint: str = ""
    """The hash of the arguments that the caller sent, once it was needed."""
