"""The port of the processes that own executions: their heartbeats, and the recovery of the work of dead processes."""

from collections.abc import Collection
from typing import NamedTuple, Protocol

from pydantic_core import to_json

from ..categories import CATEGORIES
from ..errors import ErrorCategory, ToolError
from .rows import OwnerRow

LEFT = -1
"""The beat of a process that ended and left executions behind."""
RECOVERING = -2
"""The beat of a process whose executions are being recovered, in steps."""

_INTERRUPTED = ToolError(CATEGORIES[ErrorCategory.INTERRUPTED].message, category=ErrorCategory.INTERRUPTED)

INTERRUPTED_CLAIM = to_json([{**_INTERRUPTED.to_model(), "retryable": _INTERRUPTED.retryable}])
"""The errors of an execution whose worker died after the claim, if it has no other errors: the worker may have entered
the handler of an idempotent tool before its attempt was stored."""


class Claim(NamedTuple):
    """Unfinished work that was given to a recovering process: enough to find it and to choose an order."""

    session_id: str
    id: str
    user_id: str
    kind: str
    """The kind of an execution, as in `ExecutionRow.kind`, or `turn` or `input`."""

    @property
    def key(self) -> tuple[str, str]:
        """The session and the id of the execution, turn or input."""
        return self.session_id, self.id


class QueuedCall(NamedTuple):
    """An execution that waits for a worker: enough to send it to one."""

    session_id: str
    id: str
    tool: str
    queue: str
    user_id: str


class Recovered(NamedTuple):
    """The result of one step of a recovery."""

    claims: list[Claim]
    """Work that the heir owns from now on: executions by session and then in the order in which they were queued, then
    turns, then inputs."""
    waiting: int = 0
    """The number of executions that wait for a person. No process owns them until their request closes."""
    more: bool = False
    """Whether the dead process owns more, for another step with `RECOVERING` as its beat."""
    found: bool = False
    """Whether the process had that beat. Otherwise it is alive, or another process was faster."""
    requeued: tuple[QueuedCall, ...] = ()
    """Executions of a worker that wait in their queues again, with no owner."""


class Stopping(NamedTuple):
    """An unfinished execution, or turn, that is to be cancelled."""

    session_id: str
    id: str
    """The id of the execution or of the turn."""
    kind: str
    """`tool`, `worker` or `turn`."""


class Owners(Protocol):
    """Registers processes and moves executions between them."""

    async def join(self, owner: OwnerRow) -> None:
        """Register a process, after acquiring its lock, which the system releases when the process dies."""
        ...

    def beat(self, owner_id: str) -> bool:
        """Increment the beat of a process, after acquiring its lock again if that was lost.

        Called from the heartbeat thread. Return False if the work of the process was given to another.
        """
        ...

    async def living(self, owner_ids: Collection[str]) -> dict[str, bool]:
        """Return whether the locks of these processes are held, for those of which that can be known.

        A held lock proves that its process is alive, even if it is stopped or its interpreter is blocked. A free lock
        proves nothing: the process may have lost it, and acquires it again with its next beat.
        """
        ...

    async def owners(self) -> list[OwnerRow]:
        """Return all registered processes, by id."""
        ...

    async def stopping(self, owner_id: str) -> list[Stopping]:
        """Return the work of a process that must be cancelled, at a cost independent of how much the process owns."""
        ...

    async def tools_under_way(self, owner_id: str) -> set[str]:
        """Return the tools of the executions that a process owns and that wait neither for a person nor in a queue."""
        ...

    async def leave(self, owner_id: str) -> None:
        """Unregister a process that ends, and release its lock. Executions that it still owns can be recovered."""
        ...

    async def recover(
        self,
        owner_id: str | None,
        beat: int,
        heir: str,
        *,
        limit: int = 1000,
        conversations: bool = True,
        tools: Collection[str] | None = None,
    ) -> Recovered:
        """Give up to `limit` unfinished executions, turns and inputs of a dead process to `heir`.

        Nothing is given if the process has another beat than `beat`. Executions that wait for a person, and were not
        called by another execution, are given to no process: they become ready when their request closes. Executions
        with a queue are given to no process either: they wait in their queues again, with their nested calls. Those
        without errors that are not stored as executing get `INTERRUPTED_CLAIM` as their errors, unless the process
        ended normally (`LEFT`). The dead process is removed with the last of its work. Without `conversations`, for an
        heir that has no model, its inputs and its turns stay with it, except turns that are to be cancelled, and do not
        count as more work. With `tools`, the same applies to sessions in which an execution of another tool was under
        way.

        With None as `owner_id`, give up to `limit` executions to `heir` that no process owns and that are ready: to be
        cancelled, or with an answered request, or with requests none of which is open. The cost of that does not grow
        with the number of executions that are not ready. With `tools`, executions of other tools are left, except those
        that are to be cancelled, and those of front-end tools, which no process has.
        """
        ...
