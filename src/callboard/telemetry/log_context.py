"""The context of log lines: the session, the execution and the tool of the running code.

It is set in handlers and turns, and in the tasks and threads that they start.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

from ..errors import ToolError
from ..execution.execution import Execution
from ..runtime import Runtime
from .turn_watch import TurnEnd, TurnWatch


class LogContext(NamedTuple):
    """The session, execution and tool of the running code, as far as they are known."""

    session: str | None = None
    execution: str | None = None
    tool: str | None = None


NO_CONTEXT = LogContext()
_current: ContextVar[LogContext] = ContextVar("callboard_log_context", default=NO_CONTEXT)


def log_context() -> LogContext:
    """Return the context of the running code."""
    return _current.get()


def attach_log_context(runtime: Runtime) -> Callable[[], None]:
    """Set the log context in a runtime's handlers and turns. Call the returned function to stop."""
    setter = _ContextSetter()
    detach, watch = runtime.manager.observe(setter), TurnWatch(runtime, setter)

    def stop() -> None:
        detach()
        watch.close()

    return stop


class _ContextSetter:
    def called(self, execution: Execution) -> None: ...

    def attempting(self, execution: Execution) -> None:
        _current.set(LogContext(execution.scope.id, execution.id, execution.name))

    def attempted(self, execution: Execution, failure: ToolError) -> None: ...

    def ended(self, execution: Execution) -> None: ...

    def turn_began(self, session_id: str, turn_id: str) -> None:
        _current.set(LogContext(session_id))

    def turn_ended(self, session_id: str, turn_id: str, end: TurnEnd) -> None:
        if log_context() == LogContext(session_id):
            _current.set(NO_CONTEXT)
