"""What a session works with: the parts of a runtime that all sessions share."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..clock import Clock
from ..events.board import Board
from ..execution.execution import Execution
from ..execution.manager import ExecutionManager
from ..execution.usage import Usage
from ..storage.rows import IdempotencyRow, TurnRow
from ..storage.store import Store
from ..tools.registry import Registry
from ..turns import Turn
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
    usage: Usage
    """What each user takes up in this process."""
    owner: str
    """This process, as the store knows it."""
    catch_up: Callable[[str, Board], Awaitable[None]]
    """Gives the board of a session what other processes have written."""
    log_out: "Callable[[Session, float, IdempotencyRow | None], Awaitable[None]]"
    poll_orphans: Callable[[], None]
    """See soon whether there is work that nobody holds."""
    conversation: "Callable[[Session], ConversationPort | None]"
    """The conversation of a session; None where there is no model to talk to."""
    find: "Callable[[str], Session | None]"
    """A session that is live, by its id."""
    watchers: "list[Watcher]"
    """Told of turns."""


class Watcher(Protocol):
    """Looks on while turns run: metrics, traces. It is quick, and never raises."""

    def turn_began(self, session: "Session", turn_id: str) -> None:
        """A turn begins, or goes on, in the task that runs it and makes its calls."""
        ...

    def turn_ended(self, session: "Session", turn_id: str, status: str, usage: Any) -> None:
        """It ended as `TurnStatus` says, or is another process's (`lost`). The usage is that of all its parts."""
        ...


class Messages(Protocol):
    """Some messages of a conversation."""

    @property
    def messages(self) -> list[dict[str, Any]]: ...

    @property
    def before(self) -> int | None:
        """What to read the messages before these with; None: there are none."""
        ...


class ConversationPort(Protocol):
    """A conversation, as a session sees it."""

    @property
    def is_processing(self) -> bool: ...

    async def say(self, text: str) -> Turn: ...

    async def hear(
        self, data: Mapping[str, Any], given: str | None = None, *, idempotency: IdempotencyRow | None = None
    ) -> int:
        """Post what the user wrote, and see to it that the model is told. Returns the number of its event.

        What has an id that its sender gave it is taken once: 0 where it was taken before.
        """
        ...

    async def hear_all(self, texts: Mapping[str, str]) -> int:
        """Post messages of the user in one write, by the ids that their sender gave them; each is taken once.

        Returns the number of the newest event; 0 where all were taken before.
        """
        ...

    async def taken(self, given: Sequence[str]) -> dict[str, bool]:
        """Which messages were taken, by the ids that their senders gave them, and whether the model was told."""
        ...

    async def entries(self) -> tuple[Sequence[Any], int]:
        """The entries of the transcript, not to be changed, and how many of them are responses of the model."""
        ...

    def wake(self) -> None:
        """There may be something that the model was not told."""
        ...

    async def messages(self, *, waiting: bool = False) -> list[dict[str, Any]]: ...

    async def window(self, before: int | None = None, most: int = 100) -> "Messages":
        """The newest messages, or those before a place."""
        ...

    async def interrupt(self, idempotency: IdempotencyRow | None = None) -> bool: ...

    def stop(self) -> None:
        """Stop the turn that runs here, without waiting for that."""
        ...

    def poll_orphans(self) -> None:
        """Another process wrote something."""
        ...

    async def go_on(self, row: TurnRow) -> None:
        """Go on with a turn that a dead process left behind."""
        ...

    def came_late(self, execution: Execution) -> None:
        """An execution ended whose result nobody waited for."""
        ...
