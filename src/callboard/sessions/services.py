"""Parts of a runtime that all its sessions share."""

import asyncio
from dataclasses import dataclass, field

from ..background_tasks import BackgroundTasks
from ..budget import Budget
from ..clock import Clock
from ..errors import RuntimeNotOpen
from ..execution.manager import ExecutionManager
from ..execution.usage import Usage
from ..pacer import Pacer
from ..storage.rows import WORKER, ExecutionRow
from ..storage.store import Store
from ..storage.writer import Writer
from ..tools.definition import Tool
from ..tools.registry import Registry
from .conversation_port import TurnListener
from .dispatcher import Dispatcher
from .requests import Requests
from .stored_documents import StoredDocuments
from .stored_memory import StoredMemory
from .workers import Workers


@dataclass(slots=True, kw_only=True)
class Services:
    """Made once per runtime."""

    registry: Registry
    manager: ExecutionManager
    clock: Clock
    store: Store
    writer: Writer
    """Writes the changes of all sessions."""
    budget: Budget
    """Memory of large events, arguments and results."""
    background: BackgroundTasks
    requests: Requests
    workers: Workers
    owner: str
    """Id of this process in the store."""
    keep_for: float | None = None
    """Seconds for which events are kept; None: no limit. A search finds no older messages."""
    usage: Usage = field(default_factory=Usage)
    """Usage of each user in this process."""
    definitions: Pacer = field(default_factory=Pacer)
    """Paces the definitions of tools that clients send."""
    turn_listeners: list[TurnListener] = field(default_factory=list[TurnListener])
    dispatcher: Dispatcher | None = None
    """Sends executions to workers; None without an engine."""
    has_model: bool = False
    """Whether this process runs the turns of conversations."""
    loop: asyncio.AbstractEventLoop | None = None
    """The event loop of the runtime, between its start and its end."""

    @property
    def running(self) -> bool:
        """Whether the runtime is between its start and its end."""
        return self.loop is not None

    def check_running(self, session_id: str) -> None:
        """Raise `RuntimeNotOpen` after the runtime has ended, and in another event loop than its own."""
        if self.loop is None:
            raise RuntimeNotOpen(
                f"The runtime of session {session_id!r} has ended. Open the session in a new `async with Runtime(…)`."
            )
        check_loop(self.loop)

    def memory_of(self, user_id: str, session_id: str) -> StoredMemory:
        """Return the memory of a user, as the calls of a session see it."""
        return StoredMemory(self.store, self.clock, user_id, session_id, self.keep_for)

    def documents_of(self, user_id: str, execution_id: str) -> StoredDocuments:
        """Return the documents of a user, as an execution writes them."""
        return StoredDocuments(self.store, self.clock, user_id, execution_id)

    def tool_of(self, row: ExecutionRow) -> Tool | None:
        """Return the tool of a stored execution; None if this process does not have it."""
        return self.workers.get(row.tool) if row.kind == WORKER else self.registry.get(row.tool)


def check_loop(own: asyncio.AbstractEventLoop) -> None:
    """Raise `RuntimeNotOpen` if another event loop than that of the runtime runs here."""
    try:
        is_other = asyncio.get_running_loop() is not own
    except RuntimeError:  # none runs here
        return
    if is_other:
        raise RuntimeNotOpen(
            "The runtime is open in another event loop. Use it in the loop that entered it, with one asyncio.run for "
            "both. From another thread, use asyncio.run_coroutine_threadsafe with that loop."
        )
