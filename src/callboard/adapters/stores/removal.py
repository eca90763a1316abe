"""What is forgotten: whole sessions, and old events."""

from sqlalchemy import Connection, delete, select, update

from ...events.kinds import EventKind
from ...storage.rows import INPUT
from .encoded import input_of
from .tables import events, executions, idempotency_keys, made_at, sessions


def remove(connection: Connection, session_id: str, when: float | None) -> bool:
    """Remove a session, if it was made at that time; all that is its own goes with it."""
    removed = delete(sessions).where(sessions.c.id == session_id)
    if when is not None:
        removed = removed.where(made_at == when)
    return connection.execute(removed).rowcount == 1


def forget_keys(connection: Connection, before: float) -> int:
    """Forget the idempotency keys that are older than a time."""
    return connection.execute(delete(idempotency_keys).where(idempotency_keys.c.at < before)).rowcount


def trim(connection: Connection, session_id: str, keep: int, before: float) -> int:
    """Forget the oldest events: those beyond the newest `keep`, then those up to the first that is not from before.

    An input of which the model was not told yet stays, and all that comes after it.
    """
    board = select(sessions.c.first_seq, sessions.c.last_seq).where(sessions.c.id == session_id).with_for_update()
    row = connection.execute(board).one_or_none()
    if row is None:
        return 1
    mine = events.c.session_id == session_id
    young = select(events.c.seq).where(mine, events.c.seq > row.last_seq - keep, events.c.at >= before)
    first = connection.execute(young.order_by(events.c.seq).limit(1)).scalar_one_or_none() or row.last_seq + 1
    first = _first_untold(connection, session_id, first)
    if first > row.first_seq:
        connection.execute(delete(events).where(mine, events.c.seq < first))
        connection.execute(update(sessions).where(sessions.c.id == session_id).values(first_seq=first))
    return first


def _first_untold(connection: Connection, session_id: str, end: int) -> int:
    """The number of the first input before an event that nobody told the model of; else that of the event."""
    unfinished = select(executions.c.id).where(
        executions.c.session_id == session_id, executions.c.completed_at.is_(None)
    )
    untold = set(connection.execute(unfinished.where(executions.c.kind == INPUT)).scalars())
    if not untold:
        return end
    inputs = select(events.c.seq, events.c.body).where(
        events.c.session_id == session_id, events.c.seq < end, events.c.kind == EventKind.USER_INPUT
    )
    return next(
        (seq for seq, body in connection.execute(inputs.order_by(events.c.seq)) if input_of(body) in untold), end
    )
