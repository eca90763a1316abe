"""One execution while it lives: the mutable state behind an `ExecutionRecord`.

How it goes on and ends is the manager's to say, by the table of `lifecycle`, and an end is never changed. What its
session notes on it is beside that: what is stored, what a person was asked, whose it is.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, cast

from pydantic_core import from_json, to_json

from ..errors import ToolError
from ..storage.rows import TOOL, RequestRow
from ..tools.context import ClientContext
from ..tools.definition import Tool
from .lifecycle import Status
from .outcome import QUEUED, Outcome, OutcomeStatus
from .record import ExecutionRecord
from .usage import UserUsage


class Priority(IntEnum):
    """Who goes first when there is a queue."""

    URGENT = 0
    NORMAL = 1
    LOW = 2


class IndexPort(Protocol):
    """What keeps a session's executions."""

    def ended(self, execution: "Execution") -> None:
        """An execution has ended, so it need not be kept for ever."""
        ...

    def weigh(self, execution: "Execution") -> None:
        """An execution has ended that has large arguments or a large result."""
        ...


class Scope(Protocol):
    """What the manager needs of a session."""

    @property
    def id(self) -> str: ...
    @property
    def user_id(self) -> str: ...
    @property
    def index(self) -> IndexPort: ...

    running: int
    """How many of its executions hold a place."""

    @property
    def user(self) -> UserUsage:
        """What its user takes up, in all of its sessions."""
        ...

    @property
    def client(self) -> ClientContext | None:
        """What the user's client sent along with its newest run."""
        ...

    @property
    def durable(self) -> bool:
        """Whether what is told is stored, which takes a while."""
        ...

    def lent(self, name: str) -> Tool | None:
        """The tool of that name that only this session has."""
        ...

    def tell(self, events: tuple[bytes, ...], execution: "Execution", /) -> object:
        """Put encoded events of an execution on the board, together with the state that it is in now."""
        ...

    async def settle(self) -> None:
        """Return when everything that was told is stored."""
        ...

    async def begun(self, execution: "Execution", *, again: bool = False) -> None:
        """Return when it is stored that a call begins, where its caller waits for the store only so long."""
        ...

    async def stored(self, execution: "Execution", *, again: bool = False) -> None:
        """Return when everything that was told of a call is stored. Raises where its caller does not wait any longer;
        a call of which nothing is stored is taken back then. `again` is for a caller who is not the first.
        """
        ...

    def late(self, execution: "Execution") -> None:
        """An execution ends whose caller was let go: its result waits to be taken. It is told right after this."""
        ...

    async def ask(self, execution: "Execution") -> "Answer":
        """Ask a person about an execution that waits, and wait for the answer."""
        ...

    def use(self, execution: "Execution") -> None:
        """The answer of an execution's person is used by what is told next."""
        ...

    async def elsewhere(self, execution: "Execution") -> Outcome:
        """How a call stands that another process carries out."""
        ...


ToolKey: TypeAlias = tuple[str, str | None]
"""A tool, and the session that alone has it, where it is one that a session was lent."""


def tool_key(tool: Tool, scope: Scope) -> ToolKey:
    """What is counted together: all calls of a tool, or those of the one session that has it."""
    return tool.name, scope.id if scope.lent(tool.name) is tool else None


class Answer(NamedTuple):
    """What a person said."""

    error: ToolError | None = None
    """Why it will not run: refused, or nobody answered in time."""
    document: bytes | None = None
    """The arguments with which it runs instead."""
    value: Any = None
    """The result, for a tool without a body."""


ID_PREFIX = "x"
"""With what the id of every execution begins."""

NOTHING, CALLED, VALIDATED, EXECUTING = range(4)
"""How an execution begins, step by step; each is told by an event."""

_SUCCEEDED = OutcomeStatus.SUCCEEDED
_PENDING, _WAITING, _SUCCESS = Status.PENDING, Status.WAITING, Status.SUCCEEDED
_NORMAL = Priority.NORMAL
made: Callable[[type[Outcome], tuple[Any, ...]], Outcome] = cast("Any", tuple).__new__
"""Makes a named tuple without the function in Python that its class has for that."""


def acknowledgement(execution_id: str, tool: str, request_id: str | None, *, queued: bool = False) -> bytes:
    """What the model is told while a call goes on, waits for a free place, or waits for a person."""
    said = {"status": "started", "execution_id": execution_id, "tool": tool}
    end = "Its result will be reported when it is there; do not call it again for the same purpose."
    if queued:
        message = f"It is queued and has not begun: it waits for a free place. {end}"
        return to_json({**said, "status": QUEUED, "message": message})
    if request_id is None:
        return to_json({**said, "message": f"It is running. {end}"})
    return to_json(
        {**said, "status": "waiting", "request_id": request_id, "message": f"A person is asked first. {end}"}
    )


T = TypeVar("T")


class Seldom(Generic[T]):
    """A field of an execution that nearly none ever sets. They are kept apart, so that they cost the others nothing."""

    def __init__(self, at_first: T) -> None:
        self._at_first = at_first

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, execution: "Execution", owner: type) -> T:
        return self._at_first if execution.seldom is None else execution.seldom.get(self._name, self._at_first)

    def __set__(self, execution: "Execution", value: T) -> None:
        if execution.seldom is None:
            execution.seldom = {}
        execution.seldom[self._name] = value


class Execution:
    """The state of carrying one call out."""

    __slots__ = (
        "arguments",
        "at",
        "attempt",
        "attempt_deadline",
        "budget_at",
        "call_id",
        "children",
        "deadline",
        "display_arguments",
        "document",
        "ended",
        "has_slot",
        "head",
        "id",
        "late",
        "max_attempts",
        "name",
        "phase",
        "promoted",
        "queued",
        "queued_at",
        "reported_phase",
        "result_json",
        "scope",
        "seldom",
        "started",
        "status",
        "stop",
        "task",
        "tool",
        "waiters",
    )

    arguments: Any
    """The validated input of the next attempt, once there is one."""
    priority = Seldom(_NORMAL)
    kind = Seldom(TOOL)
    """`WORKER` for one that answers a request of people: then nothing of it is told but the answer."""
    errors = Seldom[tuple[ToolError, ...]](())
    """Why earlier attempts failed."""
    error = Seldom[ToolError | None](None)
    parent = Seldom["Execution | None"](None)
    forced_at = Seldom[float | None](None)
    """When a handler that was told to stop is given up."""
    retry_at = Seldom[float | None](None)
    """The time of day before which the next attempt must not begin, while it waits for that."""
    parent_id = Seldom[str | None](None)
    """Its parent in a process that died."""
    request = Seldom[RequestRow | None](None)
    """What a person is asked before it runs."""
    stored = Seldom(False)
    """Whether the store knows it, or is about to."""
    lost = Seldom(False)
    """Whether it is another process's by now, or nobody's."""
    settled = Seldom(False)
    """Whether the store has taken its end: before that, it may be another process's without knowing it."""
    unloaded = Seldom(False)
    """Whether its arguments and its result are only in the store."""
    held = Seldom(0)
    """The bytes of its arguments while it has not ended, if they are large."""
    target = Seldom[str | None](None)
    """What the breaker of the current attempt goes by, where its tool has breakers by target."""
    fingerprint = Seldom("")
    """A hash of the arguments, once it is needed."""

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
        self.seldom: dict[str, Any] | None = None
        """The fields that are out of the ordinary; None where there are none, which answers many questions at once."""
        self.status = _PENDING
        self.max_attempts = 1
        self.attempt = 0
        self.has_slot = False
        """Whether it holds a place, as the gatekeeper says."""
        self.phase = self.reported_phase = NOTHING
        """How far it has begun, and how much of that was told."""
        self.display_arguments = b"null"
        """The arguments as people may see them, once they were looked at."""
        self.result_json: bytes | None = None
        """The result as JSON."""
        self.started: float | None = None
        self.ended: float | None = None
        self.task: asyncio.Task[None] | None = None
        self.at: float | None = None
        """When it came as far as it has, if that is later than its call; a time of day."""
        self.late = False
        """Whether its caller was let go, so that its result will wait to be taken."""
        self.promoted = False
        self.head = b""
        """What stands in every event of it between its time and what it says, encoded once. See `story.head`."""
        self.stop: ToolError | None = None
        """Why the current attempt was told to stop, if it was."""
        self.children: tuple[Execution, ...] | None = None
        self.waiters: tuple[asyncio.Future[None], ...] | None = None
        self.deadline: float | None = None
        """When the whole execution must have ended."""
        self.attempt_deadline: float | None = None
        self.budget_at: float | None = None
        """When a caller who waits is let go."""

    @property
    def terminal(self) -> bool:
        return self.ended is not None

    def outcome(self) -> Outcome:
        """How the call stands now. One that is another process's by now stands as it did when that one took it."""
        if self.status is _SUCCESS:
            return made(Outcome, (_SUCCEEDED, self.id, self.call_id, self.name, self.result_json, None))
        if (error := self.error) is not None:
            return Outcome(OutcomeStatus(self.status.value), self.id, self.call_id, self.name, None, error)
        asked = self.request is not None and self.status is _WAITING
        status = OutcomeStatus.WAITING if asked else OutcomeStatus.STARTED
        return Outcome(status, self.id, self.call_id, self.name, self.acknowledgement())

    def acknowledgement(self) -> bytes:
        """What the model is told while the call goes on."""
        asked = self.request if self.status is _WAITING else None
        queued = self.status is _PENDING
        return acknowledgement(self.id, self.tool.name, None if asked is None else asked.id, queued=queued)

    def unload(self) -> None:
        """Leave arguments and result to the store, which has them. The fingerprint still tells the arguments."""
        self.unloaded = True
        self.document, self.display_arguments, self.result_json = b"null", b"null", None

    def record(self, now: float) -> ExecutionRecord:
        """Everything about it, as it is now."""
        start = self.queued_at - self.queued  # what to add to a monotonic reading to get the time of day
        return ExecutionRecord(
            id=self.id,
            call_id=self.call_id,
            tool=self.name,
            session_id=self.scope.id,
            user_id=self.scope.user_id,
            arguments=from_json(self.display_arguments),
            status=self.status,
            value=None if self.result_json is None else from_json(self.result_json),
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
            parent_id=self.parent_id if self.parent is None else self.parent.id,
        )
