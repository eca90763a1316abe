"""Whose log line it is: the session, the execution and the tool in whose name something is done.

It is known wherever a handler or a turn runs, also in tasks and threads that they start.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

from ..errors import ToolError
from ..execution.execution import Execution
from ..runtime import Runtime
from .turns import TurnEnd, TurnWatch


class LogContext(NamedTuple):
    """In whose name something is done."""

    session: str | None = None
    execution: str | None = None
    tool: str | None = None


NOBODYS = LogContext()
_current: ContextVar[LogContext] = ContextVar("callboard_whose", default=NOBODYS)


def log_context() -> LogContext:
    """In whose name this code runs."""
    return _current.get()


def follow(runtime: Runtime) -> Callable[[], None]:
    """Have log lines of handlers and turns of a runtime say whose they are, until what this returns is called."""
    follower = _Follower()
    blind, watch = runtime.manager.observe(follower), TurnWatch(runtime, follower)

    def over() -> None:
        blind()
        watch.close()

    return over


class _Follower:
    def called(self, execution: Execution) -> None:
        pass

    def attempting(self, execution: Execution) -> None:
        _current.set(LogContext(execution.scope.id, execution.id, execution.name))

    def attempted(self, execution: Execution, failure: ToolError) -> None:
        pass

    def ended(self, execution: Execution) -> None:
        pass

    def turn_began(self, session_id: str, turn_id: str) -> None:
        _current.set(LogContext(session_id))

    def turn_ended(self, session_id: str, turn_id: str, end: TurnEnd) -> None:
        if log_context() == LogContext(session_id):
            _current.set(NOBODYS)
