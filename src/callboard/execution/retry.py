"""Whether a failed attempt is made again, and how soon. A pure function: the caller acts on what it returns."""

from typing import NamedTuple

from ..errors import ErrorCategory, ToolError
from ..tools.policies import BackoffStrategy, RetryPolicy


class Decision(NamedTuple):
    """Try again after a delay, or not at all."""

    retry: bool
    delay: float
    reason: str
    """For people who read logs."""


def decide(policy: RetryPolicy, error: ToolError, *, attempt: int, idempotent: bool, chance: float) -> Decision:
    """What follows from the failure of attempt number `attempt` (the first is 1). `chance` is random, in [0, 1).

    A tool that is not idempotent is tried again only when the error says that nothing was done: the handler's own
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
    """The seconds until a stored `retry_at`, a time of day; 0.0 where there is none or it has passed.

    The result is never above the policy's maximum, so a clock that is behind the one that wrote the time cannot
    postpone the attempt for longer than the policy allows.
    """
    if retry_at is None or not retry_at > now:
        return 0.0
    return min(retry_at - now, policy.max_delay)


def backoff(policy: RetryPolicy, attempt: int, chance: float) -> float:
    """The delay after an attempt, never above the policy's maximum."""
    strategy = BackoffStrategy(policy.strategy)
    match strategy:
        case BackoffStrategy.FIXED:
            delay = policy.base_delay
        case BackoffStrategy.LINEAR:
            delay = policy.base_delay * attempt
        case BackoffStrategy.EXPONENTIAL | BackoffStrategy.EXPONENTIAL_JITTER:
            exponent = min(attempt - 1, 64)  # beyond that every policy is at its maximum, and floats at their end
            delay = policy.base_delay * policy.multiplier**exponent
    delay = min(delay, policy.max_delay)
    return delay * chance if strategy is BackoffStrategy.EXPONENTIAL_JITTER else delay


def _no(reason: str) -> Decision:
    return Decision(False, 0.0, reason)
