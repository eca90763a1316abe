"""Translation of foreign exceptions to `ToolError`, by a table that you can extend.

Classes of other libraries are listed by name, so that they need not be installed. The first class in the exception's
method resolution order that has a rule decides.
"""

import asyncio
import errno
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from .errors import CATEGORIES, ErrorCategory, ToolError

Rule: TypeAlias = ErrorCategory | str | Callable[[Any], ToolError]
"""A category, or a function that makes the `ToolError`."""

_STATUS: Mapping[int, ErrorCategory] = {
    401: ErrorCategory.PERMISSION,
    403: ErrorCategory.PERMISSION,
    404: ErrorCategory.NOT_FOUND,
    408: ErrorCategory.TIMEOUT,
    410: ErrorCategory.NOT_FOUND,
    425: ErrorCategory.TRANSIENT,
    429: ErrorCategory.RATE_LIMITED,
    501: ErrorCategory.PERMANENT,
    504: ErrorCategory.TIMEOUT,
}


def category_of_status(status: int) -> ErrorCategory:
    """Return the category of an HTTP error status."""
    return _STATUS.get(status, ErrorCategory.TRANSIENT if status >= 500 else ErrorCategory.PERMANENT)


def retry_after_seconds(value: str | None) -> float | None:
    """Parse a `Retry-After` header, a number of seconds or a date. Returns None for anything else."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        from email.utils import parsedate_to_datetime  # heavy, and rarely needed

        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(seconds, 0.0), 86_400.0) if seconds == seconds else None


def _from_status(error: Any) -> ToolError:
    response = getattr(error, "response", None)
    status = (
        getattr(error, "status_code", None) or getattr(error, "status", None) or getattr(response, "status_code", 0)
    )
    headers: Any = getattr(response, "headers", None) or getattr(error, "headers", None)
    category = category_of_status(status) if isinstance(status, int) and status else ErrorCategory.TRANSIENT
    after: Any = None if headers is None else headers.get("retry-after") or headers.get("Retry-After")
    answered = f" responded with HTTP status {status}" if status else " did not respond"
    return ToolError(
        f"A service that the tool uses{answered}. {CATEGORIES[category].message}",
        category=category,
        retry_after=retry_after_seconds(after if isinstance(after, str) else None),
    )


def _from_system(error: OSError) -> ToolError:
    return _of_category(ErrorCategory.RESOURCE if error.errno in _EXHAUSTED else ErrorCategory.EXECUTION)


_EXHAUSTED = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM})

_DEFAULT_RULES: Mapping[type[BaseException] | str, Rule] = {
    TimeoutError: ErrorCategory.TIMEOUT,
    asyncio.CancelledError: ErrorCategory.CANCELLED,
    ConnectionError: ErrorCategory.TRANSIENT,
    PermissionError: ErrorCategory.PERMISSION,
    FileNotFoundError: ErrorCategory.NOT_FOUND,
    OSError: _from_system,
    MemoryError: ErrorCategory.RESOURCE,
    RecursionError: ErrorCategory.RESOURCE,
    NotImplementedError: ErrorCategory.CONFIGURATION,
    ImportError: ErrorCategory.CONFIGURATION,
    "socket.gaierror": ErrorCategory.TRANSIENT,
    "ssl.SSLError": ErrorCategory.TRANSIENT,
    "pydantic_core.ValidationError": ErrorCategory.EXECUTION,
    "httpx.TimeoutException": ErrorCategory.TIMEOUT,
    "httpx.TransportError": ErrorCategory.TRANSIENT,
    "httpx.HTTPStatusError": _from_status,
    "httpx2.TimeoutException": ErrorCategory.TIMEOUT,
    "httpx2.TransportError": ErrorCategory.TRANSIENT,
    "httpx2.HTTPStatusError": _from_status,
    "requests.Timeout": ErrorCategory.TIMEOUT,
    "requests.ConnectionError": ErrorCategory.TRANSIENT,
    "requests.HTTPError": _from_status,
    "aiohttp.ServerTimeoutError": ErrorCategory.TIMEOUT,
    "aiohttp.ClientConnectionError": ErrorCategory.TRANSIENT,
    "aiohttp.ClientResponseError": _from_status,
    "urllib.HTTPError": _from_status,
    "urllib.URLError": ErrorCategory.TRANSIENT,
    "openai.APITimeoutError": ErrorCategory.TIMEOUT,
    "openai.APIConnectionError": ErrorCategory.TRANSIENT,
    "openai.APIStatusError": _from_status,
    "pydantic_ai.ModelRetry": lambda error: ToolError(error.message, category=ErrorCategory.VALIDATION),
    "pydantic_ai.ToolFailed": lambda error: ToolError(error.message, category=ErrorCategory.PERMANENT),
    "anthropic.APITimeoutError": ErrorCategory.TIMEOUT,
    "anthropic.APIConnectionError": ErrorCategory.TRANSIENT,
    "anthropic.APIStatusError": _from_status,
}


class ErrorTable:
    """Rules that map exception classes, or their names (`package.Class`), to categories. Immutable."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Mapping[type[BaseException] | str, Rule] = _DEFAULT_RULES) -> None:
        self._rules = MappingProxyType(
            {key: rule if callable(rule) else ErrorCategory(rule) for key, rule in rules.items()}
        )

    def extended(self, rules: Mapping[type[BaseException] | str, Rule]) -> "ErrorTable":
        """Return a table with additional rules, which take precedence."""
        return ErrorTable({**self._rules, **rules})

    def translate(self, error: BaseException) -> ToolError:
        """Translate any exception to a `ToolError` whose message reveals nothing about the host."""
        if isinstance(error, ToolError):
            return error
        if len(inner := members(error)) == 1:
            return self.translate(inner[0])
        try:
            rule = self._find(type(error))
            made = rule(error) if callable(rule) else _of_category(ErrorCategory(rule))
            made.report = made.report or _described(error)
        except BaseException:  # a rule that fails must not hide the original failure
            made = _of_category(ErrorCategory.UNKNOWN)
            made.report = _described(error)
        made.__cause__ = error
        return made

    def _find(self, cls: type[BaseException]) -> Rule:
        for base in cls.__mro__:
            package = base.__module__.partition(".")[0]
            for key in (base, f"{package}.{base.__qualname__}", f"{base.__module__}.{base.__qualname__}"):
                if (rule := self._rules.get(key)) is not None:
                    return rule
        return ErrorCategory.EXECUTION


def members(error: BaseException) -> tuple[BaseException, ...]:
    """Return the members of an exception group, or an empty tuple for another exception."""
    return cast("BaseExceptionGroup[BaseException]", error).exceptions if isinstance(error, BaseExceptionGroup) else ()


def _of_category(category: ErrorCategory) -> ToolError:
    return ToolError(CATEGORIES[category].message, category=category)


def _described(error: BaseException) -> str:
    """Describe an exception for operators, even if its `__str__` fails."""
    try:
        return f"{type(error).__qualname__}: {error}"
    except BaseException:
        return type(error).__qualname__


DEFAULT_ERRORS = ErrorTable()
"""The default table of a registry."""
