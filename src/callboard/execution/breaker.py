"""The circuit breaker: a tool that keeps failing is refused for a while, then tried with a few probes.

A state machine without a clock or tasks: every method is told the time. `breakers` decides which calls share one.
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
"""Failures that say something about the tool. A bad argument, a refusal or a cancellation does not."""


class BreakerState(StrEnum):
    """Whether calls get through."""

    CLOSED = "closed"
    """All of them."""
    OPEN = "open"
    """None, until the recovery time is over."""
    HALF_OPEN = "half_open"
    """A few, to see whether it works again."""


class Breaker:
    """Counts one tool's failures in a row and decides who gets through."""

    __slots__ = ("_failures", "_opened_at", "_policy", "_probes", "_successes", "state")

    def __init__(self, policy: BreakerPolicy) -> None:
        self._policy = policy
        self.state = BreakerState.CLOSED
        self._failures = 0
        self._successes = 0
        self._probes: set[str] = set()
        """The attempts that are inside to see whether it works again."""
        self._opened_at = 0.0

    @property
    def pristine(self) -> bool:
        """Whether there is nothing to remember: closed, and no failure since the last success."""
        return self.state is BreakerState.CLOSED and not self._failures

    def refused_for(self, now: float) -> float:
        """The seconds for which everyone is refused; 0 where somebody may be let through."""
        return max(0.0, self._opened_at + self._policy.recovery_time - now) if self.state is BreakerState.OPEN else 0.0

    def admit(self, who: str, now: float) -> float | None:
        """Let an attempt of an execution through (None), or refuse it with the seconds until the next probe.

        In the half-open state as many probes are inside at once as successes are still needed, and no more.
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
        self._probes.add(who)
        return None

    def succeeded(self, who: str) -> None:
        """An attempt that was let through gave a result."""
        if self.state is BreakerState.HALF_OPEN:
            if who not in self._probes:
                return  # it was let through before the breaker opened, and says nothing about now
            self._probes.discard(who)
            self._successes += 1
            if self._successes < self._policy.success_threshold:
                return
        elif self.state is BreakerState.OPEN:
            return
        self.state = BreakerState.CLOSED
        self._failures = 0

    def failed(self, who: str, category: ErrorCategory, now: float) -> None:
        """An attempt that was let through failed."""
        if self.state is BreakerState.HALF_OPEN:
            if who not in self._probes:
                return
            self._probes.discard(who)
        if category not in COUNTED or self.state is BreakerState.OPEN:
            return
        self._failures += 1
        if self.state is BreakerState.HALF_OPEN or self._failures >= self._policy.failure_threshold:
            self.state = BreakerState.OPEN
            self._opened_at = now
            self._failures = self._successes = 0
            self._probes.clear()


class BreakerOpen(ToolError):
    """A call that an open breaker does not let through. Nothing was done."""

    def __init__(self, tool: str, seconds: float, target: str | None = None) -> None:
        paused = f"{tool} for {target}" if target else tool
        super().__init__(
            f"The tool {paused} has failed several times in a row and is paused. Try again in {seconds:.0f} seconds.",
            category=ErrorCategory.TRANSIENT,
            retryable=False,
            retry_after=round(seconds, 3),
        )
