"""The breakers of all tools. A tool that never failed has none, which makes asking free."""

from ..clock import Clock, Timer
from ..errors import ToolError
from ..tools.definition import Tool
from ..tools.policies import BreakerPolicy
from ..tools.registry import Registry
from .breaker import Breaker, BreakerOpen, BreakerState
from .execution import Execution, Scope, ToolKey, tool_key


class Breakers:
    """Finds the breaker that an execution passes, by tool, or by tool and session."""

    def __init__(self, default: BreakerPolicy, registry: Registry, clock: Clock) -> None:
        self._default = default
        self._registry = registry
        self._clock = clock
        self.known: dict[ToolKey, Breaker] = {}
        """Those that have something to remember."""
        self.remember = False
        """Whether there is any. With none, every attempt is admitted and no success is news."""
        self._timers: dict[ToolKey, Timer] = {}
        """Of those that are open, until the time for a probe."""

    def close(self) -> None:
        """Nothing is to be recovered from any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def admit(self, execution: Execution) -> None:
        """Let an attempt through. Raises `BreakerOpen` with the time until the next probe where the breaker is open."""
        if (breaker := self.known.get(self._key(execution))) is not None:
            seconds = breaker.admit(execution.id, self._clock.monotonic())
            self._show(execution.tool, breaker)
            if seconds is not None:
                raise BreakerOpen(execution.name, seconds)

    def succeeded(self, execution: Execution) -> None:
        """An attempt gave a result."""
        if (breaker := self.known.get(key := self._key(execution))) is not None:
            breaker.succeeded(execution.id)
            self._show(execution.tool, breaker)
            if breaker.pristine:
                self._drop(key)

    def failed(self, execution: Execution, failure: ToolError) -> None:
        """An attempt failed."""
        key = self._key(execution)
        if (breaker := self.known.get(key)) is None:
            breaker = self.known[key] = Breaker(execution.tool.breaker or self._default)
            self.remember = True
        before = breaker.state
        breaker.failed(execution.id, failure.category, self._clock.monotonic())
        tool = execution.tool
        self._show(tool, breaker)
        if breaker.state is BreakerState.OPEN and before is not BreakerState.OPEN:
            # Nobody may call a tool that is hidden while it is open, so its time must come by itself.
            if (timer := self._timers.get(key)) is not None:
                timer.cancel()
            recovery = self._policy(tool).recovery_time
            self._timers[key] = self._clock.call_later(recovery, lambda: self._recover(key, tool, breaker))
        if breaker.pristine:
            self._drop(key)

    def hides(self, tool: Tool, scope: Scope) -> bool:
        """Whether a tool asks not to be shown to that session now."""
        policy = self._policy(tool)
        if not policy.hide_when_open:
            return False
        breaker = self.known.get(tool_key(tool, scope, policy.per_session))
        return breaker is not None and breaker.refused_for(self._clock.monotonic()) > 0

    def forget(self, scope: Scope) -> None:
        """A session has ended: its own breakers go with it."""
        for key in [key for key in self.known if key[1] == scope.id]:
            self._drop(key)
            if (timer := self._timers.pop(key, None)) is not None:
                timer.cancel()

    def _drop(self, key: ToolKey) -> None:
        del self.known[key]
        self.remember = bool(self.known)

    def _recover(self, key: ToolKey, tool: Tool, breaker: Breaker) -> None:
        """The recovery time is over: the next call is a probe, and whoever looks may know."""
        del self._timers[key]
        if breaker.state is BreakerState.OPEN and not breaker.refused_for(self._clock.monotonic()):
            self._show(tool, breaker, BreakerState.HALF_OPEN)

    def _key(self, execution: Execution) -> ToolKey:
        return tool_key(execution.tool, execution.scope, self._policy(execution.tool).per_session)

    def _policy(self, tool: Tool) -> BreakerPolicy:
        return tool.breaker or self._default

    def _show(self, tool: Tool, breaker: Breaker, state: BreakerState | None = None) -> None:
        """The state of a tool's own breaker is among its statistics; that of a session's is nobody else's business."""
        if not self._policy(tool).per_session and self._registry.get(tool.name) is tool:
            self._registry.counters_of(tool).breaker = (state or breaker.state).value
