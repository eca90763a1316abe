"""Parts of a runtime that all its sessions share."""

from dataclasses import dataclass, field

from ..budget import Budget
from ..clock import Clock
from ..execution.manager import ExecutionManager
from ..execution.usage import Usage
from ..pacer import Pacer
from ..storage.rows import WORKER, ExecutionRow
from ..storage.store import Store
from ..storage.writer import Writer
from ..tools.definition import Tool
from ..tools.registry import Registry
from .background_tasks import BackgroundTasks
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
    running: bool = False
    """Whether the runtime is between its start and its end."""

    def memory_of(self, user_id: str, session_id: str) -> StoredMemory:
        """Return the memory of a user, as the calls of a session see it."""
        return StoredMemory(self.store, self.clock, user_id, session_id, self.keep_for)

    def documents_of(self, user_id: str, execution_id: str) -> StoredDocuments:
        """Return the documents of a user, as an execution writes them."""
        return StoredDocuments(self.store, self.clock, user_id, execution_id)

    def tool_of(self, row: ExecutionRow) -> Tool | None:
        """Return the tool of a stored execution; None if this process does not have it."""
        return self.workers.get(row.tool) if row.kind == WORKER else self.registry.get(row.tool)
