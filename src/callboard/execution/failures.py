"""The failures that the runtime itself speaks of, how any failure is shown, and who is told of it."""

import logging
from pathlib import Path
from types import TracebackType

from pydantic_core import PydanticSerializationError, to_json

from ..categories import members
from ..errors import CATEGORIES, ErrorCategory, ToolError
from ..jsonrules.depth import MAX_DEPTH, exceeds_depth
from ..jsonrules.readability import check_readability
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


class NestedFailure(ToolError):
    """Why a call failed that a handler makes, as that handler sees it."""

    def __init__(self, tool: str, error: ToolError) -> None:
        super().__init__(
            error.message,
            category=error.category,
            retry_after=error.retry_after,
            details=error.details,
            report=error.report,
        )
        self.tool = tool

    def for_caller(self) -> ToolError:
        """The same as a failure of the handler that made the call and let this pass.

        That nothing was done, or what was wrong with the arguments, was said of the inner call only: the handler may
        have done much before it, and whoever called the handler knows nothing of those arguments.
        """
        category = _OUTSIDE.get(self.category, self.category)
        if category is ErrorCategory.EXECUTION:
            said = f"{self.tool}, which the tool calls, failed: {self.message}"
            return ToolError(said, category=category, report=self.report and f"{self.tool}: {self.report}")
        return ToolError(
            self.message, category=category, retry_after=self.retry_after, details=self.details, report=self.report
        )


_OUTSIDE = {
    ErrorCategory.RATE_LIMITED: ErrorCategory.TRANSIENT,
    ErrorCategory.VALIDATION: ErrorCategory.EXECUTION,
    ErrorCategory.NOT_FOUND: ErrorCategory.EXECUTION,
    ErrorCategory.CANCELLED: ErrorCategory.EXECUTION,
}
"""What categories of an inner call that say something about that call only are for the one around it."""


def conflict(known: Execution, name: str) -> Outcome:
    """The outcome of a call whose id was used before, for something else."""
    error = call_id_conflict(known.call_id, known.name)
    return Outcome(OutcomeStatus.FAILED, known.id, known.call_id, name, None, error)


class CallIdConflict(ToolError):
    """A call id was used before, for something else."""


def call_id_conflict(call_id: str, name: str) -> CallIdConflict:
    """An id was used before, for something else."""
    return CallIdConflict(
        f"The call id {call_id!r} was used before, for {name} with other arguments. Use a new id.",
        category=ErrorCategory.VALIDATION,
    )


def presentable(error: ToolError) -> tuple[ToolError, bytes]:
    """An error and what is shown of it. One that cannot be written as JSON loses what is in the way of that."""
    try:
        shown = to_json(error.to_model(), inf_nan_mode="null")
        if exceeds_depth(shown, MAX_DEPTH):
            raise ValueError("nested too deeply")
        check_readability(shown)
        return error, shown
    except (PydanticSerializationError, ValueError, RecursionError):
        message = str(error.message).encode(errors="replace").decode()
        told = f"{error.report or message} (its details cannot be written as JSON)"
        kept = ToolError(message, category=error.category, retryable=error.retryable, report=told)
        return kept, to_json(kept.to_model())


def detach(error: ToolError) -> None:
    """Cut an error that is kept off the frames through which it came: they hold all that the handler had at hand.

    Where it came from stays, as text.
    """
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    for each in pending:  # it grows while it is walked
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        if each.__traceback__ is not None and (each is error.__cause__ or error.__cause__ is None):
            error.origin = _place(each.__traceback__)
        each.__traceback__ = None
        pending += [each.__cause__, each.__context__]
        pending += members(each)


def _place(trace: TracebackType) -> str:
    """The innermost line that a traceback goes through."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"


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
