"""The built-in tools for background work: status, list, result, cancel.

They see the executions of their own session only.
"""

import sys
from collections.abc import Callable
from typing import Annotated, Any

from ..errors import ErrorCategory, ToolError
from ..execution.lifecycle import Status
from ..execution.outcome import QUEUED
from ..tools.context import ToolContext
from ..tools.definition import RESERVED_NAMESPACE, Tool
from ..tools.function import tool
from .live_session import LiveSession

ExecutionId = Annotated[str, "The execution id from the acknowledgement of the call"]

_CUT_BEFORE = sys.maxsize
"""The limit of a result that is within the limit of the tool that it comes from, apart from the note in an excerpt."""


def task_tools(find: Callable[[str], LiveSession | None]) -> list[Tool]:
    """Create the tools for the sessions of one runtime."""

    def session_of(ctx: ToolContext) -> LiveSession:
        if ctx.session_id is None or (session := find(ctx.session_id)) is None:
            raise ToolError("There is no session here.", category=ErrorCategory.CONFIGURATION)
        return session

    @tool(namespace=RESERVED_NAMESPACE, idempotent=True)
    async def task_status(ctx: ToolContext, execution_id: ExecutionId) -> dict[str, Any]:
        """Report the status of a call that was started earlier."""
        outcome = await session_of(ctx).calls.result(execution_id, timeout=0)
        status = QUEUED if outcome.queued else outcome.status.value
        return {"execution_id": execution_id, "tool": outcome.tool, "status": status}

    @tool(namespace=RESERVED_NAMESPACE, idempotent=True)
    async def task_list(ctx: ToolContext) -> list[dict[str, Any]]:
        """List the calls that are still running or waiting for a person."""
        records = await session_of(ctx).calls.history(200, unfinished=True)
        return [
            {
                "execution_id": each.id,
                "tool": each.tool,
                "status": QUEUED if each.status is Status.PENDING else each.status.value,
            }
            for each in records
            if each.id != ctx.execution_id
        ]

    @tool(namespace=RESERVED_NAMESPACE, idempotent=True, result_limit=_CUT_BEFORE)
    async def task_result(
        ctx: ToolContext,
        execution_id: ExecutionId,
        offset: Annotated[int, "The character to start from, if an earlier result was cut"] = 0,
    ) -> Any:
        """Return the result of a call that was started earlier, or its status if it has not ended."""
        session = session_of(ctx)
        outcome = await session.calls.result(execution_id, timeout=0)
        if outcome.error is not None:
            raise outcome.error
        return session.render_for_model(outcome, offset)

    @tool(namespace=RESERVED_NAMESPACE, idempotent=True)
    async def cancel_task(ctx: ToolContext, execution_id: ExecutionId) -> dict[str, Any]:
        """Cancel a running call."""
        stopped = await session_of(ctx).cancellation.cancel(execution_id)
        return {"execution_id": execution_id, "cancelled": stopped}

    return [task_status, task_list, task_result, cancel_task]
