"""Retry and circuit breaker policies of a tool. Records only: `execution` makes the decisions."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from ..checks import Check
from ..errors import CallboardError, ErrorCategory
from ..spelling import known_names


class BackoffStrategy(StrEnum):
    """The growth of the delay between attempts. `max_delay` caps every delay."""

    FIXED = "fixed"
    """Always the base delay."""
    LINEAR = "linear"
    """Base, twice the base, three times the base."""
    EXPONENTIAL = "exponential"
    """Base, times the multiplier, times the multiplier again."""
    EXPONENTIAL_JITTER = "exponential_jitter"
    """A random delay up to the exponential one, so that many callers do not retry at the same time."""


class PolicyError(CallboardError, ValueError):
    """A policy has an invalid value."""

    code = "policy"


_check = Check(PolicyError)
E = TypeVar("E", bound=StrEnum)


def _member(what: str, value: str, kind: type[E]) -> E:
    """Return the member of an enumeration. Raises `PolicyError` with the known ones."""
    try:
        return kind(value)
    except ValueError:
        raise PolicyError(f"{value!r} is not {what}. {known_names(str(value), kind)}") from None


DEFAULT_RETRY_ON = frozenset({ErrorCategory.TRANSIENT, ErrorCategory.TIMEOUT, ErrorCategory.RATE_LIMITED})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of attempts, and the delays between them."""

    max_attempts: int = 3
    """The number of attempts, the first included."""
    base_delay: float = 1.0
    """Seconds before the second attempt."""
    max_delay: float = 30.0
    """The longest delay in seconds. An error with a longer `retry_after` is not retried."""
    multiplier: float = 2.0
    """The factor by which an exponential delay grows with each attempt."""
    strategy: BackoffStrategy | str = BackoffStrategy.EXPONENTIAL_JITTER
    """How delays grow."""
    retry_on: Collection[ErrorCategory | str] = DEFAULT_RETRY_ON
    """The categories of errors after which a safe call is attempted again."""

    def __post_init__(self) -> None:
        _check.count("max_attempts", self.max_attempts, least=1)
        _check.seconds("base_delay", self.base_delay, least=0)
        _check.seconds("max_delay", self.max_delay, least=0)
        _check.number("multiplier", self.multiplier, least=1)
        object.__setattr__(self, "strategy", _member("a strategy", self.strategy, BackoffStrategy))
        given = _check.texts("retry_on", self.retry_on)
        categories = (_member("a category in retry_on", category, ErrorCategory) for category in given)
        object.__setattr__(self, "retry_on", frozenset(categories))


class BreakerScope(StrEnum):
    """The calls of a tool that share a circuit breaker."""

    TOOL = "tool"
    """All calls."""
    USER = "user"
    """The calls of one user."""
    SESSION = "session"
    """The calls of one session."""
    TARGET = "target"
    """The calls of all users to one target, such as a host."""
    USER_TARGET = "user_target"
    """The calls of one user to one target, so that no user can block a target for others."""


_BY_TARGET = (BreakerScope.TARGET, BreakerScope.USER_TARGET)


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When calls of a failing tool are refused, and for how long."""

    failure_threshold: int = 5
    """The number of failures in a row after which calls are refused."""
    recovery_time: float = 60.0
    """Seconds for which calls are refused, before a few are let through."""
    success_threshold: int = 2
    """The number of successes in a row after which all calls are let through again."""
    hide_when_open: bool = False
    """Whether the tool is hidden while its breaker is open. Not available for breakers by target."""
    scope: BreakerScope | str = BreakerScope.TOOL
    """The calls that share a breaker. Choose a narrow scope if failures depend on the arguments."""
    target: Callable[[Any], str | None] | None = None
    """Function from the validated input to the target of a call. If it returns None, the call counts for its user."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scope", _member("a scope", self.scope, BreakerScope))
        if (self.scope in _BY_TARGET) != (self.target is not None):
            raise PolicyError(f"target= and a scope by target ({', '.join(_BY_TARGET)}) must be used together")
        if self.scope in _BY_TARGET and self.hide_when_open:
            raise PolicyError("hide_when_open cannot be used by target: other targets still work")
        if self.target is not None and not callable(self.target):
            raise PolicyError(f"target is {self.target!r}; it must be a function from the input to the target.")
        _check.count("failure_threshold", self.failure_threshold, least=1)
        _check.count("success_threshold", self.success_threshold, least=1)
        _check.seconds("recovery_time", self.recovery_time, above=0)
        _check.flag("hide_when_open", self.hide_when_open)
