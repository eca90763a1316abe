"""Retries of failed attempts: the decision, the delay and the arguments (X5)."""

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from callboard import BreakerPolicy, ErrorCategory, RetryPolicy, ToolContext, ToolError, tool
from callboard.execution.retry import backoff, decide
from callboard.testing import Harness
from callboard.tools.policies import DEFAULT_RETRY_ON, BackoffStrategy

pytestmark = pytest.mark.anyio

NEVER_OPENS = BreakerPolicy(failure_threshold=1_000)

finite = st.floats(0, 1e6, allow_nan=False)
policies = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 50),
    base_delay=finite,
    max_delay=finite,
    multiplier=st.floats(1, 1e3),
    strategy=st.sampled_from(BackoffStrategy),
    retry_on=st.frozensets(st.sampled_from(ErrorCategory)),
)
errors = st.builds(
    ToolError,
    st.just("No."),
    category=st.sampled_from(ErrorCategory),
    retryable=st.sampled_from([None, True, False]),
    retry_after=st.none() | st.floats(allow_nan=False),  # the constructor refuses NaN
)
chances = st.floats(0, 1, exclude_max=True)


def fixed(attempts: int = 3, delay: float = 1.0, **options: Any) -> RetryPolicy:
    return RetryPolicy(attempts, delay, strategy=BackoffStrategy.FIXED, **options)


# The decision


def test_x5_defaults_are_those_of_the_specification() -> None:
    policy = RetryPolicy()
    assert (policy.max_attempts, policy.base_delay, policy.max_delay, policy.multiplier) == (3, 1.0, 30.0, 2.0)
    assert policy.strategy is BackoffStrategy.EXPONENTIAL_JITTER
    assert policy.retry_on == DEFAULT_RETRY_ON == {"transient", "timeout", "rate_limited"}


@pytest.mark.parametrize(
    ("strategy", "delays"),
    [
        ("fixed", [1, 1, 1, 1, 1, 1, 1]),
        ("linear", [1, 2, 3, 4, 5, 6, 7]),
        ("exponential", [1, 2, 4, 8, 16, 30, 30]),
        ("exponential_jitter", [0.5, 1, 2, 4, 8, 15, 15]),
    ],
)
def test_x5_delays_of_each_strategy(strategy: str, delays: list[float]) -> None:
    policy = RetryPolicy(strategy=BackoffStrategy(strategy))
    assert [backoff(policy, attempt, 0.5) for attempt in range(1, 8)] == delays


def test_x5_linear_delay_is_capped() -> None:
    policy = RetryPolicy(strategy=BackoffStrategy.LINEAR, max_delay=30.0)
    assert [backoff(policy, attempt, 0.0) for attempt in (29, 30, 31, 1_000_000)] == [29.0, 30.0, 30.0, 30.0]


@pytest.mark.parametrize("multiplier", [1e300, 10**6, float("inf")])
def test_x5_a_delay_that_is_too_large_to_compute_is_the_longest(multiplier: float) -> None:
    policy = RetryPolicy(max_attempts=100, base_delay=0.5, multiplier=multiplier, strategy="exponential")
    assert (backoff(policy, 1, 1.0), backoff(policy, 99, 1.0)) == (0.5, 30.0)
    at_once = RetryPolicy(max_attempts=100, base_delay=0, multiplier=multiplier, strategy="exponential")
    assert backoff(at_once, 99, 1.0) == 0.0


@given(policies, st.integers(1, 10**9), chances)
def test_x5_delay_is_never_above_the_maximum_and_jitter_stays_below_the_delay(
    policy: RetryPolicy, attempt: int, chance: float
) -> None:
    delay = backoff(policy, attempt, chance)
    assert 0 <= delay <= policy.max_delay
    if policy.strategy is BackoffStrategy.EXPONENTIAL_JITTER:
        plain = RetryPolicy(
            policy.max_attempts, policy.base_delay, policy.max_delay, policy.multiplier, BackoffStrategy.EXPONENTIAL
        )
        assert delay == backoff(plain, attempt, chance) * chance


@given(policies, errors, st.integers(1, 60), st.booleans(), chances)
def test_x5_decision_keeps_every_rule(
    policy: RetryPolicy, error: ToolError, attempt: int, idempotent: bool, chance: float
) -> None:
    decision = decide(policy, error, attempt=attempt, idempotent=idempotent, chance=chance)
    assert decision.reason
    if not decision.retry:
        assert decision.delay == 0
        return
    assert attempt < policy.max_attempts
    assert error.retryable is not False
    assert 0 <= decision.delay <= policy.max_delay
    assert decision.delay >= backoff(policy, attempt, chance)
    if error.retry_after is not None and error.retry_after == error.retry_after:
        assert error.retry_after <= decision.delay
    if error.retryable is None:
        assert error.category in policy.retry_on
        assert idempotent or error.category is ErrorCategory.RATE_LIMITED


@pytest.mark.parametrize("category", ErrorCategory)
@pytest.mark.parametrize("idempotent", [True, False])
@pytest.mark.parametrize("retryable", [None, True, False])
def test_x5_which_failures_are_retried(category: ErrorCategory, idempotent: bool, retryable: bool | None) -> None:
    error = ToolError("No.", category=category, retryable=retryable)
    retry = decide(RetryPolicy(), error, attempt=1, idempotent=idempotent, chance=0.0).retry
    by_rule = category == "rate_limited" or (idempotent and category in ("transient", "timeout"))
    assert retry is (by_rule if retryable is None else retryable)


def test_x5_attempts_are_bounded() -> None:
    error = ToolError("No.", category="transient", retryable=True)
    made = [decide(RetryPolicy(4), error, attempt=n, idempotent=True, chance=0.0).retry for n in range(1, 7)]
    assert made == [True, True, True, False, False, False]


def test_x5_retry_after_is_waited_for_unless_it_is_beyond_the_maximum() -> None:
    def asked(seconds: float) -> tuple[bool, float]:
        error = ToolError("No.", category="rate_limited", retry_after=seconds)
        return decide(fixed(max_delay=30.0), error, attempt=1, idempotent=False, chance=0.0)[:2]

    assert asked(0.2) == (True, 1.0)
    assert asked(12.5) == (True, 12.5)
    assert asked(30.0) == (True, 30.0)
    assert asked(30.1) == (False, 0.0)
    assert asked(float("inf")) == (False, 0.0)


# Through the runtime


async def test_x5_delays_use_the_clock_and_each_retry_is_counted() -> None:
    attempts: list[int] = []

    @tool(idempotent=True, breaker=NEVER_OPENS, retry=RetryPolicy(4, strategy=BackoffStrategy.EXPONENTIAL))
    async def flaky(ctx: ToolContext) -> int:
        """Fail three times."""
        attempts.append(ctx.attempt)
        if ctx.attempt < 4:
            raise ConnectionError("refused")
        return ctx.attempt

    async with Harness(flaky) as harness:
        call = await harness.start("flaky")
        for seconds, made in [(0.999, 1), (0.001, 2), (1.999, 2), (0.001, 3), (3.999, 3)]:
            await harness.advance(seconds)
            assert len(attempts) == made
        await harness.advance(0.001)
        assert (await call).value == 4
        assert attempts == [1, 2, 3, 4]
        stats = harness.runtime.registry.stats("flaky")
        assert (stats.calls, stats.retries, stats.successes, stats.failures) == (1, 3, 1, {})
        delays = [event.data["delay"] for event in harness.events() if event.kind == "tool_retrying"]
        assert delays == [1.0, 2.0, 4.0]


async def test_x5_failed_after_all_attempts_with_the_last_error() -> None:
    @tool(idempotent=True, breaker=NEVER_OPENS, retry=fixed())
    async def broken(ctx: ToolContext) -> int:
        """Always fail."""
        raise ToolError(f"Failure {ctx.attempt}.", category="transient")

    async with Harness(broken) as harness:
        call = await harness.start("broken")
        await harness.advance(10)
        outcome = await call
        assert outcome.error is not None
        assert outcome.error.message == "Failure 3."
        record = harness.session.execution(outcome.execution_id)
        assert [error["message"] for error in record.previous_errors] == ["Failure 1.", "Failure 2."]
        assert harness.runtime.registry.stats("broken").failures == {"transient": 1}


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (ConnectionError("refused"), 1),
        (TimeoutError(), 1),
        (ToolError("No.", category="transient"), 1),
        (ToolError("No.", category="rate_limited"), 3),
        (ToolError("No.", category="transient", retryable=True), 3),
        (ToolError("No.", category="permanent", retryable=True), 3),
        (ToolError("No.", category="rate_limited", retryable=False), 1),
        (ToolError("No.", category="rate_limited", retry_after=31.0), 1),
    ],
    ids=repr,
)
async def test_x5_tool_that_is_not_idempotent_is_retried_only_when_nothing_was_done(
    error: Exception, attempts: int
) -> None:
    made: list[int] = []

    @tool(breaker=NEVER_OPENS, retry=fixed())
    async def pay(ctx: ToolContext) -> int:
        """Pay."""
        made.append(ctx.attempt)
        raise error

    async with Harness(pay) as harness:
        call = await harness.start("pay")
        await harness.advance(100)
        assert (await call).status == "failed"
        assert len(made) == attempts


async def test_x5_retry_after_is_waited_for_by_the_clock() -> None:
    made: list[float] = []

    @tool(retry=fixed())
    async def limited(ctx: ToolContext) -> int:
        """Refuse once."""
        made.append(harness.clock.monotonic())
        if ctx.attempt == 1:
            raise ToolError("Slow down.", category="rate_limited", retry_after=12.5)
        return 1

    async with Harness(limited) as harness:
        await harness.start("limited")
        await harness.advance(60)
        assert made == [0.0, 12.5]


class Order(BaseModel):
    lines: list[str] = Field(description="What")


async def test_x5_each_attempt_has_fresh_arguments_and_the_same_key() -> None:
    seen: list[tuple[Any, ...]] = []

    @tool(idempotent=True, breaker=NEVER_OPENS, retry=fixed())
    async def place(
        ctx: ToolContext, order: Annotated[Order, "The order"], labels: Annotated[list[str], "Labels"]
    ) -> int:
        """Place an order, and change its arguments."""
        seen.append((ctx.attempt, ctx.idempotency_key, ctx.call_id, ctx.execution_id, [*order.lines], [*labels]))
        order.lines.append("more")
        labels.clear()
        raise ConnectionError("refused")

    async with Harness(place) as harness:
        call = await harness.start("place", {"order": {"lines": ["a"]}, "labels": ["b"]}, call_id="c1")
        await harness.advance(10)
        key = (await call).execution_id
        assert seen == [(attempt, key, "c1", key, ["a"], ["b"]) for attempt in (1, 2, 3)]


async def test_x5_policy_of_the_runtime_holds_for_tools_without_their_own() -> None:
    made: list[str] = []

    @tool(idempotent=True)
    async def plain() -> int:
        """Fail."""
        made.append("plain")
        raise ConnectionError("refused")

    @tool(idempotent=True, retry=RetryPolicy(max_attempts=1))
    async def own() -> int:
        """Fail."""
        made.append("own")
        raise ConnectionError("refused")

    async with Harness(plain, own, retry=fixed(attempts=5)) as harness:
        await harness.start("plain")
        await harness.start("own")
        await harness.advance(100)
        assert (made.count("plain"), made.count("own")) == (5, 1)
