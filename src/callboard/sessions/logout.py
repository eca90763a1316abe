"""Logout: the running work of a session ends as the `logout` policy of each tool says.

The policy of the outermost call decides for a whole call tree: a nested call continues, and ends, with its caller.
"""

from collections.abc import Iterable

from ..clock import Clock, within
from ..errors import ErrorCategory, ToolError
from ..execution.execution import Execution
from ..execution.lifecycle import Status
from ..execution.manager import ExecutionManager
from ..storage.rows import ExecutionRow
from ..types import Logout
from .cancellation import stop_each
from .live_session import LiveSession


async def finish_work(session: LiveSession, grace: float, manager: ExecutionManager, clock: Clock) -> None:
    """Cancel or wait for running work, at most the grace time.

    Work that still runs then ends as failed (timeout), with a notice. Work that this process does not own is only
    cancelled, and not waited for.
    """
    cancelled = [each for each in session.calls.unfinished if _policy(each) is Logout.CANCEL]
    await stop_each(cancelled, manager.cancel)
    waiting = [each for each in session.calls.unfinished if _is_awaited(each)]
    if waiting:
        await within(clock, grace, _all_ended(waiting, manager))
    if left := [each for each in waiting if not each.terminal]:
        await stop_each(left, lambda execution: manager.end(execution, _logged_out(execution)))
        names = ", ".join(sorted({each.name for each in left}))
        await session.notice(f"Work was still running at the logout and was ended: {names}.", tools=names)

    services = session.services

    def is_cancelled(row: ExecutionRow) -> bool:
        tool = services.tool_of(row)
        return row.parent_id is None and tool is not None and tool.logout is Logout.CANCEL

    if any(tool.logout is Logout.CANCEL for tool in (*services.registry, *services.workers)):  # else no query
        await session.cancellation.cancel_others(is_cancelled)


async def _all_ended(executions: Iterable[Execution], manager: ExecutionManager) -> None:
    for execution in executions:
        await manager.wait(execution)


def _policy(execution: Execution) -> Logout:
    """Return the policy of the outermost caller of an execution."""
    while execution.parent is not None:
        execution = execution.parent
    return execution.tool.logout


def _is_awaited(execution: Execution) -> bool:
    """Return whether a logout waits for an execution: not for `keep_running`, nor for a request to a person."""
    waits_for_person = execution.request is not None and execution.status is Status.WAITING
    return _policy(execution) is Logout.FINISH_FIRST and not waits_for_person


def _logged_out(execution: Execution) -> ToolError:
    if execution.attempt:
        message = f"The session was closed while {execution.name} ran. It is not known whether it took effect."
    else:  # it waited for its turn, or a person has just approved it
        message = f"The session was closed before {execution.name} began. Nothing was done."
    return ToolError(message, category=ErrorCategory.TIMEOUT, retryable=False)
