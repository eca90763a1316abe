"""What people are told of an execution: its events, written from the state that it is in.

How it begins (called, validated, executing) is not told step by step: within one turn of the event loop nobody could
look between, so what was not told yet is told together with whatever comes next.
"""

from pydantic_core import to_json

from ..events.event import written
from ..events.millisecond_clock import MillisecondClock
from .execution import CALLED, EXECUTING, VALIDATED, Execution

_joined = b"".join
_STARTED, _VALIDATING = b'{"kind":"tool_started","at":"', b'{"kind":"tool_validating","at":"'
_EXECUTING, _RESULT = b'{"kind":"tool_executing","at":"', b'{"kind":"tool_result","at":"'


def opening(execution: Execution) -> tuple[bytes, ...]:
    """The events of how it begins that were not told yet. From now on they count as told."""
    told, reached = execution.reported_phase, execution.phase
    if told == reached:
        return ()
    execution.reported_phase = reached
    begun = written(execution.at or execution.queued_at) + head(execution)
    events: list[bytes] = []
    if told < CALLED:
        events.append(_joined((_STARTED, begun, b',"arguments":', execution.display_arguments, b"}}")))
    if told < VALIDATED <= reached:
        events.append(_joined((_VALIDATING, begun, b"}}")))
    if reached == EXECUTING:
        events.append(_joined((_EXECUTING, begun, which_attempt(execution.attempt, execution.max_attempts), b"}}")))
    return tuple(events)


def success(execution: Execution, clock_ms: MillisecondClock, encoded: bytes) -> tuple[bytes, ...]:
    """The event with which it ends well, now, after those that were not told yet: all of them, if it never waited."""
    number, at = execution.id, clock_ms.text
    if not execution.head and execution.call_id is number:
        now_and_ids = f'{at}","data":{{"execution_id":"{number}","call_id":"{number}",{execution.tool.label}'.encode()
    else:
        now_and_ids = at.encode() + (execution.head or _ids(execution))
    end = _joined((_RESULT, now_and_ids, b',"status":"succeeded","value":', encoded, b"}}"))
    if execution.reported_phase:
        return (*opening(execution), end)
    execution.reported_phase = EXECUTING
    same = execution.queued >= clock_ms.since  # in this millisecond
    begun = now_and_ids if same else written(execution.queued_at) + now_and_ids[len(at) :]
    maximum = execution.max_attempts
    return (
        _joined((_STARTED, begun, b',"arguments":', execution.display_arguments, b"}}")),
        _joined((_VALIDATING, begun, b"}}")),
        _joined((_EXECUTING, begun, _FIRST[maximum] if maximum < 10 else _first_of(maximum))),
        end,
    )


def head(execution: Execution) -> bytes:
    """What stands in every event of an execution between its time and what it says. It is kept, if it comes to wait."""
    if not execution.head:
        execution.head = _ids(execution)
    return execution.head


def _ids(execution: Execution) -> bytes:
    number, call_id, tool = execution.id, execution.call_id, execution.tool
    given = number if call_id is number else to_json(call_id).decode()[1:-1]
    label = tool.label if execution.name is tool.name else f'"tool":{to_json(execution.name).decode()}'
    return f'","data":{{"execution_id":"{number}","call_id":"{given}",{label}'.encode()


def which_attempt(attempt: int, maximum: int) -> bytes:
    """Which attempt it is, as fields of an event's data."""
    return b',"attempt":%d,"maximum":%d' % (attempt, maximum)


def _first_of(maximum: int) -> bytes:
    """How the event of the first one ends, which is the only one that can end without having waited."""
    return which_attempt(1, maximum) + b"}}"


_FIRST = tuple(map(_first_of, range(10)))
