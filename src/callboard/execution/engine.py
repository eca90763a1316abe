"""The port of engines: they carry executions to workers, and wake gateways.

The store is the truth; an engine never has the only copy of anything. An execution is stored first and submitted after
the commit. A message says only that an execution waits: a worker that receives it claims the stored execution, so a
message that comes twice is harmless, and one that is lost is submitted again by the sweep of `Dispatcher`.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import CallboardError
from ..storage.owners import QueuedCall

DEFAULT_QUEUE = "default"
"""The queue of tools that name none."""
GATEWAY_QUEUE = "gateway"
"""The queue of calls that workers make and gateways carry out."""


class EngineError(CallboardError):
    """An engine cannot be used as it is configured."""

    code = "engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """A process that serves queues, as it describes itself."""

    id: str
    host: str
    pid: int
    queues: Sequence[str]
    concurrency: int
    running: Sequence[Mapping[str, Any]] = field(default=())
    """Its executions: `execution_id`, `tool`, `session_id` and `seconds`."""
    done: int = 0
    """The number of executions that it has ended."""


class QueueMessage(Protocol):
    """A message that an execution waits."""

    @property
    def call(self) -> QueuedCall: ...

    async def done(self) -> None:
        """Remove the message: the execution is claimed, or needs no worker."""
        ...

    async def put_back(self, delay: float = 0.0) -> None:
        """Have the message delivered again, to any worker, not before some seconds."""
        ...


Deliver = Callable[[Sequence[QueueMessage]], Awaitable[None]]
"""Handles messages of a queue, in the order of their arrival."""


class Engine(Protocol):
    """Connects gateways and workers. `callboard.testing.engine_contract` has the test suite of every engine."""

    @property
    def connected(self) -> bool:
        """Whether messages can be sent now."""
        ...

    async def open(self, connected: Callable[[], None]) -> None:
        """Start to connect, and return without waiting for it. Calls `connected` after each time that succeeds."""
        ...

    async def close(self) -> None:
        """End the connection."""
        ...

    def submit(self, call: QueuedCall) -> None:
        """Send a message that a stored execution waits. It does not wait, and may be lost."""
        ...

    def wake(self, session_id: str | None) -> None:
        """Tell one gateway that a session has late results; with None, that any session may.

        It does not wait. Without a connection the wake is kept, and sent when there is one. It may come twice, and is
        lost only if this process ends before.
        """
        ...

    async def serve_wakes(self, woken: Callable[[str | None], Awaitable[None]]) -> None:
        """Receive what `wake` sends, each by one of the processes that do so. Runs until it is cancelled.

        If `woken` raises, the same is received again later, by any of them.
        """
        ...

    async def serve(self, queue: str, room: Callable[[], Awaitable[int]], deliver: Deliver) -> None:
        """Receive the messages of a queue, each by one of the workers that serve it. Runs until it is cancelled.

        `room` waits until there is room for messages and returns for how many; no more are taken at once.
        """
        ...

    async def waiting(self, queue: str) -> int:
        """Return the number of messages of a queue that are not done."""
        ...

    async def problems(self) -> list[str]:
        """Return what prevents the use of this engine, and what to do, for an engine that is not open.

        Nothing is changed.
        """
        ...

    async def announce(self, describe: Callable[[], WorkerStatus]) -> None:
        """Answer `workers` with the description of this process, until the engine is closed."""
        ...

    async def workers(self, timeout: float = 0.5) -> list[WorkerStatus]:
        """Return the workers that answer within a time, by id. Raises `EngineError` without a connection."""
        ...


def check_names(queues: Iterable[str], allowed: Callable[[str], object]) -> tuple[str, ...]:
    """Return the names of queues, without repetitions. Raises `EngineError` for a name that is not allowed."""
    names = tuple(dict.fromkeys(queues))
    for name in names:
        if not allowed(name):
            raise EngineError(
                f"{name!r} cannot be the name of a queue: it has up to 64 lowercase letters, digits, '_' and '-'."
            )
    if not names:
        raise EngineError("A worker needs at least one queue.")
    return names
