"""Reports events of executions to their sessions, and lets a running handler report its own."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from ..clock import Clock
from ..errors import CATEGORIES, ErrorCategory, ToolError
from ..events.kinds import EventKind
from .execution import Execution
from .lifecycle import Status
from .lifecycle_events import opening_events, partial_event, progress_event, retrying_event

log = logging.getLogger("callboard.execution")


class Reporting:
    """Appends events of live executions to their boards, each with the state that it reports.

    Of a worker's execution only the end is reported (see `finishing`), as the answer to the user's request.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def report(self, execution: Execution, *events: bytes) -> None:
        """Report how an execution began, if that is not reported yet, and events."""
        events = (*opening_events(execution), *events)
        execution.scope.append_events(() if execution.is_worker else events, execution)

    def retrying(self, execution: Execution, error_json: bytes, delay: float) -> None:
        """Report a failed attempt that another one follows."""
        self.report(execution, retrying_event(execution, self._clock.time(), error_json, delay))

    def progress(self, execution: Execution, stage: str, fraction: float | None, message: str | None) -> None:
        """Report progress of a handler."""
        self.report(execution, progress_event(execution, self._clock.time(), stage, fraction, message))

    def partial(self, execution: Execution, value: Any) -> None:
        """Report a partial result."""
        value_json = execution.tool.result.encode(value)
        self.report(execution, partial_event(execution, self._clock.time(), value_json))


class AttemptReporter:
    """The reporter behind the `ToolContext` of one attempt. After the attempt it reports nothing."""

    __slots__ = ("_attempt", "_call", "_clock", "_execution", "_reporting")

    def __init__(
        self,
        reporting: Reporting,
        clock: Clock,
        call: Callable[[Execution, str, Any], Awaitable[Any]],
        execution: Execution,
    ) -> None:
        self._reporting = reporting
        self._clock = clock
        self._call = call
        """Makes a nested call of an execution."""
        self._execution = execution
        self._attempt = execution.attempt

    async def progress(self, stage: str, fraction: float | None, message: str | None) -> None:
        if self._is_open(EventKind.TOOL_PROGRESS):
            self._reporting.progress(self._execution, stage, fraction, message)
            await asyncio.sleep(0)  # readers and cancellation get their turn

    async def partial(self, value: Any) -> None:
        if self._is_open(EventKind.TOOL_PARTIAL):
            self._reporting.partial(self._execution, value)
            await asyncio.sleep(0)

    async def call(self, name: str, arguments: Any) -> Any:
        if self._over:
            raise ToolError(CATEGORIES[ErrorCategory.CANCELLED].message, category=ErrorCategory.CANCELLED)
        return await self._call(self._execution, name, arguments)

    def cancelled(self) -> bool:
        return self._over or self._execution.stop_reason is not None

    def remaining(self) -> float | None:
        return self._execution.remaining(self._clock.monotonic())

    @property
    def _over(self) -> bool:
        return self._execution.status is not Status.EXECUTING or self._execution.attempt != self._attempt

    def _is_open(self, kind: EventKind) -> bool:
        if self._over:
            log.warning("%s reported %s after its end; the event is dropped", self._execution.tool.name, kind)
        return not self._over
