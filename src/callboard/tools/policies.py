"""What a tool says about retrying and about breaking. Records only: the decisions are made where executions are."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..errors import CallboardError, ErrorCategory


class BackoffStrategy(StrEnum):
    """How the delay grows from one attempt to the next. All are capped by `max_delay`."""

    FIXED = "fixed"
    """Always the base delay."""
    LINEAR = "linear"
    """Base, twice the base, three times the base."""
    EXPONENTIAL = "exponential"
    """Base, times the multiplier, times the multiplier again."""
    EXPONENTIAL_JITTER = "exponential_jitter"
    """Anything between nothing and the exponential delay, so that many callers do not come back together."""


class PolicyError(CallboardError, ValueError):
    """A policy has a value that makes no sense."""

    code = "policy"


DEFAULT_RETRY_ON = frozenset({ErrorCategory.TRANSIENT, ErrorCategory.TIMEOUT, ErrorCategory.RATE_LIMITED})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how soon a failed attempt is made again."""

    max_attempts: int = 3
    base_delay: float = 1.0
    max_delay: float = 30.0
    multiplier: float = 2.0
    strategy: BackoffStrategy | str = BackoffStrategy.EXPONENTIAL_JITTER
    retry_on: Collection[ErrorCategory | str] = DEFAULT_RETRY_ON

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "strategy", BackoffStrategy(self.strategy))
            object.__setattr__(self, "retry_on", frozenset(ErrorCategory(category) for category in self.retry_on))
        except ValueError as error:
            raise PolicyError(f"{error}. Strategies: {', '.join(BackoffStrategy)}") from None
        if self.max_attempts < 1:
            raise PolicyError(f"max_attempts is {self.max_attempts}; it counts the first attempt, so 1 is the least")
        if self.base_delay < 0 or self.max_delay < 0 or self.multiplier < 1:
            raise PolicyError("delays cannot be negative, and the multiplier cannot be below 1")


class BreakerScope(StrEnum):
    """Which calls of a tool share a breaker."""

    TOOL = "tool"
    """All of them."""
    USER = "user"
    """Those of one user."""
    SESSION = "session"
    """Those of one session."""
    TARGET = "target"
    """Those with one target, such as a host, of all users."""
    USER_TARGET = "user_target"
    """Those of one user with one target: no user can pause a target for another one."""


_BY_TARGET = (BreakerScope.TARGET, BreakerScope.USER_TARGET)


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When a tool that keeps failing is refused for a while."""

    failure_threshold: int = 5
    recovery_time: float = 60.0
    success_threshold: int = 2
    hide_when_open: bool = False
    """Whether the tool is not shown to those whom its breaker refuses. Not for breakers by target."""
    scope: BreakerScope | str = BreakerScope.TOOL
    """Which calls share a breaker. A tool whose failures depend on its arguments should not be paused for everyone."""
    target: Callable[[Any], str | None] | None = None
    """Names the target of a call, given its validated input. None: none is known, and the call counts for its user."""

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "scope", BreakerScope(self.scope))
        except ValueError as error:
            raise PolicyError(f"{error}. Scopes: {', '.join(BreakerScope)}") from None
        if (self.scope in _BY_TARGET) != (self.target is not None):
            raise PolicyError(f"target= and a scope by target ({', '.join(_BY_TARGET)}) need each other")
        if self.scope in _BY_TARGET and self.hide_when_open:
            raise PolicyError("hide_when_open cannot be used by target: other targets still work")
        if self.failure_threshold < 1 or self.success_threshold < 1:
            raise PolicyError("thresholds count from 1")
        if self.recovery_time <= 0:
            raise PolicyError("recovery_time must be above 0")
