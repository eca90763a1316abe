"""The tasks extension: background calls as tasks that a client polls, answers and cancels.

A task is an execution, so it is stored before the client learns its id, and every process that shares the store serves
it. The id names the execution and its session, which must be the user's own.
"""

from contextlib import suppress
from typing import Any

from mcp import types
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import HEADER_MISMATCH
from pydantic import Field
from starlette.requests import Request

from ...errors import ErrorCategory, ToolError
from ...execution.outcome import Outcome, OutcomeStatus
from ...execution.record import ExecutionRecord
from ...sessions.answers import AnswerInvalid
from ...sessions.open_request import OpenRequest
from ...sessions.session import Session, live_session
from ...shortening import shorten
from .call_events import is_within
from .call_results import call_result
from .capabilities import missing_capability
from .client_inputs import ClientInput, client_input, deliver_answer, methods_of
from .connections import TASKS, Connections, Context, is_modern, supports_tasks

TTL_MS = 3_600_000
"""Milliseconds for which a task can be read, at least, as far as the session keeps its executions."""
POLL_MS = 500
"""Milliseconds that a client should wait between two polls."""

_INTERNAL = frozenset({ErrorCategory.INTERRUPTED, ErrorCategory.UNKNOWN})
"""The categories of failures of the server, not of the tool."""


class TaskParams(types.RequestParams):
    """The parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str


class TaskUpdateParams(TaskParams):
    """The parameters of `tasks/update`."""

    input_responses: dict[str, dict[str, Any]] = Field(default_factory=dict)


class Tasks:
    """Handles the methods of the extension."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def get(self, ctx: Context, params: TaskParams) -> dict[str, Any]:
        """Return the state of a task, with its result, its error, or what it waits for."""
        session, record = await self._find(ctx, params)
        outcome = await session.result(record.id, timeout=0)
        head = {"resultType": "complete", **task_head(session, record)}
        if not outcome.done:
            return {**head, **await self._waiting(ctx, session, record)}
        if outcome.status is OutcomeStatus.CANCELLED:
            return {**head, "status": "cancelled"}
        error = outcome.error
        if error is not None and error.category in _INTERNAL:
            return {**head, "status": "failed", "error": {"code": types.INTERNAL_ERROR, "message": error.message}}
        return {**head, "status": "completed", "result": self._result(session, outcome)}

    async def update(self, ctx: Context, params: TaskUpdateParams) -> dict[str, Any]:
        """Deliver answers to requests of a task. Unknown and invalid answers change nothing."""
        session, record = await self._find(ctx, params)
        for asked in self._inputs(ctx, session, await _requests(session, record.call_id)):
            if (response := params.input_responses.get(asked.request.id)) is not None:
                with suppress(AnswerInvalid):
                    await deliver_answer(session, asked, response)
        return {"resultType": "complete"}

    async def cancel(self, ctx: Context, params: TaskParams) -> dict[str, Any]:
        """Cancel a task, unless it has ended."""
        session, record = await self._find(ctx, params)
        await session.cancel(record.id)
        return {"resultType": "complete"}

    async def _find(self, ctx: Context, params: TaskParams) -> tuple[Session, ExecutionRecord]:
        """Find a task of the user. Raises `MCPError`."""
        if not is_modern(ctx):
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found", ctx.method)
        if not supports_tasks(ctx):
            raise missing_capability({"extensions": {TASKS: {}}})
        request: Request | None = ctx.request
        named = None if request is None else request.headers.get(MCP_NAME_HEADER)  # FastMCP 4.1 does not send it
        if named is not None and decode_header_value(named) != params.task_id:
            message = f"{MCP_NAME_HEADER} header does not match the request body's 'taskId' parameter"
            raise MCPError(HEADER_MISMATCH, message)
        execution_id, _, session_id = params.task_id.partition("@")
        missing = MCPError(types.INVALID_PARAMS, f"There is no task {shorten(params.task_id, 80)!r}.")
        if not session_id:
            raise missing
        try:
            session = await self._connections.find(ctx, session_id)
            return session, await live_session(session).calls.stored_record(execution_id)
        except (MCPError, ToolError):
            raise missing from None

    async def _waiting(self, ctx: Context, session: Session, record: ExecutionRecord) -> dict[str, Any]:
        """Return the state of a task that has not ended."""
        requests = await _requests(session, record.call_id)
        if inputs := self._inputs(ctx, session, requests):
            return {"status": "input_required", "inputRequests": {each.request.id: each.to_wire() for each in inputs}}
        if requests:
            return {"status": "working", "statusMessage": self._connections.how_to_answer(requests)}
        return {"status": "working"}

    def _inputs(self, ctx: Context, session: Session, requests: list[OpenRequest]) -> list[ClientInput]:
        """Return the requests that the client can carry out."""
        tools, methods = session.tools(), methods_of(ctx)
        found = [client_input(request, tools.get(request.tool), methods) for request in requests]
        return [each for each in found if each is not None]

    def _result(self, session: Session, outcome: Outcome) -> dict[str, Any]:
        live = live_session(session)
        tool = live.own_tool(outcome.tool) or self._connections.registry.get(outcome.tool)
        return call_result(outcome, tool, live, tasks=True)


async def created_task(session: Session, execution_id: str) -> dict[str, Any]:
    """Return the result of a call that continues as a task."""
    record = await live_session(session).calls.stored_record(execution_id)
    return {"resultType": "task", **task_head(session, record), "status": "working"}


def task_head(session: Session, record: ExecutionRecord) -> dict[str, Any]:
    """Return the fields of a task that do not depend on its state."""
    updated = record.completed_at or record.started_at or record.queued_at
    return {
        "taskId": f"{record.id}@{session.id}",
        "createdAt": record.queued_at.isoformat(timespec="milliseconds"),
        "lastUpdatedAt": updated.isoformat(timespec="milliseconds"),
        "ttlMs": TTL_MS,
        "pollIntervalMs": POLL_MS,
    }


async def _requests(session: Session, call_id: str) -> list[OpenRequest]:
    """Return the open requests of a call and of its nested calls."""
    live = live_session(session)
    rows = [row for row in await live.requests() if await is_within(live, row.execution_id, call_id)]
    return [OpenRequest.from_row(row) for row in rows]
