"""The failures that the runtime itself speaks of, how any failure is shown, and who is told of it."""

import logging

from pydantic_core import PydanticSerializationError, to_json

from ..errors import CATEGORIES, ErrorCategory, ToolError
from ..nesting import DEEPEST, is_deeper
from ..readable import check_readable
from .execution import Execution
from .outcome import Outcome, OutcomeStatus

log = logging.getLogger("callboard.execution")


def cancelled() -> ToolError:
    """Somebody stopped it."""
    return ToolError(CATEGORIES[ErrorCategory.CANCELLED].message, category=ErrorCategory.CANCELLED)


def interrupted(times: int = 1) -> ToolError:
    """The process died while it ran; and so it did several times, if it was begun again each time."""
    message = CATEGORIES[ErrorCategory.INTERRUPTED].message
    if times > 1:
        message += f" It was begun {times} times, and each time the system stopped; it is not begun again."
    return ToolError(message, category=ErrorCategory.INTERRUPTED)


def timed_out(tool: str, *, retryable: bool | None = None) -> ToolError:
    """An attempt took too long; or all of it did, and then there is no other attempt."""
    return ToolError(
        f"The tool {tool} did not finish in time. It is not known whether it took effect.",
        category=ErrorCategory.TIMEOUT,
        retryable=retryable,
    )


def conflict(known: Execution, name: str) -> Outcome:
    """The outcome of a call whose id was used before, for something else."""
    error = call_id_conflict(known.call_id, known.name)
    return Outcome(OutcomeStatus.FAILED, known.id, known.call_id, name, None, error)


def call_id_conflict(call_id: str, name: str) -> ToolError:
    """An id was used before, for something else."""
    return ToolError(
        f"The call id {call_id!r} was used before, for {name} with other arguments. Use a new id.",
        category=ErrorCategory.VALIDATION,
    )


def presentable(error: ToolError) -> tuple[ToolError, bytes]:
    """An error and what is shown of it. One that cannot be written as JSON loses what is in the way of that."""
    try:
        shown = to_json(error.to_model(), inf_nan_mode="null")
        if is_deeper(shown, DEEPEST):
            raise ValueError("nested too deeply")
        check_readable(shown)
        return error, shown
    except (PydanticSerializationError, ValueError, RecursionError):
        message = str(error.message).encode(errors="replace").decode()
        told = f"{error.report or message} (its details cannot be written as JSON)"
        kept = ToolError(message, category=error.category, retryable=error.retryable, report=told)
        return kept, to_json(kept.to_model())


def report(execution: Execution, error: ToolError) -> None:
    """Tell operators, if this is for them."""
    if CATEGORIES[error.category].reported:
        log.warning(
            "%s failed (%s) after %d attempts: %s",
            execution.name,
            error.category,
            execution.attempt,
            error.report or error.message,
            extra={"session_id": execution.scope.id, "execution_id": execution.id, "tool": execution.name},
        )
