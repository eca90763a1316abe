"""The answer to a call: its result or error, or the acknowledgement of a call that continues."""

from enum import StrEnum
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from ..errors import ToolError
from ..shortening import shorten

QUEUED = "queued"
"""The status in the acknowledgement of a call that waits for a free slot."""


MAX_REPR = 1_000
"""The most characters of a value that `repr(outcome)` shows."""


class OutcomeStatus(StrEnum):
    """The state of a call for its caller."""

    SUCCEEDED = "succeeded"
    """The call returned a value."""
    FAILED = "failed"
    """The call ended with an error."""
    CANCELLED = "cancelled"
    """The call was cancelled."""
    STARTED = "started"
    """The call runs or is queued (see `Outcome.queued`). The value is the acknowledgement; the result comes later."""
    WAITING = "waiting"
    """The call waits for a person; the value is the acknowledgement."""


class Outcome(NamedTuple):
    """The answer to a call. `value` is JSON data; `error` says why there is none."""

    status: OutcomeStatus
    """The state of the call."""
    execution_id: str
    """Id of the execution, with which its result is read later.

    If the call id was used for another call, this is the execution of that call, and `error` is a validation error.
    """
    call_id: str
    """The caller's id of the call; the execution id if the caller gave none."""
    tool: str
    """Name of the tool."""
    result_json: bytes | None = None
    """The value as JSON."""
    error: ToolError | None = None
    """Why the call failed."""

    def __repr__(self) -> str:
        result = f"value={shorten(repr(self.value), MAX_REPR)}" if self.error is None else f"error={self.error!r}"
        return (
            f"Outcome(status={self.status.value!r}, tool={self.tool!r}, execution_id={self.execution_id!r}, {result})"
        )

    @property
    def value(self) -> Any:
        """The result, or the acknowledgement of a call that continues; None for an error."""
        return None if self.result_json is None else from_json(self.result_json)

    @property
    def done(self) -> bool:
        """Whether the call has ended."""
        return self.status not in (OutcomeStatus.STARTED, OutcomeStatus.WAITING)

    @property
    def queued(self) -> bool:
        """Whether the call was waiting for a free slot when this outcome was made."""
        return self.status is OutcomeStatus.STARTED and self.value["status"] == QUEUED


def acknowledgement(execution_id: str, tool: str, request_id: str | None, *, queued: bool = False) -> bytes:
    """Return what the model reads, as JSON, while a call runs, waits for a free slot, or waits for a person."""
    fields = {"status": "started", "execution_id": execution_id, "tool": tool}
    end = "Its result will be reported when it is there; do not call it again for the same purpose."
    if queued:
        message = f"It is queued and has not begun: it waits for a free slot. {end}"
        return to_json({**fields, "status": QUEUED, "message": message})
    if request_id is None:
        return to_json({**fields, "message": f"It is running. {end}"})
    message = f"A person is asked first. {end}"
    return to_json({**fields, "status": "waiting", "request_id": request_id, "message": message})
