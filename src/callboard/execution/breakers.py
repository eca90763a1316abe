"""The breakers of all tools: by tool, or by user, session or target if the tool's policy says so.

A breaker exists only while it has state, and its tool stays registered. There are at most as many breakers of tools as
tools; of the others, whose number depends on users and models, the most recently used are kept.
"""

import hashlib
import logging
from collections import Counter
from typing import Any, Literal, NamedTuple, TypeAlias

from ..clock import Clock, Timer
from ..errors import ToolError
from ..tools.definition import Tool
from ..tools.policies import BreakerPolicy, BreakerScope
from ..tools.registry import Registry
from ..tools.subscription import Change, ChangeKind, Subscription
from .breaker import Breaker, BreakerOpen, BreakerState
from .execution import Execution, Scope

log = logging.getLogger("callboard.execution")

MAX_SCOPED = 10_000
"""The most breakers of users, sessions and targets that are kept. A dropped breaker is closed."""
MAX_VISIBLE = 100
"""The most breakers of one tool that a user is shown."""
MAX_TARGET = 256
"""The most characters of a target; a longer one is replaced by its hash."""

BreakerKey: TypeAlias = tuple[str, str, str, str]
"""Tool, session, user and target; empty for those that share one breaker."""


class BreakerStatus(NamedTuple):
    """A breaker as users see it."""

    scope: Literal["tool", "user", "session"]
    """Whose calls it counts: those of the `tool`, of the `user` or of the `session`."""
    target: str | None
    """The target of the user's calls that it counts; None: all."""
    state: BreakerState
    refused_for: float
    """Seconds until a call is let through; 0 if one may be now."""


class Breakers:
    """Finds, makes and drops the breakers of executions."""

    def __init__(self, default: BreakerPolicy, registry: Registry, clock: Clock) -> None:
        self._default = default
        self._registry = registry
        self._clock = clock
        self._of_tools: dict[BreakerKey, Breaker] = {}
        self._scoped: dict[BreakerKey, Breaker] = {}
        """The breakers of users, sessions and targets, the most recently used last."""
        self._of_sessions: dict[str, set[BreakerKey]] = {}
        """The keys of the breakers that one session has, by its id."""
        self._numbers: Counter[str] = Counter()
        """The number of breakers of each tool that has any."""
        self.in_use = default.target is not None
        """Whether `admit` and `succeeded` must be called. False without any breaker, so that calls cost nothing."""
        self._timers: dict[BreakerKey, Timer] = {}
        """The timers of tools' own open breakers, until the next probe."""
        self._subscription: Subscription | None = None

    def open(self) -> None:
        """Start to follow the registry."""
        self._subscription = self._registry.subscribe(self._changed)

    def close(self) -> None:
        if self._subscription is not None:
            self._subscription.close()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    @property
    def known(self) -> dict[BreakerKey, Breaker]:
        """All breakers by key."""
        return {**self._of_tools, **self._scoped}

    def refusing(self) -> Counter[str]:
        """Return the number of breakers of each tool that refuse calls now."""
        now = self._clock.monotonic()
        return Counter(key[0] for key, breaker in self.known.items() if breaker.refused_for(now) > 0)

    def visible_to(self, tool: Tool, user_id: str, session_id: str | None) -> list[BreakerStatus]:
        """Return the breakers of a tool that a user may see: the tool's, and those of the user and of the session.

        Breakers of targets that users share are left out, since a target comes from the arguments of any user.
        """
        now = self._clock.monotonic()
        found: list[BreakerStatus] = []
        for (name, session, user, target), breaker in self.known.items() if tool.name in self._numbers else ():
            is_shared_target = bool(target) and not (session or user)
            if name == tool.name and user in ("", user_id) and session in ("", session_id) and not is_shared_target:
                scope = "session" if session else "user" if user else "tool"
                found.append(BreakerStatus(scope, target or None, breaker.state, breaker.refused_for(now)))
        return found[:MAX_VISIBLE]

    def admit(self, execution: Execution) -> None:
        """Let an attempt through, or raise `BreakerOpen` with the time until the next probe."""
        policy = self.policy(execution.tool)
        if policy.target is not None:  # before the handler runs, which may change its arguments
            execution.set_target(_target(policy, execution))
        if execution.tool.name not in self._numbers:
            return
        if (breaker := self._find(key := self._key(execution))) is not None:
            seconds = breaker.admit(execution.id, self._clock.monotonic())
            self._publish(key, execution.tool, breaker.state)
            if seconds is not None:
                raise BreakerOpen(execution.name, seconds, execution.target)

    def succeeded(self, execution: Execution) -> None:
        if execution.tool.name not in self._numbers:
            return
        if (breaker := self._find(key := self._key(execution))) is not None:
            breaker.succeeded(execution.id)
            self._publish(key, execution.tool, breaker.state)
            if breaker.pristine:
                self._drop(key)

    def failed(self, execution: Execution, failure: ToolError) -> None:
        key, tool = self._key(execution), execution.tool
        breaker = self._find(key) or self._make(key, self.policy(tool))
        before = breaker.state
        breaker.failed(execution.id, failure.category, self._clock.monotonic())
        self._publish(key, tool, breaker.state)
        if breaker.state is BreakerState.OPEN and before is not BreakerState.OPEN and key in self._of_tools:
            # A tool that is hidden while its breaker is open is not called, so a timer must end the open state.
            if (timer := self._timers.get(key)) is not None:
                timer.cancel()
            recovery = self.policy(tool).recovery_time
            self._timers[key] = self._clock.call_later(recovery, lambda: self._recover(key, tool, breaker))
        if breaker.pristine:
            self._drop(key)

    def hides(self, tool: Tool, scope: Scope) -> bool:
        """Return whether a tool is hidden from that session now."""
        policy = self.policy(tool)
        if not policy.hide_when_open or tool.name not in self._numbers:
            return False
        breaker = self._find(_key(tool, policy, scope, None))
        return breaker is not None and breaker.refused_for(self._clock.monotonic()) > 0

    def forget(self, scope: Scope) -> None:
        """Drop the breakers of a session that has ended."""
        for key in tuple(self._of_sessions.get(scope.id, ())):
            self._drop(key)

    def _find(self, key: BreakerKey) -> Breaker | None:
        if (breaker := self._of_tools.get(key)) is None and (breaker := self._scoped.pop(key, None)) is not None:
            self._scoped[key] = breaker
        return breaker

    def _make(self, key: BreakerKey, policy: BreakerPolicy) -> Breaker:
        breaker = Breaker(policy)
        if _is_of_tool(key):
            self._of_tools[key] = breaker
        else:
            self._scoped[key] = breaker
            if key[1]:
                self._of_sessions.setdefault(key[1], set()).add(key)
        self._numbers[key[0]] += 1
        self.in_use = True
        if len(self._scoped) > MAX_SCOPED:
            self._drop(next(iter(self._scoped)))
        return breaker

    def _changed(self, change: Change) -> None:
        """Drop the breakers of tools that come or go: another tool of the same name starts without failures."""
        if change.kind is ChangeKind.REPLACED or (change.name is not None and change.name not in self._numbers):
            return
        for key in self.known:
            if change.name is None or key[0] == change.name:
                self._drop(key)

    def _drop(self, key: BreakerKey) -> None:
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        if self._of_tools.pop(key, None) is None:
            del self._scoped[key]
            if (of_session := self._of_sessions.get(key[1])) is not None:
                of_session.discard(key)
                if not of_session:
                    del self._of_sessions[key[1]]
        self._numbers[key[0]] -= 1
        if not self._numbers[key[0]]:
            del self._numbers[key[0]]
        self.in_use = bool(self._numbers) or self._default.target is not None

    def _recover(self, key: BreakerKey, tool: Tool, breaker: Breaker) -> None:
        """Show in the statistics that the recovery time is over and the next call is a probe."""
        del self._timers[key]
        if breaker.state is BreakerState.OPEN and not breaker.refused_for(self._clock.monotonic()):
            self._publish(key, tool, BreakerState.HALF_OPEN)

    def _key(self, execution: Execution) -> BreakerKey:
        return _key(execution.tool, self.policy(execution.tool), execution.scope, execution.target)

    def policy(self, tool: Tool) -> BreakerPolicy:
        """Return the policy of a tool: its own, or the default."""
        return tool.breaker or self._default

    def _publish(self, key: BreakerKey, tool: Tool, state: BreakerState) -> None:
        """Set the state in the tool's statistics, only for the tool's own breaker."""
        if _is_of_tool(key) and self._registry.get(tool.name) is tool:
            self._registry.counters_of(tool).breaker = state.value


def _key(tool: Tool, policy: BreakerPolicy, scope: Scope, target: str | None) -> BreakerKey:
    """Return the key of a call's breaker. A tool that only one session has gets breakers of its own there."""
    by = policy.scope
    alone = by is BreakerScope.SESSION or scope.own_tool(tool.name) is tool
    unknown = by is BreakerScope.TARGET and target is None
    own = by is BreakerScope.USER or by is BreakerScope.USER_TARGET or unknown
    return tool.name, scope.id if alone else "", scope.user_id if own else "", target or ""


def _is_of_tool(key: BreakerKey) -> bool:
    return not any(key[1:])


def _target(policy: BreakerPolicy, execution: Execution) -> str | None:
    assert policy.target is not None
    try:
        target: Any = policy.target(execution.arguments)
        if not (target is None or isinstance(target, str)):
            raise TypeError(f"it returned {type(target).__name__}; a target is a str or None")
    except Exception:
        log.exception("the target function of %s's breaker failed; the call counts for its user", execution.name)
        return None
    if target is None or len(target) <= MAX_TARGET:
        return target
    return hashlib.sha256(target.encode(errors="replace")).hexdigest()
