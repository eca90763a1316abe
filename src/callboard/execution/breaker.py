"""The circuit breaker: calls of a tool that keeps failing are refused for a while, then a few probes are let through.

A state machine without a clock or tasks: methods take the time as an argument. `breakers` says which calls share one.
"""

from enum import StrEnum

from ..errors import ErrorCategory, ToolError
from ..tools.policies import BreakerPolicy

COUNTED = frozenset(
    {
        ErrorCategory.EXECUTION,
        ErrorCategory.TIMEOUT,
        ErrorCategory.TRANSIENT,
        ErrorCategory.RESOURCE,
        ErrorCategory.CONFIGURATION,
        ErrorCategory.UNKNOWN,
    }
)
"""The failures that count. A bad argument, a rejection or a cancellation says nothing about the tool."""


class BreakerState(StrEnum):
    """The calls that a breaker lets through."""

    CLOSED = "closed"
    """All of them."""
    OPEN = "open"
    """None, until the recovery time has passed."""
    HALF_OPEN = "half_open"
    """A few probes, to find out whether the tool works again."""


class Breaker:
    """Counts consecutive failures and decides which attempts are let through."""

    __slots__ = ("_failures", "_opened_at", "_policy", "_probes", "_successes", "state")

    def __init__(self, policy: BreakerPolicy) -> None:
        self._policy = policy
        self.state = BreakerState.CLOSED
        self._failures = 0
        self._successes = 0
        self._probes: set[str] = set()
        """The executions whose attempts are probes."""
        self._opened_at = 0.0

    @property
    def pristine(self) -> bool:
        """Whether it is closed and has counted no failure since the last success."""
        return self.state is BreakerState.CLOSED and not self._failures

    def refused_for(self, now: float) -> float:
        """Return the seconds for which every attempt is refused; 0 if one may be let through."""
        return max(0.0, self._opened_at + self._policy.recovery_time - now) if self.state is BreakerState.OPEN else 0.0

    def admit(self, execution_id: str, now: float) -> float | None:
        """Let an attempt of an execution through (None), or return the seconds until the next probe.

        In the half-open state there are at most as many probes at once as successes are still needed.
        """
        if self.state is BreakerState.CLOSED:
            return None
        if self.state is BreakerState.OPEN:
            if left := self.refused_for(now):
                return left
            self.state = BreakerState.HALF_OPEN
            self._successes = 0
        if len(self._probes) >= self._policy.success_threshold - self._successes:
            return self._policy.recovery_time
        self._probes.add(execution_id)
        return None

    def succeeded(self, execution_id: str) -> None:
        """Count the success of an attempt that was let through."""
        if self.state is BreakerState.HALF_OPEN:
            if execution_id not in self._probes:
                return  # it was let through before the breaker opened
            self._probes.discard(execution_id)
            self._successes += 1
            if self._successes < self._policy.success_threshold:
                return
        elif self.state is BreakerState.OPEN:
            return
        self.state = BreakerState.CLOSED
        self._failures = 0

    def failed(self, execution_id: str, category: ErrorCategory, now: float) -> None:
        """Count the failure of an attempt that was let through."""
        if self.state is BreakerState.HALF_OPEN:
            if execution_id not in self._probes:
                return
            self._probes.discard(execution_id)
        if category not in COUNTED or self.state is BreakerState.OPEN:
            return
        self._failures += 1
        if self.state is BreakerState.HALF_OPEN or self._failures >= self._policy.failure_threshold:
            self.state = BreakerState.OPEN
            self._opened_at = now
            self._failures = self._successes = 0
            self._probes.clear()


class BreakerOpen(ToolError):
    """A call was refused by an open breaker. Nothing was done."""

    def __init__(self, tool: str, seconds: float, target: str | None = None) -> None:
        paused = f"{tool} for {target}" if target else tool
        super().__init__(
            f"The tool {paused} has failed several times in a row and is paused. Try again in {seconds:.0f} seconds.",
            category=ErrorCategory.TRANSIENT,
            retryable=False,
            retry_after=round(seconds, 3),
        )
