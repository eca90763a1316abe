"""Executions: list, get, run by hand, cancel."""

from pydantic_core import to_json

from ...errors import ToolError
from ...execution.failures import CallIdConflict
from ...execution.record import BriefRecord
from ...sessions.ids import is_valid_id
from ...storage.errors import IdempotencyConflict
from ...storage.rows import IdempotencyRow
from ..endpoint import LARGE_BODY, WRITES, ApiCall, Nothing, endpoint
from ..idempotency import idempotency_key, run_once, stored_answer
from ..models import (
    Cancelled,
    ExecutionInfo,
    ExecutionList,
    ExecutionsQuery,
    OutcomeInfo,
    RunTool,
    SessionRef,
)
from ..paging import MAX_FIELD, read_page
from ..problems import not_found
from ..session_state import execution_info


async def list_executions(call: ApiCall[Nothing, ExecutionsQuery]) -> ExecutionList:
    """List the newest executions of a session."""
    session = await call.services.find(call.query.session_id, call.user_id)

    async def read(last: BriefRecord | None, limit: int) -> list[BriefRecord]:
        before = call.query.before if last is None else last.record.id
        return (await session.calls.page(before=before, limit=limit, longest=MAX_FIELD))[::-1]

    newest, more = await read_page(read, call.query.limit, _weight)
    executions = [execution_info(*each) for each in reversed(newest)]
    return ExecutionList(executions=executions, next=executions[0].execution_id if more else None)


async def get_execution(call: ApiCall[Nothing, SessionRef]) -> ExecutionInfo:
    """Get an execution. It may have ended, or run in another process."""
    session, execution_id = await call.services.find(call.query.session_id, call.user_id), call.path["execution_id"]
    if not is_valid_id(execution_id):
        raise not_found("execution")
    try:
        return execution_info(await session.calls.stored_record(execution_id))
    except ToolError:
        raise not_found("execution") from None


async def run_tool(call: ApiCall[RunTool, Nothing]) -> OutcomeInfo:
    """Call a tool by hand. The response is the call's outcome, also if it failed.

    An idempotency key is the id of the call: a repeated id is the same call.
    """
    wanted = call.body
    call_id = idempotency_key(call, wanted.call_id, "call_id")
    session = await call.services.open(wanted.session_id, call.user_id)
    outcome = await session.call(wanted.tool, wanted.arguments, call_id=call_id)
    if isinstance(outcome.error, CallIdConflict) and wanted.call_id is None:
        raise IdempotencyConflict(outcome.call_id)
    return OutcomeInfo(
        status=outcome.status.value,
        queued=outcome.queued,
        execution_id=outcome.execution_id,
        call_id=outcome.call_id,
        tool=outcome.tool,
        value=outcome.value,
        error=None if outcome.error is None else outcome.error.to_model(),
    )


async def cancel_execution(call: ApiCall[SessionRef, Nothing]) -> Cancelled:
    """Cancel an execution."""
    found = await call.services.find(call.body.session_id, call.user_id)
    execution_id = call.path["execution_id"]
    if not is_valid_id(execution_id):
        raise not_found("execution")

    async def stop(row: IdempotencyRow | None) -> Cancelled:
        session = await call.services.open(call.body.session_id, call.user_id)
        return Cancelled(cancelled=await session.cancellation.cancel(execution_id, idempotency=row))

    async def again(row: IdempotencyRow) -> Cancelled:
        return Cancelled(cancelled=stored_answer(row).get("cancelled") is True)

    return await run_once(call, found.id, idempotency_key(call), stop, again)


def _weight(each: BriefRecord) -> int:
    """Estimate the bytes of a record in a page."""
    return len(to_json([each.record.arguments, each.record.value, each.record.error], inf_nan_mode="null")) + 1_000


ENDPOINTS = [
    endpoint("GET", "/api/executions", list_executions, problems=(404,), expensive=True),
    endpoint("POST", "/api/executions", run_tool, problems=WRITES, max_body=LARGE_BODY),
    endpoint("GET", "/api/executions/{execution_id}", get_execution, problems=(404,)),
    endpoint("POST", "/api/executions/{execution_id}/cancel", cancel_execution, status=202, problems=WRITES),
]
