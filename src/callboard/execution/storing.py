"""Conversions: an execution to its stored row and its record, and a stored row to an execution, outcome or record."""

import hashlib
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic_core import from_json, to_json

from ..clock import Clock
from ..errors import ToolError
from ..jsonrules.value_count import exceeds_values
from ..storage.rows import ExecutionRow
from ..tools.definition import Tool
from ..tools.document import canonical
from ..types import Mode
from .execution import Execution, Scope
from .lifecycle import Status, replace_refused
from .outcome import Outcome, OutcomeStatus, acknowledgement
from .record import ExecutionRecord

MAX_ORDERED = 25_000
"""The most values that arguments may have to be sorted for their fingerprint."""


def fingerprint_of(document: bytes) -> str:
    """Return a hash of arguments that does not depend on white space or the order of keys.

    If they are not JSON, or have too many values to be sorted, it is the hash of the text itself.
    """
    if not exceeds_values(document, MAX_ORDERED):
        with suppress(ValueError, RecursionError):
            document = canonical(document)
    return hashlib.sha256(document).hexdigest()


def row_of(execution: Execution, owner: str | None) -> ExecutionRow:
    """Return the row of an execution as it is now."""
    if not execution.fingerprint:
        execution.set_fingerprint(fingerprint_of(execution.document))
    start = execution.queued_at - execution.queued
    ended = None if execution.lost else execution.ended  # a lost one has ended only in this process
    waits_for_person = execution.lost and execution.request is not None and execution.status is Status.WAITING
    secret = ended is not None and execution.tool.has_secrets
    return ExecutionRow(
        id=execution.id,
        session_id=execution.scope.id,
        user_id=execution.scope.user_id,
        call_id=execution.call_id,
        tool=execution.name,
        kind=execution.kind,
        document=None if secret else execution.document,
        fingerprint=execution.fingerprint,
        display_arguments=execution.display_arguments,
        status=execution.status.value,
        priority=execution.priority.value,
        attempt=execution.attempt,
        max_attempts=execution.max_attempts,
        errors=to_json([_written(error) for error in execution.errors], inf_nan_mode="null"),
        value=execution.result_json,
        error=None if execution.error is None else to_json(_written(execution.error), inf_nan_mode="null"),
        late=execution.delivers_late,
        parent_id=execution.parent_id,
        queued_at=execution.queued_at,
        started_at=None if execution.started is None else start + execution.started,
        completed_at=None if ended is None else start + ended,
        owner=None if ended is not None or waits_for_person or execution.handed_over else owner,
        retry_at=execution.retry_at if ended is None and execution.status is Status.WAITING else None,
        queue=execution.queue,
        trace=execution.trace,
    )


def failed_row(row: ExecutionRow, execution: Execution, error: ToolError) -> ExecutionRow:
    """Return the row to store instead of a refused one: failed, and without what it returned or reported.

    The store does not accept it if it has the end of the execution already, which then has no owner.
    """
    ended = execution.queued_at - execution.queued + (execution.ended or execution.queued)
    return replace(
        row,
        status=replace_refused(Status(row.status), Status.FAILED).value,
        errors=b"[]",
        value=None,
        error=to_json(_written(error)),
        late=execution.delivers_late,
        completed_at=ended if row.completed_at is None else row.completed_at,
        owner=None,
        retry_at=None,
    )


def restored(row: ExecutionRow, tool: Tool, scope: Scope, clock: Clock) -> Execution:
    """Return an execution that continues a stored one, which has not ended."""
    now, at = clock.monotonic(), clock.time()
    execution = Execution(row.id, row.call_id, tool, row.tool, scope, row.document or b"null", now, at)
    execution.restore(row, tuple(_read(error) for error in from_json(row.errors)), now, at)
    return execution


def live_record(execution: Execution, now: float) -> ExecutionRecord:
    """Return the record of an execution of this process, at a monotonic time."""
    start = execution.queued_at - execution.queued  # converts a monotonic time into a time of day
    return ExecutionRecord(
        id=execution.id,
        call_id=execution.call_id,
        tool=execution.name,
        session_id=execution.scope.id,
        user_id=execution.scope.user_id,
        arguments=from_json(execution.display_arguments),
        status=execution.status,
        value=None if execution.result_json is None else from_json(execution.result_json),
        error=None if execution.error is None else execution.error.to_model(),
        queued_at=datetime.fromtimestamp(execution.queued_at, UTC),
        started_at=None if execution.started is None else datetime.fromtimestamp(start + execution.started, UTC),
        completed_at=None if execution.ended is None else datetime.fromtimestamp(start + execution.ended, UTC),
        queued_for=None if execution.started is None else execution.started - execution.queued,
        ran_for=None
        if execution.started is None
        else (now if execution.ended is None else execution.ended) - execution.started,
        attempt=execution.attempt,
        max_attempts=execution.max_attempts,
        previous_errors=tuple(error.to_model() for error in execution.errors),
        promoted=execution.promoted,
        parent_id=execution.parent_id,
    )


def outcome_of(row: ExecutionRow) -> Outcome:
    """Return the outcome of a stored execution for its caller."""
    if row.status == Status.SUCCEEDED:
        return Outcome(OutcomeStatus.SUCCEEDED, row.id, row.call_id, row.tool, row.value)
    if row.error is not None:
        return Outcome(OutcomeStatus(row.status), row.id, row.call_id, row.tool, None, _read(from_json(row.error)))
    waiting = acknowledgement(row.id, row.tool, None, queued=row.status == Status.PENDING)
    return Outcome(OutcomeStatus.STARTED, row.id, row.call_id, row.tool, waiting)


def record_of(row: ExecutionRow, tool: Tool | None, now: float) -> ExecutionRecord:
    """Return the record of a stored execution, and of its tool if this process has it."""
    return ExecutionRecord(
        id=row.id,
        call_id=row.call_id,
        tool=row.tool,
        session_id=row.session_id,
        user_id=row.user_id,
        arguments=from_json(row.display_arguments),
        status=Status(row.status),
        value=None if row.value is None else from_json(row.value),
        error=None if row.error is None else _read(from_json(row.error)).to_model(),
        queued_at=datetime.fromtimestamp(row.queued_at, UTC),
        started_at=None if row.started_at is None else datetime.fromtimestamp(row.started_at, UTC),
        completed_at=None if row.completed_at is None else datetime.fromtimestamp(row.completed_at, UTC),
        queued_for=None if row.started_at is None else row.started_at - row.queued_at,
        ran_for=None if row.started_at is None else (row.completed_at or now) - row.started_at,
        attempt=row.attempt,
        max_attempts=row.max_attempts,
        previous_errors=tuple(_read(error).to_model() for error in from_json(row.errors)),
        promoted=row.late and tool is not None and tool.mode is Mode.INLINE,
        parent_id=row.parent_id,
    )


def _written(error: ToolError) -> dict[str, Any]:
    return {**error.to_model(), "retryable": error.retryable}


def _read(error: dict[str, Any]) -> ToolError:
    return ToolError(
        error["message"],
        category=error["category"],
        retryable=error.get("retryable"),
        retry_after=error.get("retry_after"),
        details=error.get("details"),
    )
