"""The failures that the runtime itself raises, and how any failure is encoded, kept and logged."""

import logging
import traceback
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from ..categories import members
from ..errors import CATEGORIES, ErrorCategory, ToolError
from ..jsonrules.depth import MAX_DEPTH, exceeds_depth
from ..jsonrules.readability import check_readability
from ..tools.definition import Tool
from .execution import Execution
from .origin import origin_of
from .outcome import Outcome, OutcomeStatus

log = logging.getLogger("callboard.execution")


def cancelled() -> ToolError:
    """Return the failure of a cancelled execution."""
    return ToolError(CATEGORIES[ErrorCategory.CANCELLED].message, category=ErrorCategory.CANCELLED)


def interrupted(times: int = 1) -> ToolError:
    """Return the failure of an execution whose process died while it ran, as often as it was started again."""
    message = CATEGORIES[ErrorCategory.INTERRUPTED].message
    if times > 1:
        message += f" It was started {times} times, and each time the system stopped; it is not started again."
    return ToolError(message, category=ErrorCategory.INTERRUPTED)


def timed_out(tool: str, *, retryable: bool | None = None) -> ToolError:
    """Return the failure of an attempt that took too long; not retryable if the whole execution did."""
    return ToolError(
        f"The tool {tool} did not finish in time. It is not known whether it took effect.",
        category=ErrorCategory.TIMEOUT,
        retryable=retryable,
    )


def not_stored() -> ToolError:
    """Return the failure of a call that the store does not take. The log has the reason."""
    message = "The call could not be stored. It may have taken effect: find out before you make it again."
    return ToolError(message, category=ErrorCategory.UNKNOWN)


def result_not_stored() -> ToolError:
    """Return the failure of a call that succeeded, but whose result the store does not take. The log has the reason."""
    message = "The tool ran, and what it did stands, but its result cannot be stored. Find out what it did before you "
    message += "call it again."
    return ToolError(message, category=ErrorCategory.UNKNOWN)


def session_deleted() -> ToolError:
    """Return the failure of a call whose session was deleted in the meantime."""
    return ToolError("The session was deleted.", category=ErrorCategory.NOT_FOUND)


class NestedFailure(ToolError):
    """The failure of a nested call, as the handler that made the call sees it."""

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
        """Return the failure of a handler that did not catch this one.

        That nothing was done, or which arguments were wrong, is true of the nested call only: the handler may have
        done much before it, and its caller does not know those arguments.
        """
        category = _OUTSIDE.get(self.category, self.category)
        if category is ErrorCategory.EXECUTION:
            message = f"{self.tool}, which the tool calls, failed: {self.message}"
            return ToolError(message, category=category, report=self.report and f"{self.tool}: {self.report}")
        return ToolError(
            self.message, category=category, retry_after=self.retry_after, details=self.details, report=self.report
        )


_OUTSIDE = {
    ErrorCategory.RATE_LIMITED: ErrorCategory.TRANSIENT,
    ErrorCategory.VALIDATION: ErrorCategory.EXECUTION,
    ErrorCategory.NOT_FOUND: ErrorCategory.EXECUTION,
    ErrorCategory.CANCELLED: ErrorCategory.EXECUTION,
}
"""The category for the caller, for categories that are true of the nested call only."""


def conflict(known: Execution, name: str) -> Outcome:
    """Return the outcome of a call whose id was used for another call."""
    error = CallIdConflict(known.call_id, known.name)
    return Outcome(OutcomeStatus.FAILED, known.id, known.call_id, name, None, error)


class CallIdConflict(ToolError):
    """A call has an id that was used for another call."""

    def __init__(self, call_id: str, name: str) -> None:
        message = f"The call id {call_id!r} was used before, for {name} with other arguments. Use a new id."
        super().__init__(message, category=ErrorCategory.VALIDATION)


def key_conflict(key: str, known: Execution) -> ToolError:
    """Return the failure of a nested call whose key was used for another call."""
    message = f"The key {key!r} was used before, for {known.name} with other arguments. Use a new key."
    return ToolError(message, category=ErrorCategory.VALIDATION)


def key_dropped(key: str) -> ToolError:
    """Return the failure of a nested call with a key that an earlier attempt may have used."""
    message = f"The call with the key {key!r} was not made: an earlier attempt may have made it, and there were too "
    message += "many calls with keys to keep them all in memory. With a store, they are found there."
    return ToolError(message, category=ErrorCategory.RESOURCE, retryable=False)


def value_of(outcome: Outcome) -> Any:
    """Return the value of a nested call that has ended. Raises its error."""
    if outcome.error is not None:
        raise NestedFailure(outcome.tool, outcome.error)
    return outcome.value


def presentable(error: ToolError) -> tuple[ToolError, bytes]:
    """Return an error and its JSON. An error that cannot be encoded loses its details."""
    try:
        error_json = to_json(error.to_model(), inf_nan_mode="null")
        if exceeds_depth(error_json, MAX_DEPTH):
            raise ValueError("nested too deeply")
        check_readability(error_json)
        return error, error_json
    except (PydanticSerializationError, ValueError, RecursionError):
        message = str(error.message).encode(errors="replace").decode()
        report = f"{error.report or message} (its details cannot be written as JSON)"
        kept = ToolError(message, category=error.category, retryable=error.retryable, report=report)
        return kept, to_json(kept.to_model())


def detach(error: ToolError, tool: Tool) -> None:
    """Remove the traceback of a tool's error that is kept, since its frames hold the handler's variables.

    Its origin stays, as text, and so does its cause. An error during whose handling it was raised goes: that of a
    validator refers to every problem of the arguments.
    """
    traces = [each.__traceback__ for each in (error.__cause__, error) if each is not None]
    if raised := [trace for trace in traces if trace is not None]:
        error.origin = origin_of(raised, None if tool.handler is None else tool.handler.function)
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    for each in pending:  # it grows during the loop
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = each.__context__ = None
        pending.append(each.__cause__)
        pending += members(each)


def log_failure(execution: Execution, error: ToolError) -> None:
    """Log a failure of a category that operators must know of, with the traceback of its cause.

    The record has the traceback as text. A log handler that keeps records would otherwise keep the handler's variables.
    """
    if not (CATEGORIES[error.category].reported and log.isEnabledFor(logging.WARNING)):
        return
    attempts = f"{execution.attempt} attempt{'' if execution.attempt == 1 else 's'}"
    arguments = (execution.name, error.category, attempts, error.report or error.message)
    about = {"session_id": execution.scope.id, "execution_id": execution.id, "tool": execution.name}
    record = log.makeRecord(log.name, logging.WARNING, __file__, 0, _FAILED, arguments, None, extra=about)
    if error.__cause__ is not None:
        record.exc_text = "".join(traceback.format_exception(error.__cause__)).rstrip()
    log.handle(record)


_FAILED = "%s failed (%s) after %s: %s"
