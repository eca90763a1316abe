"""What a session works with: the parts of a runtime that all sessions share."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..clock import Clock
from ..execution.execution import Execution
from ..execution.manager import ExecutionManager
from ..storage.port import Store
from ..tools.registry import Registry
from .requests import Requests
from .workers import Workers

if TYPE_CHECKING:
    from .session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Made once per runtime."""

    registry: Registry
    manager: ExecutionManager
    clock: Clock
    store: Store
    requests: Requests
    workers: Workers
    catch_up: "Callable[[Session], Awaitable[None]]"
    """Gives a board what other processes have written."""
    log_out: "Callable[[Session, float], Awaitable[None]]"
    look_around: Callable[[], None]
    """See soon whether there is work that nobody holds."""
    conversation: "Callable[[Session], Talk | None]"
    """The conversation of a session; None where there is no model to talk to."""


class Talk(Protocol):
    """A conversation, as a session sees it."""

    @property
    def is_processing(self) -> bool: ...

    async def say(self, text: str) -> Any: ...

    async def interrupt(self) -> bool: ...

    def came_late(self, execution: Execution) -> None:
        """An execution ended whose result nobody waited for."""
        ...
