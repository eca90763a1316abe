"""The root of Callboard's errors, and the categories of failed calls.

Every error is a `CallboardError` with a stable `code`. `ToolError` is the only one that a model reads: its message is
written for the model and holds nothing of the host. Information for operators (the foreign exception, its text) is
beside it, in `report` and `__cause__`.
"""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class ErrorCategory(StrEnum):
    """Why a call failed, which decides what happens next."""

    VALIDATION = "validation"
    """The arguments do not fit the tool's input."""
    EXECUTION = "execution"
    """The handler failed in a way that says nothing about another try."""
    TIMEOUT = "timeout"
    """An attempt or the whole execution took too long."""
    CANCELLED = "cancelled"
    """The call was cancelled."""
    TRANSIENT = "transient"
    """Something outside failed for the moment: a connection, a server's 5xx."""
    PERMANENT = "permanent"
    """The same call will fail again."""
    RATE_LIMITED = "rate_limited"
    """Refused for now, before anything was done."""
    PERMISSION = "permission"
    """The caller, or Callboard, is not allowed to do this."""
    NOT_FOUND = "not_found"
    """The tool, or the thing that it looked for, does not exist."""
    RESOURCE = "resource"
    """Memory, disk, a queue or a limit is exhausted."""
    CONFIGURATION = "configuration"
    """The tool is not set up: a missing key, extra or connection."""
    INTERRUPTED = "interrupted"
    """The process died while it ran; whether it took effect is not known."""
    UNKNOWN = "unknown"
    """Nothing better is known."""


class CategoryRule(NamedTuple):
    """Defaults of a category, for errors that do not set their own."""

    retryable: bool
    reported: bool
    """Whether operators get a report: for faults of the host, not for mistakes of a caller."""
    message: str
    """Message for the model where the error's own text is not fit for it."""


CATEGORIES: Mapping[ErrorCategory, CategoryRule] = {
    ErrorCategory.VALIDATION: CategoryRule(False, False, "The arguments are not valid. Correct them and call again."),
    ErrorCategory.EXECUTION: CategoryRule(False, True, "The tool failed while it ran."),
    ErrorCategory.TIMEOUT: CategoryRule(True, True, "The tool did not finish in time."),
    ErrorCategory.CANCELLED: CategoryRule(False, False, "The call was cancelled."),
    ErrorCategory.TRANSIENT: CategoryRule(True, True, "A service that the tool needs is not available at the moment."),
    ErrorCategory.PERMANENT: CategoryRule(
        False, True, "The tool cannot carry out this call; trying again will not help."
    ),
    ErrorCategory.RATE_LIMITED: CategoryRule(True, False, "Too many requests; nothing was done. Try again later."),
    ErrorCategory.PERMISSION: CategoryRule(False, True, "This is not permitted."),
    ErrorCategory.NOT_FOUND: CategoryRule(False, False, "The requested thing does not exist."),
    ErrorCategory.RESOURCE: CategoryRule(False, True, "A limit of the system has been reached."),
    ErrorCategory.CONFIGURATION: CategoryRule(
        False, True, "The tool is not set up correctly; a person must look at it."
    ),
    ErrorCategory.INTERRUPTED: CategoryRule(
        False, True, "The system stopped while the tool ran. It is not known whether the call took effect."
    ),
    ErrorCategory.UNKNOWN: CategoryRule(False, True, "The tool failed for an unknown reason."),
}
"""The rule of every category, which policies read."""


class CallboardError(Exception):
    """The root of all errors of Callboard."""

    code = "error"


class RegistrationError(CallboardError):
    """A tool cannot be made or registered as it is written. The message says what to change."""

    code = "registration"


class SchemaError(CallboardError):
    """A dialect cannot express a type. `path` is the property, `dialect` the name of the dialect."""

    code = "schema"

    def __init__(self, message: str, *, path: str = "", dialect: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.dialect = dialect


class SettingsError(CallboardError):
    """A setting has a value that cannot be used."""

    code = "settings"


class MissingExtraError(CallboardError):
    """An optional part is used whose packages are not installed."""

    code = "missing_extra"

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} needs an optional part. Install it with: pip install "callboard[{extra}]"')
        self.extra = extra


class RuntimeNotOpen(CallboardError):
    """A runtime or session is used before `async with` has entered it, after it has ended, or in another event loop."""

    code = "runtime_not_open"


class ToolErrorInvalid(CallboardError, ValueError):
    """A `ToolError` is raised with a value that it does not have."""

    code = "tool_error"


def _category(name: Any) -> ErrorCategory:
    try:
        return ErrorCategory(name)
    except ValueError:
        known = ", ".join(ErrorCategory)
        raise ToolErrorInvalid(f"{name!r} is not a category of errors. Known: {known}.") from None


class ToolError(CallboardError):
    """A call failed. Raise it from a handler, with a message that the model can act on.

    `category` selects the defaults of `CATEGORIES`. `retryable=True` states that nothing was done, so that another
    attempt is safe even for a tool that is not idempotent. `retry_after` is in seconds. `details` is JSON data for the
    model. `report` is for operators and never shown to a model. Raises `ToolErrorInvalid` for a category that does not
    exist, and for other values that cannot be used.
    """

    code = "tool"

    def __init__(
        self,
        message: str,
        *,
        category: ErrorCategory | str = ErrorCategory.EXECUTION,
        retryable: bool | None = None,
        retry_after: float | None = None,
        details: Any = None,
        report: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message if message.__class__ is str else str(message)
        self.category = category if isinstance(category, ErrorCategory) else _category(category)
        if retryable is not None and retryable.__class__ is not bool:
            raise ToolErrorInvalid(f"retryable is {retryable!r}; it must be True, False or None.")
        if retry_after is not None and not (isinstance(retry_after, int | float) and not math.isnan(retry_after)):
            raise ToolErrorInvalid(f"retry_after is {retry_after!r}; it must be a number of seconds.")
        self.retryable = retryable
        self.retry_after = retry_after
        self.details = details
        self.report = report
        self.origin: str | None = None
        """File and line where it was raised, of an error that is kept. For operators."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, category={self.category.value!r})"

    @property
    def may_retry(self) -> bool:
        """The error's own `retryable` if it is set, otherwise the category's."""
        return CATEGORIES[self.category].retryable if self.retryable is None else self.retryable

    def to_model(self) -> dict[str, Any]:
        """Return the error as JSON data for a model: category, message and, where set, details and retry time."""
        data: dict[str, Any] = {"category": self.category.value, "message": self.message}
        if self.details is not None:
            data["details"] = self.details
        if self.retry_after is not None:
            data["retry_after"] = self.retry_after
        return data
