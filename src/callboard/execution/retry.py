"""The decision whether a failed attempt is retried, and when. Pure functions: the caller acts on the decision."""

import math
from typing import NamedTuple

from ..errors import ErrorCategory, ToolError
from ..tools.policies import BackoffStrategy, RetryPolicy


class Decision(NamedTuple):
    """Whether to retry, and after which delay."""

    retry: bool
    delay: float
    reason: str
    """The reason, for logs."""


def decide(policy: RetryPolicy, error: ToolError, *, attempt: int, idempotent: bool, chance: float) -> Decision:
    """Decide what follows the failure of an attempt; the first attempt is 1, and `chance` is random in [0, 1).

    A tool that is not idempotent is retried only when the error says that nothing was done: the handler's own
    `retryable=True`, or a rate limit.
    """
    if attempt >= policy.max_attempts:
        return _no("no attempts are left")
    if error.retryable is False:
        return _no("the error says that another attempt will not help")
    if error.retryable is None:
        if error.category not in policy.retry_on:
            return _no(f"{error.category} is not retried")
        if not idempotent and error.category is not ErrorCategory.RATE_LIMITED:
            return _no("the tool is not idempotent, and it may have taken effect")
    if error.retry_after is not None and error.retry_after > policy.max_delay:
        return _no("it may be tried again only later than the policy waits")
    return Decision(True, max(backoff(policy, attempt, chance), error.retry_after or 0.0), str(error.category))


def remaining_delay(policy: RetryPolicy, retry_at: float | None, now: float) -> float:
    """Return the seconds until a stored `retry_at`, a time of day; 0.0 if there is none or it has passed.

    The result is never above the policy's maximum, so a clock that is behind the one that wrote the time cannot
    postpone the attempt for longer than the policy allows.
    """
    if retry_at is None or not retry_at > now:
        return 0.0
    return min(retry_at - now, policy.max_delay)


def backoff(policy: RetryPolicy, attempt: int, chance: float) -> float:
    """Return the delay after an attempt, never above the policy's maximum."""
    strategy = BackoffStrategy(policy.strategy)
    match strategy:
        case BackoffStrategy.FIXED:
            delay = policy.base_delay
        case BackoffStrategy.LINEAR:
            delay = policy.base_delay * attempt
        case BackoffStrategy.EXPONENTIAL | BackoffStrategy.EXPONENTIAL_JITTER:
            delay = policy.base_delay * _power(policy.multiplier, attempt - 1) if policy.base_delay else 0.0
    delay = min(delay, policy.max_delay)
    return delay * chance if strategy is BackoffStrategy.EXPONENTIAL_JITTER else delay


def _power(base: float, exponent: int) -> float:
    try:
        return float(base) ** exponent
    except OverflowError:
        return math.inf


def _no(reason: str) -> Decision:
    return Decision(False, 0.0, reason)
