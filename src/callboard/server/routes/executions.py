"""Executions: listed, looked at, begun by hand, cancelled."""

from pydantic_core import to_json

from ...errors import ToolError
from ...execution.failures import CallIdConflict
from ...execution.record import ExecutionRecord
from ...execution.storing import record_of
from ...sessions.calls import BriefRecord
from ...sessions.live_session import LiveSession
from ...storage.errors import IdempotencyConflict
from ...storage.rows import IdempotencyRow
from ..app_services import AppServices, is_id
from ..endpoint import LARGE_BODY, Call, Nothing, endpoint
from ..idempotency import answer_of, key_of, once, row_of
from ..models import (
    AskExecutions,
    Cancelled,
    ExecutionInfo,
    ExecutionList,
    OfSession,
    OutcomeInfo,
    RunTool,
)
from ..pages import LONGEST, collect
from ..problems import not_found
from ..state import execution_info


async def listed(call: Call[Nothing, AskExecutions]) -> ExecutionList:
    session = await call.services.find(call.query.session_id, call.user_id)

    async def read(last: BriefRecord | None, limit: int) -> list[BriefRecord]:
        before = call.query.before if last is None else last.record.id
        return (await session.calls.page(before=before, limit=limit, longest=LONGEST))[::-1]

    newest, more = await collect(read, call.query.limit, _weight)
    executions = [execution_info(*each) for each in reversed(newest)]
    return ExecutionList(executions=executions, next=executions[0].execution_id if more else None)


async def shown(call: Call[Nothing, OfSession]) -> ExecutionInfo:
    session = await call.services.find(call.query.session_id, call.user_id)
    return execution_info(await _record(call.services, session, call.path["execution_id"]))


async def run(call: Call[RunTool, Nothing]) -> OutcomeInfo:
    """Call a tool by hand. Whatever comes of the call, a failure too, is its outcome.

    An idempotency key is the id of the call: the same id again is the same call.
    """
    wanted = call.body
    call_id = key_of(call, wanted.call_id, "call_id")
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


async def cancel(call: Call[OfSession, Nothing]) -> Cancelled:
    found = await call.services.find(call.body.session_id, call.user_id)
    execution_id = call.path["execution_id"]
    if not is_id(execution_id):
        raise not_found("execution")

    async def stop(row: IdempotencyRow | None) -> Cancelled:
        session = await call.services.open(call.body.session_id, call.user_id)
        return Cancelled(cancelled=await session.calls.cancel(execution_id, idempotency=row))

    async def again(row: IdempotencyRow) -> Cancelled:
        return Cancelled(cancelled=answer_of(row).get("cancelled") is True)

    return await once(call, found.id, row_of(call, key_of(call)), stop, again)


def _weight(each: BriefRecord) -> int:
    """About how many bytes a record has in a page."""
    return len(to_json([each.record.arguments, each.record.value, each.record.error], inf_nan_mode="null")) + 1_000


async def _record(services: AppServices, session: LiveSession, execution_id: str) -> ExecutionRecord:
    """The record of an execution, of earlier times and of other processes too."""
    if not is_id(execution_id):
        raise not_found("execution")
    if session.durable:
        await session.settle()
        row = await services.runtime.store.execution(session.id, execution_id)
        if row is None:
            raise not_found("execution")
        return record_of(row, services.runtime.clock.time())
    try:
        return session.calls.record(execution_id)
    except ToolError:
        raise not_found("execution") from None


ENDPOINTS = [
    endpoint(
        "GET",
        "/api/executions",
        listed,
        "The newest executions of a session",
        query=AskExecutions,
        answer=ExecutionList,
        problems=(404,),
        expensive=True,
    ),
    endpoint(
        "POST",
        "/api/executions",
        run,
        "Call a tool by hand",
        body=RunTool,
        answer=OutcomeInfo,
        problems=(400, 404, 409),
        max_body=LARGE_BODY,
    ),
    endpoint(
        "GET",
        "/api/executions/{execution_id}",
        shown,
        "One execution",
        query=OfSession,
        answer=ExecutionInfo,
        problems=(404,),
    ),
    endpoint(
        "POST",
        "/api/executions/{execution_id}/cancel",
        cancel,
        "Stop an execution",
        body=OfSession,
        answer=Cancelled,
        status=202,
        problems=(400, 404, 409),
    ),
]
