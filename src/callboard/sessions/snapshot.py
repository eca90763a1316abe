"""How a session stands at one moment: where a reader begins, or begins again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..execution.record import ExecutionRecord
from ..execution.storing import record_of
from ..storage.brief import Brief
from ..storage.rows import RequestRow
from .services import Services

if TYPE_CHECKING:
    from .calls import BriefRecord
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
        executions = [record_of(row, now) for row in rows]
        processing = processing or bool(await services.store.running_turns([session.id]))
    else:
        executions = await session.history(unfinished=True)
    return SessionSnapshot(
        last_seq=last_seq,
        executions=tuple(executions),
        requests=tuple(await session.requests()),
        unconsumed=await session.results.waiting(),
        is_processing=processing,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefSnapshot:
    """What is known of a session, up to an event; of what there may be much, only the first or the newest."""

    last_seq: int
    """The number of the newest event that it has taken in."""
    executions: "tuple[BriefRecord, ...]"
    """The newest that run or wait, oldest first."""
    requests: tuple[Brief[RequestRow], ...]
    """The first that people are asked, oldest first."""
    is_processing: bool
    """Whether a turn runs, in whatever process."""


async def take_brief_snapshot(session: "Session", services: Services, limit: int, longest: int) -> BriefSnapshot:
    """How a session stands now, with at most `limit` executions and requests, and nothing in them over `longest`."""
    if session.durable:
        await session.ledger.settle()
        await services.catch_up(session.id, session.board)
    last_seq = session.board.last_seq  # first: whatever comes while the rest is read, is read after this
    processing = session.is_processing
    store, now = services.store, services.clock.time()
    if session.durable and not processing:
        processing = bool(await store.running_turns([session.id]))
    executions = await session.calls.page(unfinished=True, limit=limit, longest=longest)
    requests = await store.brief_requests(
        user_id=session.user_id, session_id=session.id, status="open", limit=limit, longest=longest
    )
    return BriefSnapshot(
        last_seq=last_seq,
        executions=tuple(executions),
        requests=tuple(each for each in requests if each.row.expires_at is None or each.row.expires_at > now),
        is_processing=processing,
    )
