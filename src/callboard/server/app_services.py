"""The services that all routes share, and access to sessions by their user.

A session of another user is reported as not found, so that a client cannot tell whether an id exists.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from weakref import WeakSet

from ..pacer import Pacer
from ..protocols.mount import ProtocolMount
from ..protocols.problem import Problem
from ..runtime import Runtime
from ..sessions.ids import SessionNotFound, is_valid_id
from ..sessions.live_session import LiveSession
from .byte_budget import MIB, ByteBudget
from .lingering import LingeringConnections
from .problems import draining, not_found
from .request_bodies import RequestBodies
from .streams import Streams
from .turn_totals import TurnTotals
from .user_slots import UserSlots


@dataclass(slots=True)
class AppServices:
    """The shared services of one app."""

    runtime: Runtime
    streams: Streams
    metrics: Callable[[], bytes] | None = None
    mounts: Sequence[ProtocolMount] = ()
    """The protocols that the app serves beside its own routes."""
    draining: bool = False
    """Whether the server is shutting down and refuses new work."""
    chat_sessions: "WeakSet[LiveSession]" = field(default_factory=lambda: WeakSet[LiveSession]())
    """Sessions that received input through this app."""
    bodies: RequestBodies = field(default_factory=RequestBodies)
    """The large request bodies that are being read."""
    unsent_responses: ByteBudget = field(default_factory=lambda: response_budget())
    """The large responses that are being sent."""
    unsent_frames: ByteBudget = field(default_factory=lambda: response_budget(per_user=64 * MIB))
    """The large parts of streams that are being sent."""
    pacer: Pacer = field(default_factory=Pacer)
    """Spreads responses that take long to write, such as those about all tools."""
    query_slots: UserSlots = field(default_factory=UserSlots)
    """Limits the expensive queries that run at once for a user."""
    lingering: LingeringConnections = field(default_factory=LingeringConnections)
    """Connections that discard the rest of a request's body."""

    started_at: float = 0.0
    """When the app was created, in seconds since 1970."""
    turns: TurnTotals = field(default_factory=TurnTotals)
    """The turns of this process."""

    @property
    def held(self) -> int:
        """Bytes of large values in use: bodies that are read, responses that are sent, what sessions keep."""
        unsent = self.unsent_responses.held + self.unsent_frames.held
        return self.bodies.budget.held + unsent + self.runtime.sessions.budget.kept

    async def find(self, session_id: str, user_id: str) -> LiveSession:
        """Return a session of a user without logging it in. Raises `Problem` (404)."""
        session = await self.runtime.sessions.find_or_load(session_id) if is_valid_id(session_id) else None
        if session is None or session.user_id != user_id:
            raise not_found("session")
        return session

    async def check_owner(self, session_id: str, user_id: str) -> None:
        """Raise `Problem` (404) if the session exists and belongs to another user."""
        session = await self.runtime.sessions.find_or_load(session_id)
        if session is not None and session.user_id != user_id:
            raise not_found("session")

    async def open(self, session_id: str, user_id: str) -> LiveSession:
        """Return an open session of a user; a session that was logged out is logged in. Raises `Problem` (404, 503)."""
        self.refuse_if_draining()
        session = await self.find(session_id, user_id)
        if session.open:
            session.touch()
            return session
        try:
            return await self.runtime.sessions.open(session_id, user_id)
        except SessionNotFound:
            raise not_found("session") from None

    async def newest_seq(self, session: LiveSession) -> int:
        """Return the number of a session's newest event, including events of other processes."""
        if not session.durable:
            return session.board.last_seq
        await session.settle()
        stored = await self.runtime.store.heads([session.id])
        head = stored.get(session.id)
        if head is None or head.made_at != session.created_at:  # deleted; another session may have its id now
            return session.board.last_seq
        return max(session.board.last_seq, head.last_seq)

    @property
    def has_model(self) -> bool:
        return self.runtime.sessions.conversations is not None

    @property
    def busy(self) -> bool:
        """Whether a turn runs in a session that received input through this app."""
        return any(session.is_processing for session in self.chat_sessions)

    def drain(self) -> None:
        """End all streams; their clients can resume at another process."""
        self.streams.drain()
        for mount in self.mounts:
            mount.drain()

    def refuse_if_draining(self) -> None:
        """Raise `Problem` (503) while the server shuts down."""
        if self.draining:
            raise draining()


def response_budget(*, per_user: int = 16 * MIB, total: int = 256 * MIB) -> ByteBudget:
    """Create the budget for large responses that are not sent yet."""
    return ByteBudget(_too_many_unread, per_user=per_user, total=total)


def _too_many_unread() -> Problem:
    detail = "Too many of your responses are still being sent. Read them first, or request smaller pages."
    return Problem(429, "too_many_unread_answers", "Too many at once", detail, {"retry-after": "1"})
