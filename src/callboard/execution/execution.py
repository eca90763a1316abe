"""The state of one call while this process carries it out.

`Execution` owns its state: other modules read its fields and change them through its methods. Every change of status
passes the table of `lifecycle`, and an end is final. `ExecutionRecord` is the immutable copy that users get.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from sys import getsizeof
from typing import Any, TypeAlias, cast

from ..errors import ErrorCategory, ToolError
from ..storage.rows import WORKER, ExecutionRow
from ..tools.definition import Tool
from .extras import Extras, OptionalState
from .lifecycle import IllegalTransition, Phase, Status, move, restore_status
from .outcome import Outcome, OutcomeStatus, acknowledgement
from .scope import SessionScope
from .time_limits import TimeLimits

ID_PREFIX = "x"
"""The first character of every execution's id."""


class Priority(IntEnum):
    """The order in which queued calls start."""

    URGENT = 0
    NORMAL = 1
    LOW = 2


Scope: TypeAlias = "SessionScope[Execution]"
"""The session of an execution."""

# Looking a member up in its enumeration costs more than comparing with it.
_NEW, _CALLED, _VALIDATED, _BEGUN = Phase
_PENDING, _VALIDATING, _EXECUTING = Status.PENDING, Status.VALIDATING, Status.EXECUTING
_WAITING, _SUCCEEDED, _OUTCOME_SUCCEEDED = Status.WAITING, Status.SUCCEEDED, OutcomeStatus.SUCCEEDED
_NORMAL = Priority.NORMAL
_new_outcome: Callable[[type[Outcome], tuple[Any, ...]], Outcome] = cast("Any", tuple).__new__
"""Makes an outcome faster than `Outcome(…)`, for the path of every call."""


@dataclass(slots=True, eq=False, repr=False)
class Execution(TimeLimits, OptionalState):
    """One call. `queued`, `started`, `ended` and deadlines are monotonic times; `queued_at` and `at` times of day."""

    id: str
    call_id: str
    tool: Tool
    name: str
    """The name that the caller used, which may not be the name of any tool."""
    scope: Scope
    document: bytes
    """The arguments as JSON, as the caller sent them."""
    queued: float
    queued_at: float
    max_attempts: int = 1
    priority: Priority = _NORMAL
    extras: Extras | None = field(default=None, init=False)
    status: Status = field(default=_PENDING, init=False)
    attempt: int = field(default=0, init=False)
    has_slot: bool = field(default=False, init=False)
    """Whether it holds a slot of the limiter."""
    phase: Phase = field(default=_NEW, init=False)
    """The last phase that it has reached."""
    reported_phase: Phase = field(default=_NEW, init=False)
    """The last phase that its events have reported."""
    at: float | None = field(default=None, init=False)
    """When it reached its phase, if that is later than the call."""
    event_ids: bytes = field(default=b"", init=False)
    """The ids in each of its events, encoded once. See `lifecycle_events.event_ids`."""
    display_arguments: bytes = field(default=b"null", init=False)
    """The arguments as JSON with secret fields masked, once they were read."""
    arguments: Any = field(default=None, init=False)
    """The validated input of the next attempt."""
    result_json: bytes | None = field(default=None, init=False)
    started: float | None = field(default=None, init=False)
    ended: float | None = field(default=None, init=False)
    task: asyncio.Task[None] | None = field(default=None, init=False)
    stop_reason: ToolError | None = field(default=None, init=False)
    """Why the current attempt was asked to stop."""
    delivers_late: bool = field(default=False, init=False)
    """Whether its caller does not wait, so that its result is kept until it is taken."""
    promoted: bool = field(default=False, init=False)
    """Whether its caller stopped waiting because the inline budget was used up."""
    parent: "Execution | None" = field(default=None, init=False)
    children: "dict[Execution, None] | None" = field(default=None, init=False)
    """Its nested calls, without those that have ended. With a store, a call stays until its end is stored, since it
    belongs to the process that owns this one."""
    waiters: tuple[asyncio.Future[None], ...] | None = field(default=None, init=False)

    @property
    def parent_id(self) -> str | None:
        if self.parent is not None:
            return self.parent.id
        return None if self.extras is None else self.extras.parent_id

    @property
    def is_keyed(self) -> bool:
        """Whether it is a nested call with a key, for which later attempts of its parent wait too."""
        return (parent_id := self.parent_id) is not None and self.call_id.startswith(f"{parent_id}:")

    # Admission

    def restore(self, row: ExecutionRow, errors: tuple[ToolError, ...], now: float, at: float) -> None:
        """Take over the state of a stored row. Only for a new execution, before anything else is done with it.

        Raises `StatusInvalid` if the row has the status of an ended execution, or an unknown one.
        """
        self.queued_at, self.queued = row.queued_at, now - max(0.0, at - row.queued_at)
        if row.started_at is not None:
            self.started = self.queued + row.started_at - row.queued_at
        self.status, self.priority = restore_status(row.status), Priority(row.priority)
        self.display_arguments = row.display_arguments
        self.phase = self.reported_phase = _CALLED if self.status is _PENDING else _VALIDATED
        self.delivers_late = row.kind != WORKER and row.parent_id is None
        self.attempt, self.max_attempts = row.attempt, row.max_attempts
        if self.tool.total_timeout is not None:
            self.set_timeout(self.tool.total_timeout)
        self.extras = Extras(
            kind=row.kind,
            errors=errors,
            retry_at=row.retry_at,
            parent_id=row.parent_id,
            continued=True,
            stored=True,
            fingerprint=row.fingerprint,
            queue=row.queue,
            trace=row.trace,
        )

    def mark_worker(self) -> None:
        """Make this the execution of a worker, which answers a user's request."""
        self._set().kind = WORKER

    def set_timeout(self, seconds: float) -> None:
        """Set the deadline, unless it has an earlier one."""
        limit = self.queued + seconds
        self.deadline = limit if self.deadline is None else min(limit, self.deadline)

    def adopt(self, child: "Execution") -> None:
        """Make another execution a nested call of this one: it must end before this one's deadlines."""
        child.parent, child.priority = self, self.priority
        if self.children is None:
            self.children = {}
        self.children[child] = None
        times = (self.deadline, None if child.is_keyed else self.attempt_deadline, child.deadline)
        child.deadline = min((when for when in times if when is not None), default=None)
        if self.queue is not None and child.queue is None:
            child.set_queue("")

    def hold_arguments(self) -> None:
        """Count the bytes of large arguments against the user's limit until the execution ends."""
        self._set().held = held = len(self.document)
        self.scope.user.arguments += held

    def release_arguments(self) -> bool:
        """Stop counting the bytes of large arguments. False if they were not counted."""
        if self.extras is None or not self.extras.held:
            return False
        self.scope.user.arguments -= self.extras.held
        self.extras.held = 0
        return True

    def take_slot(self) -> None:
        self.has_slot = True

    def release_slot(self) -> None:
        self.has_slot = False

    def accept(self, at: float, display_arguments: bytes) -> None:
        """Enter the phase in which the call is known, before its arguments are validated."""
        self.phase, self.at, self.display_arguments = _CALLED, at, display_arguments

    def reject_arguments(self, display_arguments: bytes) -> None:
        """Enter the phase of validation for arguments that are not valid."""
        self.status, self.phase = move(self.status, _VALIDATING), _VALIDATED
        self.display_arguments = display_arguments

    def set_arguments(self, arguments: Any) -> None:
        """Set the validated input of the next attempt."""
        self.arguments = arguments

    def edit_arguments(self, document: bytes, display_arguments: bytes) -> None:
        """Replace the arguments with those that a person edited. The fingerprint stays that of the original ones."""
        self.document, self.display_arguments = document, display_arguments

    def start(self, arguments: Any, display_arguments: bytes, now: float) -> None:
        """Set the validated arguments, and the time at which it started."""
        if _VALIDATING not in self.status.moves:  # `move`, without a call: this is on the path of every call
            raise IllegalTransition(self.status, _VALIDATING)
        self.status, self.phase = _VALIDATING, _VALIDATED
        self.arguments, self.display_arguments, self.started = arguments, display_arguments, now

    def hand_over(self, queue: str) -> None:
        """Hand the execution over to a worker of a queue, which runs it without another request for approval."""
        if self.status is _WAITING:
            self.status = move(self.status, _VALIDATING)
        self.set_queue(queue)
        self.started = None

    def start_on_worker(self, now: float) -> None:
        """Record when a worker first started the execution."""
        if self.started is None:
            self.started = now

    def run_in(self, task: asyncio.Task[None]) -> None:
        """Set the task that carries it out, once that may wait."""
        self.task = task

    def leave(self, task: asyncio.Task[None] | None) -> None:
        """Note that a task ends while the execution waits for a person, unless another task continues it already."""
        if self.task is task:
            self.task = None

    # Attempts

    def next_attempt(self) -> None:
        """Count an attempt, which the breaker may still refuse. An attempt that was handed back counts only once."""
        if not (self.attempt and self.status is _VALIDATING):
            self.attempt += 1

    def hand_back(self) -> None:
        """End an attempt that another process begins again: validating with an attempt, which no other state has."""
        self.status = move(move(self.status, _WAITING), _VALIDATING)

    def execute(self) -> None:
        """Enter the handler."""
        if _EXECUTING not in self.status.moves:
            raise IllegalTransition(self.status, _EXECUTING)
        self.status, self.phase = _EXECUTING, _BEGUN

    def enter(self) -> None:
        """Record that the handler may start at the next step of the attempt."""
        self._set().entered = True

    def end_attempt(self) -> None:
        """Clear the limits of the attempt, and a request to stop that concerned only this attempt."""
        self.attempt_deadline = self.forced_at = None
        if self.extras is not None:
            self.extras.entered = False
        if self.stop_reason is not None:
            self.stop_reason = None
            while self.task is not None and self.task.uncancel():
                pass

    def wait_for_person(self) -> None:
        self.status = move(self.status, _WAITING)

    def wait_for_retry(self, failure: ToolError, retry_at: float | None) -> None:
        """Keep the failure of an attempt and wait for the next attempt, not before a time of day."""
        self.status = move(self.status, _WAITING)
        extras = self._set()
        extras.errors, extras.retry_at = (*extras.errors, failure), retry_at

    def end_delay(self) -> None:
        """Note that the delay before the next attempt is over."""
        self._set().retry_at = None

    def ask_again(self) -> None:
        """Return to validation after a crash that prevented the request to a person from being stored."""
        self.status = move(self.status, _VALIDATING)

    def start_budget(self) -> float:
        """Set the time at which its caller stops waiting, and return it."""
        if self.budget_at is None:
            self.budget_at = self.queued + self.tool.inline_budget
        return self.budget_at

    def request_stop(self, reason: ToolError) -> bool:
        """Set why it must stop. False if it was stopping already; then a final reason replaces a retryable one."""
        if self.stop_reason is None:
            self.stop_reason = reason
            return True
        final = reason.category is ErrorCategory.CANCELLED or reason.retryable is False
        if final and self.stop_reason.category is not ErrorCategory.CANCELLED:
            self.stop_reason = reason
        return False

    # Callers

    async def released(self) -> None:
        """Return when it has ended or was promoted."""
        future = asyncio.get_running_loop().create_future()
        self.waiters = (future,) if self.waiters is None else (*self.waiters, future)
        try:
            await future
        except asyncio.CancelledError:
            self.waiters = tuple(each for each in self.waiters or () if each is not future) or None
            raise

    def release_waiters(self) -> None:
        """Resume every caller that waits for it."""
        waiters, self.waiters = self.waiters, None
        for future in waiters or ():
            if not future.done():
                future.set_result(None)

    def deliver_late(self) -> None:
        """Keep its result until it is taken, since its caller does not wait."""
        self.delivers_late = True

    def promote(self) -> None:
        """Resume the callers while the execution continues. Its result is delivered late."""
        self.budget_at = None
        self.promoted = self.delivers_late = True
        self.release_waiters()

    # Reporting and storing

    def mark_reported(self) -> None:
        """Note that events have reported the phase that it is in."""
        self.reported_phase = self.phase

    def report_again(self, at: float) -> None:
        """Report the start of an attempt again, with a new time."""
        self.reported_phase, self.at = min(self.reported_phase, _VALIDATED), at

    def set_phase_time(self, at: float) -> None:
        """Set when it reached its phase."""
        self.at = at

    def keep_event_ids(self, encoded: bytes) -> None:
        self.event_ids = encoded

    def unload(self) -> None:
        """Drop arguments and result, which the store has. The fingerprint still identifies the arguments."""
        self._set().unloaded = True
        self.document, self.display_arguments, self.result_json = b"null", b"null", None

    # The end

    def succeed(self, now: float, result_json: bytes) -> None:
        if _SUCCEEDED not in self.status.moves:
            raise IllegalTransition(self.status, _SUCCEEDED)
        self.status, self.result_json, self.ended = _SUCCEEDED, result_json, now
        self.arguments = self.task = None
        if self.parent is not None:
            self._leave_parent()

    def fail(self, now: float, error: ToolError, status: Status) -> None:
        """End with an error, as failed or cancelled."""
        self.status = move(self.status, status)
        self._set().error = error
        self._end(now)

    def disown(self, now: float) -> None:
        """End the execution in this process without changing its stored state."""
        self.lose()
        self._end(now)

    def _end(self, now: float) -> None:
        self.ended = now
        self.arguments = self.task = None
        self._leave_parent()

    def mark_settled(self) -> None:
        """Note that its end is stored."""
        self._set().settled = True
        self._leave_parent()

    def _leave_parent(self) -> None:
        """Stop being one of its parent's nested calls, unless its end is still to be stored."""
        if self.parent is not None and self.parent.children and (self.settled or self.lost or not self.scope.durable):
            self.parent.children.pop(self, None)

    @property
    def terminal(self) -> bool:
        return self.ended is not None

    def outcome(self) -> Outcome:
        """Return the state of the call for its caller. An execution that this process lost keeps its last state."""
        if self.status is _SUCCEEDED:
            fields = (_OUTCOME_SUCCEEDED, self.id, self.call_id, self.name, self.result_json, None)
            return _new_outcome(Outcome, fields)
        if (error := self.error) is not None:
            return Outcome(OutcomeStatus(self.status.value), self.id, self.call_id, self.name, None, error)
        asked = self.request is not None and self.status is _WAITING
        status = OutcomeStatus.WAITING if asked else OutcomeStatus.STARTED
        return Outcome(status, self.id, self.call_id, self.name, self.acknowledgement())

    def acknowledgement(self) -> bytes:
        """Return what the model reads while the call continues."""
        asked = self.request if self.status is _WAITING else None
        queued = self.status is _PENDING
        return acknowledgement(self.id, self.tool.name, None if asked is None else asked.id, queued=queued)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + (0 if self.extras is None else getsizeof(self.extras))
