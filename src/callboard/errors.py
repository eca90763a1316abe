"""Every error that Callboard raises, and what each category of failure means.

One root, `CallboardError`, with a stable `code`. `ToolError` is the only one that a model reads: its message is written
for the model and holds nothing of the host. What operators need (the foreign exception, its text) travels beside it, in
`report` and `__cause__`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class ErrorCategory(StrEnum):
    """Why a call failed, in terms that decide what happens next."""

    VALIDATION = "validation"
    """The arguments do not fit the tool's input."""
    EXECUTION = "execution"
    """The handler failed in a way that says nothing about another try."""
    TIMEOUT = "timeout"
    """An attempt or the whole execution took too long."""
    CANCELLED = "cancelled"
    """Someone asked for it to stop."""
    TRANSIENT = "transient"
    """Something outside failed for the moment: a connection, a server's 5xx."""
    PERMANENT = "permanent"
    """The same call will fail again."""
    RATE_LIMITED = "rate_limited"
    """Refused for now, before anything was done."""
    PERMISSION = "permission"
    """The caller, or Callboard, is not allowed to do this."""
    NOT_FOUND = "not_found"
    """The tool, or the thing that it was asked for, does not exist."""
    RESOURCE = "resource"
    """Memory, disk, a queue or a limit is exhausted."""
    CONFIGURATION = "configuration"
    """The tool is not set up: a missing key, extra or connection."""
    INTERRUPTED = "interrupted"
    """The process died while it ran; whether it took effect is not known."""
    UNKNOWN = "unknown"
    """Nothing better is known."""


class CategoryRule(NamedTuple):
    """What follows from a category when the error itself does not say otherwise."""

    retryable: bool
    reported: bool
    """Whether operators are told: faults of the host are, mistakes of a caller are not."""
    message: str
    """What the model reads when only the category is fit for it."""


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
    ErrorCategory.NOT_FOUND: CategoryRule(False, False, "What was asked for does not exist."),
    ErrorCategory.RESOURCE: CategoryRule(False, True, "A limit of the system has been reached."),
    ErrorCategory.CONFIGURATION: CategoryRule(
        False, True, "The tool is not set up correctly; a person must look at it."
    ),
    ErrorCategory.INTERRUPTED: CategoryRule(
        False, True, "The system stopped while the tool ran. It is not known whether the call took effect."
    ),
    ErrorCategory.UNKNOWN: CategoryRule(False, True, "The tool failed for an unknown reason."),
}
"""The rule of every category. Policies read it; nothing else decides what a category means."""


class CallboardError(Exception):
    """The root of all errors of Callboard."""

    code = "error"


class RegistrationError(CallboardError):
    """A tool cannot be made or registered as it is written. The message says what to change."""

    code = "registration"


class SchemaError(CallboardError):
    """A dialect cannot express a type. `path` is the property, `dialect` the one that refused."""

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
    """A runtime, or one of its sessions, is used before `async with` has entered it or after it has ended."""

    code = "runtime_not_open"


class ToolError(CallboardError):
    """A call failed. Raise it from a handler to say how, in words that the model can act on.

    `category` decides the defaults of `CATEGORIES`. `retryable=True` is the handler's word that nothing was done, so
    that another attempt is safe even for a tool that is not idempotent. `retry_after` is in seconds. `details` is JSON
    data for the model. `report` is for operators and never shown to a model.
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
        self.message = message
        self.category = ErrorCategory(category)
        self.retryable = retryable
        self.retry_after = retry_after
        self.details = details
        self.report = report
        self.origin: str | None = None
        """Where in the code it happened, of one that is kept: a file and a line. For operators too."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, category={self.category.value!r})"

    @property
    def may_retry(self) -> bool:
        """The handler's word if it gave one, else the category's rule."""
        return CATEGORIES[self.category].retryable if self.retryable is None else self.retryable

    def to_model(self) -> dict[str, Any]:
        """The error as JSON data for a model: category, message and, where there are any, details and waiting time."""
        shown: dict[str, Any] = {"category": self.category.value, "message": self.message}
        if self.details is not None:
            shown["details"] = self.details
        if self.retry_after is not None:
            shown["retry_after"] = self.retry_after
        return shown
