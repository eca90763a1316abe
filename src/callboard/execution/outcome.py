"""What a caller is told about a call: how it ended, or that it goes on."""

from enum import StrEnum
from typing import Any, NamedTuple

from pydantic_core import from_json

from ..errors import ToolError
from ..tools.document import shorten

QUEUED = "queued"
"""The status that an acknowledgement has while the call waits for a free place."""


MAX_REPR = 1_000
"""How many characters of a value `repr(outcome)` shows."""


class OutcomeStatus(StrEnum):
    """How a call stands for its caller."""

    SUCCEEDED = "succeeded"
    """It gave a value."""
    FAILED = "failed"
    """It gave an error."""
    CANCELLED = "cancelled"
    """It was stopped."""
    STARTED = "started"
    """It goes on, or is queued (see `Outcome.queued`); the value is the acknowledgement, the result comes later."""
    WAITING = "waiting"
    """It waits for a person; the value is the acknowledgement."""


class Outcome(NamedTuple):
    """The answer to a call. `value` is JSON data, `error` says why there is none."""

    status: OutcomeStatus
    execution_id: str
    call_id: str
    tool: str
    result_json: bytes | None = None
    """The value as JSON, as it was written once."""
    error: ToolError | None = None

    def __repr__(self) -> str:
        result = f"value={shorten(repr(self.value), MAX_REPR)}" if self.error is None else f"error={self.error!r}"
        return (
            f"Outcome(status={self.status.value!r}, tool={self.tool!r}, execution_id={self.execution_id!r}, {result})"
        )

    @property
    def value(self) -> Any:
        """The result, or the acknowledgement of a call that goes on; None for an error."""
        return None if self.result_json is None else from_json(self.result_json)

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.status not in (OutcomeStatus.STARTED, OutcomeStatus.WAITING)

    @property
    def queued(self) -> bool:
        """Whether the call waited for a free place and had not begun, when this was said."""
        return self.status is OutcomeStatus.STARTED and self.value["status"] == QUEUED
