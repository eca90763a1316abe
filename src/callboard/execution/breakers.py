"""The breakers of all tools. A tool that never failed has none, which makes asking free."""

from ..clock import Clock
from ..errors import ToolError
from ..tools.policies import BreakerPolicy
from ..tools.registry import Registry
from .breaker import Breaker, BreakerOpen
from .execution import Execution


class Breakers:
    """Finds the breaker that an execution passes, by tool, or by tool and session."""

    def __init__(self, default: BreakerPolicy, registry: Registry, clock: Clock) -> None:
        self._default = default
        self._registry = registry
        self._clock = clock
        self.known: dict[tuple[str, str | None], Breaker] = {}
        """Those that have something to remember. With none, every attempt is admitted and no success is news."""

    def admit(self, execution: Execution) -> None:
        """Let an attempt through. Raises `BreakerOpen` with the time until the next probe where the breaker is open."""
        if (breaker := self.known.get(self._key(execution))) is not None:
            seconds = breaker.admit(self._clock.monotonic())
            self._show(execution, breaker)
            if seconds is not None:
                raise BreakerOpen(execution.name, seconds)

    def succeeded(self, execution: Execution) -> None:
        """An attempt gave a result."""
        if (breaker := self.known.get(key := self._key(execution))) is not None:
            breaker.succeeded()
            self._show(execution, breaker)
            if breaker.pristine:
                del self.known[key]

    def failed(self, execution: Execution, failure: ToolError) -> None:
        """An attempt failed."""
        key = self._key(execution)
        if (breaker := self.known.get(key)) is None:
            breaker = self.known[key] = Breaker(execution.tool.breaker or self._default)
        breaker.failed(failure.category, self._clock.monotonic())
        self._show(execution, breaker)
        if breaker.pristine:
            del self.known[key]

    def _key(self, execution: Execution) -> tuple[str, str | None]:
        policy = execution.tool.breaker or self._default
        return execution.tool.name, execution.scope.id if policy.per_session else None

    def _show(self, execution: Execution, breaker: Breaker) -> None:
        """The state of a tool's own breaker is among its statistics; that of a session's is nobody else's business."""
        if not (execution.tool.breaker or self._default).per_session:
            self._registry.counters_of(execution.tool).breaker = breaker.state.value
