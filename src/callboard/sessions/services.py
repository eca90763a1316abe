"""Parts of a runtime that all its sessions share."""

from dataclasses import dataclass, field

from ..budget import Budget
from ..clock import Clock
from ..execution.manager import ExecutionManager
from ..execution.usage import Usage
from ..storage.rows import WORKER, ExecutionRow
from ..storage.store import Store
from ..storage.writer import Writer
from ..tools.definition import Tool
from ..tools.registry import Registry
from .background_tasks import BackgroundTasks
from .conversation_port import TurnListener
from .requests import Requests
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
    usage: Usage = field(default_factory=Usage)
    """Usage of each user in this process."""
    turn_listeners: list[TurnListener] = field(default_factory=list[TurnListener])
    running: bool = False
    """Whether the runtime is between its start and its end."""

    def tool_of(self, row: ExecutionRow) -> Tool | None:
        """Return the tool of a stored execution; None if this process does not have it."""
        return self.workers.get(row.tool) if row.kind == WORKER else self.registry.get(row.tool)
