"""The events of an execution, encoded from its state. Every event of a call is written by a function of this module.

The first three (started, validating, executing) are not written one by one: within one turn of the event loop no reader
can run between them, so those that are not reported yet are written together with whatever comes next.
"""

from collections.abc import Iterable

from pydantic_core import to_json

from ..errors import ToolError
from ..events.event import encode_event, iso_time
from ..events.kinds import EventKind
from ..events.millisecond_clock import MillisecondClock
from .execution import Execution
from .lifecycle import Phase

_join = b"".join
_NEW, _VALIDATED, _EXECUTING = Phase.NEW, Phase.VALIDATED, Phase.EXECUTING
_STARTED_HEAD, _VALIDATING_HEAD = b'{"kind":"tool_started","at":"', b'{"kind":"tool_validating","at":"'
_EXECUTING_HEAD, _RESULT_HEAD = b'{"kind":"tool_executing","at":"', b'{"kind":"tool_result","at":"'
_OPENING_HEADS = (_STARTED_HEAD, _VALIDATING_HEAD, _EXECUTING_HEAD)


def opening_events(execution: Execution) -> tuple[bytes, ...]:
    """Return the first events that are not reported yet, and mark them as reported."""
    reported, phase = execution.reported_phase, execution.phase
    if reported is phase:
        return ()
    execution.mark_reported()
    time_and_ids = iso_time(execution.at or execution.queued_at) + (execution.event_ids or event_ids(execution))
    if reported is _NEW and phase is _EXECUTING and execution.attempt == 1:
        return _first_three(execution, time_and_ids)
    events: list[bytes] = []
    if reported is _NEW:
        events.append(_join((_STARTED_HEAD, time_and_ids, b',"arguments":', execution.display_arguments, b"}}")))
    if reported < _VALIDATED <= phase:
        events.append(_join((_VALIDATING_HEAD, time_and_ids, b"}}")))
    if phase is _EXECUTING:
        attempt = _attempt(execution.attempt, execution.max_attempts)
        events.append(_join((_EXECUTING_HEAD, time_and_ids, attempt)))
    return tuple(events)


def success_events(execution: Execution, clock_ms: MillisecondClock, result_json: bytes) -> tuple[bytes, ...]:
    """Return the terminal event of a success, after those that are not reported yet: all four, if it never waited.

    A worker's execution has only its answer.
    """
    if execution.extras is not None and execution.is_worker:
        return (response_event(clock_ms.at, execution.call_id, execution.name, result_json, b"null"),)
    execution_id, at = execution.id, clock_ms.text
    if not execution.event_ids and execution.call_id is execution_id:
        ids = f'","data":{{"execution_id":"{execution_id}","call_id":"{execution_id}",{execution.tool.label}'
        time_and_ids = f"{at}{ids}".encode()
    else:
        time_and_ids = at.encode() + (execution.event_ids or _encode_ids(execution))
    end = _join((_RESULT_HEAD, time_and_ids, b',"status":"succeeded","value":', result_json, b"}}"))
    if execution.reported_phase is not _NEW:
        return (end,) if execution.reported_phase is execution.phase else (*opening_events(execution), end)
    if execution.queued < clock_ms.since:  # it was called in an earlier millisecond
        time_and_ids = iso_time(execution.queued_at) + time_and_ids[len(at) :]
    first, second, third = _first_three(execution, time_and_ids)
    return (first, second, third, end)


def failure_events(execution: Execution, at: float, error_json: bytes) -> tuple[bytes, ...]:
    """Return the terminal event of a failure or cancellation, after those that are not reported yet.

    A worker's execution has only its answer.
    """
    if execution.is_worker:
        return (response_event(at, execution.call_id, execution.name, b"null", error_json),)
    fields = b',"status":"%b","error":%b' % (execution.status.encode(), error_json)
    return (*opening_events(execution), _event(execution, EventKind.TOOL_RESULT, at, fields))


def refused_events(events: Iterable[bytes], execution: Execution, at: float, error: ToolError) -> tuple[bytes, ...]:
    """Return the events of an execution whose data the store does not take: the first three, and that it failed."""
    error_json = to_json(error.to_model())
    if execution.is_worker:
        return (response_event(at, execution.call_id, execution.name, b"null", error_json),)
    end = _event(execution, EventKind.TOOL_RESULT, at, b',"status":"failed","error":' + error_json)
    return (*(event for event in events if event.startswith(_OPENING_HEADS)), end)


def retrying_event(execution: Execution, at: float, error_json: bytes, delay: float) -> bytes:
    """Return the event of a failed attempt that another one follows."""
    numbers = (execution.attempt, execution.max_attempts)
    fields = b',"attempt":%d,"maximum":%d,"error":%b,"delay":%b' % (*numbers, error_json, to_json(delay))
    return _event(execution, EventKind.TOOL_RETRYING, at, fields)


def progress_event(execution: Execution, at: float, stage: str, fraction: float | None, message: str | None) -> bytes:
    """Return the event of progress that a handler reports."""
    data = to_json({"stage": stage, "fraction": fraction, "message": message})
    return _event(execution, EventKind.TOOL_PROGRESS, at, b"," + data[1:-1])


def worker_progress_event(
    execution: Execution, at: float, stage: str, fraction: float | None, message: str | None
) -> bytes:
    """Return the notice of progress that a worker reports, which names the user's request."""
    details = {"request_id": execution.call_id, "request_kind": execution.name, "stage": stage, "fraction": fraction}
    return encode_event(EventKind.SYSTEM_NOTICE, at, to_json({"message": message or stage, "details": details}))


def partial_event(execution: Execution, at: float, value_json: bytes) -> bytes:
    """Return the event of a partial result."""
    return _event(execution, EventKind.TOOL_PARTIAL, at, b',"value":' + value_json)


def response_event(at: float, request_id: str, request_kind: str, payload_json: bytes, error_json: bytes) -> bytes:
    """Return the answer to a user's request. The payload or the error is `null`."""
    fields = (to_json(request_id), to_json(request_kind), payload_json, error_json)
    data = b'{"request_id":%b,"request_kind":%b,"payload":%b,"error":%b}' % fields
    return encode_event(EventKind.USER_RESPONSE, at, data)


def event_ids(execution: Execution) -> bytes:
    """Return the part of an event between its time and its own fields, kept on the execution once it is needed."""
    if not execution.event_ids:
        execution.keep_event_ids(_encode_ids(execution))
    return execution.event_ids


def _event(execution: Execution, kind: EventKind, at: float, fields: bytes) -> bytes:
    return b'{"kind":"%b","at":"%b%b%b}}' % (kind.encode(), iso_time(at), event_ids(execution), fields)


def _encode_ids(execution: Execution) -> bytes:
    execution_id, call_id, tool = execution.id, execution.call_id, execution.tool
    quoted = execution_id if call_id is execution_id else to_json(call_id).decode()[1:-1]
    label = tool.label if execution.name == tool.name else f'"tool":{to_json(execution.name).decode()}'
    return f'","data":{{"execution_id":"{execution_id}","call_id":"{quoted}",{label}'.encode()


def _first_three(execution: Execution, time_and_ids: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the events of an execution that began its first attempt before anything was reported."""
    maximum = execution.max_attempts
    return (
        _join((_STARTED_HEAD, time_and_ids, b',"arguments":', execution.display_arguments, b"}}")),
        _join((_VALIDATING_HEAD, time_and_ids, b"}}")),
        _join((_EXECUTING_HEAD, time_and_ids, _FIRST[maximum] if maximum < 10 else _attempt(1, maximum))),
    )


def _attempt(attempt: int, maximum: int) -> bytes:
    """Return the end of the event of an attempt."""
    return b',"attempt":%d,"maximum":%d}}' % (attempt, maximum)


_FIRST = tuple(_attempt(1, maximum) for maximum in range(10))
"""The ends of the events of first attempts, by the maximum of attempts."""
