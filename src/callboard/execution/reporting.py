"""Reports of live executions to the boards of their sessions, from the runtime and from running handlers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from pydantic_core import PydanticSerializationError

from ..clock import Clock
from ..errors import CATEGORIES, ErrorCategory, ToolError
from ..events.kinds import EventKind
from ..tools.definition import Tool
from ..tools.result import too_large
from ..user_documents import UserDocuments
from ..user_memory import UserMemory
from .execution import Execution
from .failures import cancelled
from .lifecycle import Status
from .lifecycle_events import opening_events, partial_event, progress_event, worker_progress_event
from .streak import Streak

log = logging.getLogger("callboard.execution")

NestedCall: TypeAlias = Callable[[Execution, str | Tool, Any, str | None], Awaitable[Any]]
"""Makes a nested call for the handler of an execution: the tool or its name, the arguments, and a key."""


def report(execution: Execution, *events: bytes) -> None:
    """Append events of a live execution to its board, with its state, after those of its beginning.

    Of a worker's execution only progress and the end (see `finishing`) are reported, as the answer to the request.
    """
    opening = opening_events(execution)
    if execution.extras is not None and execution.is_worker:
        opening = events = ()
    execution.scope.append_events((*opening, *events) if events else opening, execution)


def report_beginning(execution: Execution) -> None:
    """Append the first events of an attempt. No caller waits for them: those of a short one are stored with its end."""
    events = opening_events(execution)
    execution.scope.append_beginning(() if execution.is_worker else events, execution)


class AttemptReporter:
    """The reporter behind the `ToolContext` of one attempt. After the attempt it reports nothing."""

    __slots__ = ("_attempt", "_call", "_clock", "_execution", "_loop", "_max_bytes", "_streak")

    def __init__(self, execution: Execution, clock: Clock, call: NestedCall, max_bytes: int) -> None:
        self._clock = clock
        self._call = call
        self._execution = execution
        self._attempt = execution.attempt
        self._max_bytes = max_bytes
        self._streak: Streak | None = None
        self._loop = asyncio.get_running_loop()

    async def progress(self, stage: str, fraction: float | None, message: str | None) -> None:
        self._check_loop("progress")
        if self._is_open(EventKind.TOOL_PROGRESS):
            execution, at = self._execution, self._clock.time()
            write = worker_progress_event if execution.is_worker else progress_event
            try:
                event = write(execution, at, stage, fraction, message)
            except PydanticSerializationError:  # a lone surrogate, as in the name of a file that is not UTF-8
                event = write(execution, at, _readable(stage), fraction, message and _readable(message))
            self._check_size("A report of progress", event)
            if execution.is_worker:
                execution.scope.append_events((event,), execution)
            else:
                report(execution, event)
            await asyncio.sleep(0)  # readers and cancellation get their turn

    async def partial(self, value: Any) -> None:
        self._check_loop("partial")
        if self._is_open(EventKind.TOOL_PARTIAL):
            value_json = self._execution.tool.result.encode(value)
            self._check_size("A partial result", value_json)
            report(self._execution, partial_event(self._execution, self._clock.time(), value_json))
            await asyncio.sleep(0)

    async def call(self, tool: str | Tool, arguments: Any, key: str | None) -> Any:
        self._check_loop("call")
        if not isinstance(given := cast(Any, tool), str | Tool):
            raise TypeError(f"tool is {given!r}; it must be the name of a tool of the session, or a tool of @tool.")
        if self._streak is None:
            self._streak = Streak()
        if (turn := self._streak.turn()) is not None:
            await turn
        if self._over:
            raise cancelled()
        return await self._call(self._execution, tool, arguments, key)

    async def is_running(self, execution_id: str) -> bool:
        self._check_loop("is_running")
        return await self._execution.scope.calls.is_running(execution_id)

    def cancelled(self) -> bool:
        return self._over or self._execution.stop_reason is not None

    def remaining(self) -> float | None:
        return self._execution.remaining(self._clock.monotonic())

    def memory(self) -> UserMemory:
        return self._execution.scope.memory

    def documents(self) -> UserDocuments:
        return self._execution.scope.documents(self._execution)

    def _check_loop(self, method: str) -> None:
        """Raise `ToolError` in another event loop than that of the runtime, such as one of the handler's thread."""
        if asyncio.get_running_loop() is not self._loop:
            raise ToolError(
                CATEGORIES[ErrorCategory.CONFIGURATION].message,
                category=ErrorCategory.CONFIGURATION,
                report=f"{self._execution.name} awaited ctx.{method} in another event loop than that of the runtime. "
                f"In a thread, use anyio.from_thread.run(ctx.{method}, …) instead of asyncio.run.",
            )

    def _check_size(self, what: str, written: bytes) -> None:
        if len(written) > self._max_bytes:
            raise too_large(f"{what} of {self._execution.name}", len(written), self._max_bytes)

    @property
    def _over(self) -> bool:
        return self._execution.status is not Status.EXECUTING or self._execution.attempt != self._attempt

    def _is_open(self, kind: EventKind) -> bool:
        if self._over:
            log.warning("%s reported %s after its end; the event is dropped", self._execution.tool.name, kind)
        return not self._over


def _readable(text: str) -> str:
    """Return a text with each lone surrogate replaced, which no JSON text can hold."""
    return text.encode(errors="replace").decode()
