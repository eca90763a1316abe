"""How a session stands at one moment: where a reader begins, or begins again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..execution.record import ExecutionRecord
from ..execution.storing import record_of
from ..storage.rows import TURN, RequestRow
from .services import Services

if TYPE_CHECKING:
    from .session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSnapshot:
    """What is known of a session, up to an event."""

    last_seq: int
    """The number of the newest event that it has taken in."""
    executions: tuple[ExecutionRecord, ...]
    """What runs or waits, oldest first."""
    requests: tuple[RequestRow, ...]
    """What people are asked, oldest first."""
    unconsumed: tuple[str, ...]
    """The executions whose late results wait to be taken, oldest first."""
    is_processing: bool
    """Whether a turn runs, in whatever process."""


async def take_snapshot(session: "Session", services: Services) -> SessionSnapshot:
    """How a session stands now."""
    if session.durable:
        await session.ledger.settle()
        await services.catch_up(session.id, session.board)
    last_seq = session.board.last_seq  # first: whatever comes while the rest is read, is read after this
    now, processing = services.clock.time(), session.is_processing
    if session.durable:
        rows = await services.store.executions(session.id, unfinished=True)
        executions = [record_of(row, now) for row in rows if row.is_call]
        processing = processing or any(row.kind == TURN for row in rows)
    else:
        executions = await session.history(unfinished=True)
    return SessionSnapshot(
        last_seq=last_seq,
        executions=tuple(executions),
        requests=tuple(await session.requests()),
        unconsumed=await session.results.waiting(),
        is_processing=processing,
    )
