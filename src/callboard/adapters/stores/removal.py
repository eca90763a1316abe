"""What is forgotten: whole sessions, and old events."""

from sqlalchemy import Connection, delete, select, update

from .tables import events, sessions


def remove(connection: Connection, session_id: str) -> bool:
    """Remove a session; all that is its own goes with it."""
    return connection.execute(delete(sessions).where(sessions.c.id == session_id)).rowcount == 1


def trim(connection: Connection, session_id: str, keep: int, before: float) -> int:
    """Forget the oldest events: those beyond the newest `keep`, then those up to the first that is not from before."""
    board = select(sessions.c.first_seq, sessions.c.last_seq).where(sessions.c.id == session_id).with_for_update()
    row = connection.execute(board).one_or_none()
    if row is None:
        return 1
    mine = events.c.session_id == session_id
    young = select(events.c.seq).where(mine, events.c.seq > row.last_seq - keep, events.c.at >= before)
    first = connection.execute(young.order_by(events.c.seq).limit(1)).scalar_one_or_none() or row.last_seq + 1
    if first > row.first_seq:
        connection.execute(delete(events).where(mine, events.c.seq < first))
        connection.execute(update(sessions).where(sessions.c.id == session_id).values(first_seq=first))
    return first
