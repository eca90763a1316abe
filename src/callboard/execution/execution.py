"""One execution while it lives: the mutable state behind an `ExecutionRecord`.

Only the manager changes it. Its status moves by the table of `lifecycle`, and once it is terminal nothing changes.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any, Protocol

from pydantic_core import from_json, to_json

from ..errors import ToolError
from ..tools.definition import Tool
from .lifecycle import Status
from .outcome import Outcome, OutcomeStatus
from .record import ExecutionRecord


class Priority(IntEnum):
    """Who goes first when there is a queue."""

    URGENT = 0
    NORMAL = 1
    LOW = 2


class Scope(Protocol):
    """What the manager needs of a session."""

    @property
    def id(self) -> str: ...
    @property
    def user_id(self) -> str: ...

    running: int
    """How many of its executions hold a place."""

    def tell(self, events: tuple[bytes, ...], execution: "Execution", /) -> object:
        """Put encoded events of an execution on the board, together with the state that it is in now."""
        ...


_STARTED, _SUCCEEDED = OutcomeStatus.STARTED, OutcomeStatus.SUCCEEDED
_PENDING, _NORMAL = Status.PENDING, Priority.NORMAL
_outcome: Callable[[type[Outcome], tuple[Any, ...]], Outcome] = tuple.__new__  # pyright: ignore[reportUnknownMemberType]
"""Makes a named tuple without the function in Python that its class has for that."""


class Execution:
    """The state of carrying one call out."""

    __slots__ = (
        "arguments",
        "attempt",
        "attempt_deadline",
        "began",
        "budget_at",
        "call_id",
        "children",
        "deadline",
        "document",
        "encoded",
        "ended",
        "error",
        "errors",
        "forced_at",
        "head",
        "id",
        "max_attempts",
        "name",
        "parent",
        "priority",
        "promoted",
        "queued",
        "queued_at",
        "scope",
        "shown",
        "started",
        "status",
        "stop",
        "task",
        "tool",
        "unposted",
        "waiters",
    )

    def __init__(
        self, number: str, call_id: str, tool: Tool, name: str, scope: Scope, document: bytes, now: float, at: float
    ) -> None:
        self.id = number
        self.call_id = call_id
        self.tool = tool
        self.name = name
        """The name that the caller used, which may be that of no tool."""
        self.scope = scope
        self.document = document
        """The arguments as they came, JSON."""
        self.queued = now
        self.queued_at = at
        given = f'"{number}"' if call_id is number else to_json(call_id).decode()
        named = f'"{name}"' if tool.name is name else to_json(name).decode()
        self.head = f'{{"execution_id":"{number}","call_id":{given},"tool":{named}'.encode()
        """What the data of every event of this execution begins with, encoded once."""
        self.status = _PENDING
        self.priority = _NORMAL
        self.max_attempts = 1
        self.attempt = 0
        self.promoted = False
        self.errors: tuple[ToolError, ...] = ()
        """Why earlier attempts failed."""
        self.children: tuple[Execution, ...] = ()
        self.waiters: tuple[asyncio.Future[None], ...] = ()
        self.unposted: tuple[bytes, ...] = ()
        """Events that are posted together with the next one, since nothing can be seen between them."""
        self.shown: bytes | None = None
        """The arguments as people may see them, once they were announced."""
        self.began = b""
        """When the first attempt begins, as it is written in its events."""
        self.arguments: Any = None
        """The validated input of the next attempt."""
        self.encoded: bytes | None = None
        """The result as JSON."""
        self.error: ToolError | None = None
        self.started: float | None = None
        self.ended: float | None = None
        self.deadline: float | None = None
        """When the whole execution must have ended."""
        self.attempt_deadline: float | None = None
        self.budget_at: float | None = None
        """When a caller who waits is let go."""
        self.forced_at: float | None = None
        """When a handler that was told to stop is given up."""
        self.stop: ToolError | None = None
        """Why the current attempt was told to stop, if it was."""
        self.parent: Execution | None = None
        self.task: asyncio.Task[None] | None = None

    @property
    def terminal(self) -> bool:
        return self.ended is not None

    def outcome(self) -> Outcome:
        """How the call stands now."""
        if self.ended is None:
            return Outcome(_STARTED, self.id, self.call_id, self.name, self.acknowledgement())
        if self.error is None:
            return _outcome(Outcome, (_SUCCEEDED, self.id, self.call_id, self.name, self.encoded, None))
        return Outcome(OutcomeStatus(self.status.value), self.id, self.call_id, self.name, None, self.error)

    def acknowledgement(self) -> bytes:
        """What the model is told while the call goes on."""
        said = "It is running. Its result will be reported when it is there; do not call it again for the same purpose."
        return b'{"status":"started","execution_id":"%b","tool":"%b","message":"%b"}' % (
            self.id.encode(),
            self.tool.name.encode(),
            said.encode(),
        )

    def record(self, now: float) -> ExecutionRecord:
        """Everything about it, as it is now."""
        start = self.queued_at - self.queued  # what to add to a monotonic reading to get the time of day
        return ExecutionRecord(
            id=self.id,
            call_id=self.call_id,
            tool=self.name,
            session_id=self.scope.id,
            user_id=self.scope.user_id,
            arguments=from_json(self.shown or b"null"),
            status=self.status,
            value=None if self.encoded is None else from_json(self.encoded),
            error=None if self.error is None else self.error.to_model(),
            queued_at=datetime.fromtimestamp(self.queued_at, UTC),
            started_at=None if self.started is None else datetime.fromtimestamp(start + self.started, UTC),
            completed_at=None if self.ended is None else datetime.fromtimestamp(start + self.ended, UTC),
            queued_for=None if self.started is None else self.started - self.queued,
            ran_for=None if self.started is None else (now if self.ended is None else self.ended) - self.started,
            attempt=self.attempt,
            max_attempts=self.max_attempts,
            previous_errors=tuple(error.to_model() for error in self.errors),
            promoted=self.promoted,
            parent_id=None if self.parent is None else self.parent.id,
        )
