"""How a session stands: what runs in it, in whichever process, what people are asked, and what nobody has taken."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..sessions.ids import SessionNotFound
from ..sessions.liveness import is_dead
from ..storage.rows import ExecutionRow, OwnerRow, RequestRow, SessionRow
from ..storage.store import Store
from .records import execution_data, request_data, request_status, result_data, session_data
from .text import one_line

MOST = 1_000
"""How many executions or requests of a session are looked at."""


class SessionStatus(NamedTuple):
    """A session and all that is unfinished in it, as it was when one looked."""

    session: SessionRow
    executions: list[ExecutionRow]
    requests: list[RequestRow]
    results: list[ExecutionRow]
    owners: Mapping[str, OwnerRow]
    """The processes that are known, by id."""


async def find_session(store: Store, session_id: str) -> SessionRow:
    """The session of that id. Raises `SessionNotFound`."""
    row = await store.session(session_id)
    if row is None:
        raise SessionNotFound(f"There is no session {one_line(session_id)!r}. See: callboard sessions list")
    return row


async def look_at(store: Store, session_id: str) -> SessionStatus:
    """How a session stands. Raises `SessionNotFound`."""
    row = await find_session(store, session_id)
    now = time.time()
    asked = await store.requests(session_id=session_id, status="open", limit=MOST)
    return SessionStatus(
        row,
        await store.executions(session_id, unfinished=True, limit=MOST),
        [request for request in asked if request_status(request, now) == "open"],
        await store.executions(session_id, ids=row.unconsumed, limit=MOST) if row.unconsumed else [],
        {owner.id: owner for owner in await store.owners()},
    )


def holder(row: ExecutionRow, owners: Mapping[str, OwnerRow]) -> str | None:
    """The process that carries an execution out; None where nobody does, or where it is known to be gone."""
    owner = None if row.owner is None else owners.get(row.owner)
    return owner.id if owner is not None and lives(owner) else None


def lives(owner: OwnerRow) -> bool:
    """Whether a process still works with the store, as far as that can be known from here."""
    return owner.beat >= 0 and not is_dead(owner)


def process_name(owner: str) -> str:
    """A process as people know it: its machine and its number."""
    return one_line(owner.rpartition("-")[0] or owner)


def status_data(status: SessionStatus) -> dict[str, Any]:
    """All of it as JSON data."""
    now = time.time()
    return {
        **session_data(status.session),
        "unfinished": unfinished_data(status, status.executions),
        "open_requests": [request_data(row, now) for row in status.requests],
        "results": [result_data(row) for row in status.results],
    }


def unfinished_data(status: SessionStatus, rows: Sequence[ExecutionRow]) -> list[dict[str, Any]]:
    """Some of its executions as JSON data, with the process that carries each out, if one does."""
    return [{**execution_data(row), "held_by": holder(row, status.owners)} for row in rows]
