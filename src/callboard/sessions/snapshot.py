"""Snapshots: the state of a session at one moment, from which a reader starts, or starts again."""

from dataclasses import dataclass

from ..execution.record import BriefRecord, ExecutionRecord
from ..storage.brief import Brief
from ..storage.rows import RequestRow
from .live_session import LiveSession
from .open_request import OpenRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSnapshot:
    """The state of a session up to an event."""

    last_seq: int
    """Number of the newest event that the snapshot includes."""
    executions: tuple[ExecutionRecord, ...]
    """Executions that run or wait, oldest first."""
    requests: tuple[OpenRequest, ...]
    """Requests that wait for a person, oldest first."""
    unconsumed: tuple[str, ...]
    """Executions whose late results wait to be taken, oldest first."""
    is_processing: bool
    """Whether a turn runs, in any process."""


async def take_snapshot(session: LiveSession) -> SessionSnapshot:
    """Return the state of a session now."""
    return SessionSnapshot(
        last_seq=await _newest(session),
        executions=tuple(await session.calls.history(unfinished=True)),
        requests=tuple(OpenRequest.from_row(row) for row in await session.requests()),
        unconsumed=await session.results.waiting(),
        is_processing=await _is_processing(session),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefSnapshot:
    """The state of a session up to an event, with a limited number of executions and requests."""

    last_seq: int
    """Number of the newest event that the snapshot includes."""
    executions: tuple[BriefRecord, ...]
    """The newest executions that run or wait, oldest first."""
    requests: tuple[Brief[RequestRow], ...]
    """The oldest requests that wait for a person, oldest first."""
    is_processing: bool
    """Whether a turn runs, in any process."""


async def take_brief_snapshot(session: LiveSession, limit: int, longest: int) -> BriefSnapshot:
    """Return the state of a session now, with at most `limit` executions and requests.

    Values in them that are longer than `longest` are left out.
    """
    session.touch()
    last_seq = await _newest(session)
    executions = await session.calls.page(unfinished=True, limit=limit, longest=longest)
    requests = await session.services.store.brief_requests(
        user_id=session.user_id, session_id=session.id, status="open", limit=limit, longest=longest
    )
    now = session.services.clock.time()
    return BriefSnapshot(
        last_seq=last_seq,
        executions=tuple(executions),
        requests=tuple(each for each in requests if each.row.expires_at is None or each.row.expires_at > now),
        is_processing=await _is_processing(session),
    )


async def _newest(session: LiveSession) -> int:
    """Bring the board up to date. Returns its last number: later events may be in the rest of the snapshot already."""
    if session.durable:
        await session.ledger.settle()
        await session.catch_up()
    return session.board.last_seq


async def _is_processing(session: LiveSession) -> bool:
    """Return whether a turn runs, in any process."""
    return session.is_processing or (session.durable and bool(await session.services.store.running_turns([session.id])))
