"""Retry and breaker policies (X5, X6): invalid values are refused."""

from datetime import timedelta
from typing import Any

import pytest

from callboard import BreakerPolicy, CallboardError, ErrorCategory, RetryPolicy
from callboard.tools.policies import BackoffStrategy, PolicyError


def test_x5_the_defaults_of_a_retry_policy() -> None:
    policy = RetryPolicy()
    assert (policy.max_attempts, policy.base_delay, policy.max_delay, policy.multiplier) == (3, 1.0, 30.0, 2.0)
    assert policy.strategy is BackoffStrategy.EXPONENTIAL_JITTER
    assert policy.retry_on == {ErrorCategory.TRANSIENT, ErrorCategory.TIMEOUT, ErrorCategory.RATE_LIMITED}


def test_x6_the_defaults_of_a_breaker_policy() -> None:
    policy = BreakerPolicy()
    assert (policy.failure_threshold, policy.recovery_time, policy.success_threshold) == (5, 60.0, 2)
    assert (policy.scope, policy.target, policy.hide_when_open) == ("tool", None, False)


def test_x5_strategies_and_categories_may_be_strings() -> None:
    policy = RetryPolicy(strategy="linear", retry_on=["timeout"])  # type: ignore[arg-type]
    assert (policy.strategy, policy.retry_on) == (BackoffStrategy.LINEAR, frozenset({ErrorCategory.TIMEOUT}))


@pytest.mark.parametrize("values", [{"max_attempts": 0}, {"base_delay": -1}, {"max_delay": -1}, {"multiplier": 0.5}])
def test_x5_a_retry_policy_that_makes_no_sense_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(PolicyError) as caught:
        RetryPolicy(**values)
    assert isinstance(caught.value, CallboardError)


@pytest.mark.parametrize(
    "values",
    [
        {"failure_threshold": 0},
        {"success_threshold": 0},
        {"recovery_time": 0},
        {"scope": "planet"},
        {"scope": "target"},
        {"scope": "user", "target": str},
        {"scope": "target", "target": str, "hide_when_open": True},
    ],
)
def test_x6_a_breaker_policy_that_makes_no_sense_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        BreakerPolicy(**values)


@pytest.mark.parametrize(
    ("policy", "values", "message"),
    [
        (
            RetryPolicy,
            {"strategy": "linea"},
            "'linea' is not a strategy. Did you mean 'linear'? Known: fixed, ",
        ),
        (
            RetryPolicy,
            {"retry_on": ["timeot"]},
            "'timeot' is not a category in retry_on. Did you mean 'timeout'?",
        ),
        (BreakerPolicy, {"scope": "usr"}, "'usr' is not a scope. Did you mean 'user'? Known: tool, user, "),
    ],
)
def test_x5_a_misspelt_value_is_answered_with_the_known_ones(policy: Any, values: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy(**values)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("policy", "values", "message"),
    [
        (RetryPolicy, {"max_attempts": "3"}, "max_attempts is '3'; it must be a whole number."),
        (RetryPolicy, {"max_attempts": 2.5}, "max_attempts is 2.5; it must be a whole number."),
        (RetryPolicy, {"base_delay": timedelta(seconds=2)}, "it must be a number of seconds, such as 2."),
        (RetryPolicy, {"max_delay": float("nan")}, "max_delay is nan; it must be a number of seconds."),
        (RetryPolicy, {"retry_on": "transient"}, "retry_on is the string 'transient'; it must be a list of strings."),
        (BreakerPolicy, {"failure_threshold": None}, "failure_threshold is None; it must be a whole number."),
        (BreakerPolicy, {"recovery_time": "60"}, "recovery_time is '60'; it must be a number of seconds."),
        (BreakerPolicy, {"hide_when_open": "no"}, "hide_when_open is 'no'; it must be True or False."),
        (BreakerPolicy, {"scope": "target", "target": "host"}, "target is 'host'; it must be a function"),
    ],
)
def test_x5_a_value_of_a_wrong_type_is_named(policy: Any, values: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy(**values)
    assert message in str(caught.value)
