"""A logout: what becomes of the work of a session whose user leaves, as each tool says."""

from collections.abc import Iterable

from ..clock import Clock, within
from ..errors import ErrorCategory, ToolError
from ..execution.execution import Execution
from ..execution.lifecycle import Status
from ..execution.manager import ExecutionManager
from ..types import Logout
from .live_session import LiveSession


async def finish_work(session: LiveSession, grace: float, manager: ExecutionManager, clock: Clock) -> None:
    """Return when nothing runs that a logout ends or waits for, after the grace time at the latest.

    What then still runs ends as failed (timeout), and people are told.
    """
    for execution in session.calls.unfinished:
        if execution.tool.logout is Logout.CANCEL:
            manager.cancel(execution)
    waiting = [each for each in session.calls.unfinished if _holds_up(each)]
    if waiting:
        await within(clock, grace, _all_ended(waiting, manager))
    if left := [each for each in waiting if not each.terminal]:
        for execution in left:
            manager.end(execution, _logged_out(execution))
        names = ", ".join(sorted({each.name for each in left}))
        await session.notice(f"Work was still running at the logout and was ended: {names}.", tools=names)


async def _all_ended(executions: Iterable[Execution], manager: ExecutionManager) -> None:
    for execution in executions:
        await manager.wait(execution)


def _holds_up(execution: Execution) -> bool:
    """Whether a logout waits for it: not for what goes on anyway, nor for people."""
    asked = execution.request is not None and execution.status is Status.WAITING
    return execution.tool.logout is Logout.FINISH_FIRST and not asked


def _logged_out(execution: Execution) -> ToolError:
    return ToolError(
        f"The session was closed while {execution.name} ran. It is not known whether it took effect.",
        category=ErrorCategory.TIMEOUT,
        retryable=False,
    )
