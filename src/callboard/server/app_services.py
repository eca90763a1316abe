"""The desk: what every route works with, and how a session is found for its user.

A session is found or not; whether it does not exist or belongs to somebody else is nobody's business.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import WeakSet

from ..protocols.agui.run import Run
from ..runtime import Runtime
from ..sessions.ids import SessionIdInvalid, SessionNotFound, check_id
from ..sessions.live_session import LiveSession
from .bodies import Bodies
from .budget import MIB, Budget
from .lanes import Lanes
from .problems import Problem, draining, not_found
from .streams import Streams


@dataclass(slots=True)
class AppServices:
    """Made once per app."""

    runtime: Runtime
    streams: Streams
    metrics: Callable[[], bytes] | None = None
    draining: bool = False
    """Whether the server is about to end: nothing new is begun."""
    talking: "WeakSet[LiveSession]" = field(default_factory=lambda: WeakSet[LiveSession]())
    """Sessions that were spoken to here."""
    runs: "WeakSet[Run]" = field(default_factory=lambda: WeakSet[Run]())
    """Those of AG-UI that go on."""
    bodies: Bodies = field(default_factory=Bodies)
    """The large bodies of requests that are being read."""
    unsent: Budget = field(default_factory=lambda: unsent_answers())
    """The large answers that are being sent."""
    lanes: Lanes = field(default_factory=Lanes)
    """How many expensive questions of a user are answered at once."""

    @property
    def held(self) -> int:
        """Bytes of large values in use: bodies that are read, responses that are sent, what sessions keep."""
        return self.bodies.budget.held + self.unsent.held + self.runtime.sessions.budget.kept

    async def find(self, session_id: str, user_id: str) -> LiveSession:
        """A session of that user, to look at: nobody is logged in by that. Raises `Problem` (404)."""
        if not is_id(session_id):
            raise not_found("session")
        session = await self.runtime.sessions.bring(session_id)
        if session is None or session.user_id != user_id:
            raise not_found("session")
        return session

    async def open(self, session_id: str, user_id: str) -> LiveSession:
        """A session of that user, to do something in. One that was logged out is logged in. Raises `Problem` (404)."""
        self.refuse_if_draining()
        session = await self.find(session_id, user_id)
        if session.open:
            session.touch()
            return session
        try:
            return await self.runtime.sessions.open(session_id, user_id)
        except SessionNotFound:
            raise not_found("session") from None

    async def newest(self, session: LiveSession) -> int:
        """The number of a session's newest event, whichever process wrote it."""
        if not session.durable:
            return session.board.last_seq
        await session.settle()
        stored = await self.runtime.store.heads([session.id])
        head = stored.get(session.id)
        if head is None or head.made_at != session.created_at:  # it is deleted, whoever has its id now
            return session.board.last_seq
        return max(session.board.last_seq, head.last_seq)

    @property
    def has_model(self) -> bool:
        """Whether there is a model to talk to."""
        return self.runtime.sessions.conversations is not None

    @property
    def busy(self) -> bool:
        """Whether a turn runs in a session that was spoken to here."""
        return any(session.is_processing for session in self.talking)

    def drain(self) -> None:
        """End everything that is streamed, in a way that its clients can come back."""
        self.streams.drain()
        for run in tuple(self.runs):
            run.leave()

    def refuse_if_draining(self) -> None:
        """Raises `Problem` (503) while the server ends."""
        if self.draining:
            raise draining()


def unsent_answers(*, per_user: int = 16 * MIB, total: int = 256 * MIB) -> Budget:
    """The budget for answers that are not sent yet."""
    return Budget(_too_many_unread, per_user=per_user, total=total)


def _too_many_unread() -> Problem:
    detail = "There are too many answers that you have not read yet. Read them, or ask for smaller pages."
    return Problem(429, "too_many_unread_answers", "Too many at once", detail, {"retry-after": "1"})


def is_id(text: str) -> bool:
    """Whether a text can be an id at all: a store need not be asked for any other."""
    with suppress(SessionIdInvalid):
        check_id("id", text)
        return True
    return False
