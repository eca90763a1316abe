"""Deletes sessions, old events and old idempotency keys."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, delete, exists, or_, select, update

from ...events.kinds import EventKind
from ...storage.text import is_storable
from .event_header import input_id
from .statements import key_document
from .tables import events, idempotency_keys, inputs, made_at, sessions, undelivered


def delete_session(connection: Connection, session_id: str, created_at: float | None) -> bool:
    """Delete a session with all its records, unless it was created at another time."""
    removed = delete(sessions).where(sessions.c.id == session_id)
    if created_at is not None:
        removed = removed.where(made_at == created_at)
    return connection.execute(removed).rowcount == 1


def forget_idempotency_keys(connection: Connection, before: float) -> int:
    """Delete the idempotency keys that are older than a time."""
    return connection.execute(delete(idempotency_keys).where(idempotency_keys.c.at < before)).rowcount


def sessions_to_trim(
    connection: Connection, listed: ColumnElement[bool], session_ids: Collection[str], keep: int, before: float
) -> list[str]:
    """See `EventLog.sessions_to_trim`. `listed` is the condition that a session is one in the parameter `keys`."""
    oldest = events.c.session_id == sessions.c.id, events.c.seq == sessions.c.first_seq
    is_old = exists().where(*oldest, events.c.at < before)
    is_long = sessions.c.last_seq - sessions.c.first_seq >= keep
    found = select(sessions.c.id).where(listed, or_(is_long, is_old), sessions.c.last_seq >= sessions.c.first_seq)
    keys = {"keys": key_document((session_id,) for session_id in session_ids if is_storable(session_id))}
    return sorted(connection.execute(found, keys).scalars())


def trim(connection: Connection, session_id: str, keep: int, before: float) -> int:
    """Delete the oldest events: those beyond the newest `keep`, and those before the first that is new enough.

    An input that is not delivered to the model stays, with all events after it.
    """
    board = select(sessions.c.first_seq, sessions.c.last_seq).where(sessions.c.id == session_id).with_for_update()
    row = connection.execute(board).one_or_none()
    if row is None:
        return 1
    mine = events.c.session_id == session_id
    young = select(events.c.seq).where(mine, events.c.seq > row.last_seq - keep, events.c.at >= before)
    first = connection.execute(young.order_by(events.c.seq).limit(1)).scalar_one_or_none() or row.last_seq + 1
    first = _first_undelivered(connection, session_id, first)
    if first > row.first_seq:
        connection.execute(delete(events).where(mine, events.c.seq < first))
        connection.execute(update(sessions).where(sessions.c.id == session_id).values(first_seq=first))
    return first


def _first_undelivered(connection: Connection, session_id: str, end: int) -> int:
    """Return the number of the first undelivered input before an event; else that of the event."""
    ids = select(inputs.c.id).where(inputs.c.session_id == session_id, undelivered)
    waiting = set(connection.execute(ids).scalars())
    if not waiting:
        return end
    posted = select(events.c.seq, events.c.body).where(
        events.c.session_id == session_id, events.c.seq < end, events.c.kind == EventKind.USER_INPUT
    )
    return next(
        (seq for seq, body in connection.execute(posted.order_by(events.c.seq)) if input_id(body) in waiting), end
    )
