"""What a running handler can say and ask: the reporter behind a `ToolContext` of an execution."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_core import to_json

from ..errors import CATEGORIES, ErrorCategory, ToolError
from ..events.kinds import EventKind
from .execution import Execution
from .finishing import Finishing
from .lifecycle import Status

log = logging.getLogger("callboard.execution")


class AttemptReporter:
    """Speaks for one attempt. Once that attempt is over it is silent: nothing comes after the terminal event."""

    __slots__ = ("_attempt", "_call", "_execution", "_finishing")

    def __init__(
        self, finishing: Finishing, call: Callable[[Execution, str, Any], Awaitable[Any]], execution: Execution
    ) -> None:
        self._finishing = finishing
        self._call = call
        """Makes a call in the execution's name."""
        self._execution = execution
        self._attempt = execution.attempt

    async def progress(self, stage: str, fraction: float | None, message: str | None) -> None:
        body = to_json({"stage": stage, "fraction": fraction, "message": message})
        await self._post(EventKind.TOOL_PROGRESS, b"," + body[1:])

    async def partial(self, value: Any) -> None:
        await self._post(EventKind.TOOL_PARTIAL, b',"value":%b}' % self._execution.tool.result.encode(value))

    async def call(self, name: str, arguments: Any) -> Any:
        if self._over:
            raise ToolError(CATEGORIES[ErrorCategory.CANCELLED].message, category=ErrorCategory.CANCELLED)
        return await self._call(self._execution, name, arguments)

    def cancelled(self) -> bool:
        return self._over or self._execution.stop is not None

    def remaining(self) -> float | None:
        return self._finishing.remaining(self._execution)

    @property
    def _over(self) -> bool:
        return self._execution.status is not Status.EXECUTING or self._execution.attempt != self._attempt

    async def _post(self, kind: EventKind, fields: bytes) -> None:
        """Post an event, and let others go first: people see it, and whoever wants the work to stop is heard."""
        if self._over:
            log.warning("%s reported %s after its end; it is left out", self._execution.tool.name, kind)
            return
        self._finishing.post(self._execution, kind, fields)
        await asyncio.sleep(0)
