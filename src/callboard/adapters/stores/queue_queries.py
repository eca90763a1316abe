"""Queries of the executions that wait in queues for workers."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    func,
    literal_column,
    not_,
    select,
    tuple_,
    union_all,
)

from ...storage.owners import Claim, QueuedCall
from ...storage.queues import QueueDepth
from ...storage.rows import ExecutionRow
from .tables import executions, incomplete, owners, queued

_QUEUED_CALL = (
    executions.c.session_id,
    executions.c.id,
    executions.c.tool,
    executions.c.queue,
    executions.c.user_id,
)


def select_claimed(owner_id: str) -> Select[Any, Any, Any, Any, Any]:
    """Select the claims of a process that have not begun, and their places.

    They are not ordered: for the order, PostgreSQL would read all unfinished executions by another index.
    """
    columns = executions.c.session_id, executions.c.id, executions.c.user_id, executions.c.kind, executions.c.place
    is_new = incomplete, executions.c.attempt == literal_column("0")
    return select(*columns).where(executions.c.owner == owner_id, executions.c.queue.is_not(None), *is_new)


def claimed_calls(connection: Connection, owner_id: str) -> list[Claim]:
    """See `Queues.claimed_calls`."""
    found = sorted(connection.execute(select_claimed(owner_id)), key=lambda row: (row.session_id, row.place))
    return [Claim(*row[:-1]) for row in found]


def queue_depths(connection: Connection) -> list[QueueDepth]:
    """See `Queues.queue_depths`."""
    queue, user_id = executions.c.queue, executions.c.user_id
    counted = select(queue, user_id, func.count(), func.min(executions.c.queued_at)).where(queued, queue != "")
    by_queue: dict[str, list[tuple[str, int, float]]] = {}
    for name, user, waiting, oldest_at in connection.execute(counted.group_by(queue, user_id).order_by(queue, user_id)):
        by_queue.setdefault(name, []).append((user, waiting, oldest_at))
    return [
        QueueDepth(
            name,
            sum(waiting for _, waiting, _ in users),
            min(oldest_at for _, _, oldest_at in users),
            {user: waiting for user, waiting, _ in users},
        )
        for name, users in by_queue.items()
    ]


def queued_calls(
    connection: Connection, queue: str, before: float, limit: int, tools: Collection[str] | None
) -> list[QueuedCall]:
    """See `Queues.queued_calls`."""
    found = select(*_QUEUED_CALL).where(queued, executions.c.queue == queue, executions.c.queued_at < before)
    if tools is not None:
        found = found.where(executions.c.tool.in_(tools))
    return [QueuedCall(*row) for row in connection.execute(found.order_by(executions.c.queued_at).limit(limit))]


def queued_calls_of(connection: Connection, queue: str, users: Mapping[str, int]) -> dict[str, list[QueuedCall]]:
    """See `Queues.queued_calls_of`."""
    calls: dict[str, list[QueuedCall]] = {user_id: [] for user_id in users}
    for row in connection.execute(select_oldest(queue, users)) if users else ():
        calls[row.user_id].append(QueuedCall(*row))
    return calls


def select_oldest(queue: str, users: Mapping[str, int]) -> CompoundSelect[*tuple[Any, ...]]:
    """Return the query for the oldest calls of users. It reads those from an index, and no others."""
    waits = select(*_QUEUED_CALL).where(queued, executions.c.queue == queue)
    oldest = waits.order_by(executions.c.queued_at)
    of_users = (oldest.where(executions.c.user_id == user_id).limit(count) for user_id, count in users.items())
    return union_all(*(select(calls.subquery()) for calls in of_users))


def waiting_calls(connection: Connection, listed: ColumnElement[bool], document: Mapping[str, Any]) -> list[QueuedCall]:
    """Return those of the listed executions that wait in a queue and are not to be cancelled."""
    found = select(*_QUEUED_CALL).where(listed, queued, executions.c.queue != "", not_(executions.c.cancelling))
    return [QueuedCall(*row) for row in connection.execute(found, document)]


def calls_over_limit(
    connection: Connection, waiting: Iterable[QueuedCall], limits: Mapping[str, int]
) -> list[tuple[str, str]]:
    """Return the calls of tools with a limit for which there is no room. Processes that count them take turns."""
    connection.execute(select(owners.c.id).order_by(owners.c.id).with_for_update())
    limited = [call for call in waiting if call.tool in limits]
    tools = {call.tool for call in limited}
    runs = incomplete, executions.c.owner.is_not(None), executions.c.queue != "", executions.c.tool.in_(tools)
    counted = select(executions.c.tool, func.count()).where(*runs).group_by(executions.c.tool)
    room = {tool: limits[tool] for tool in tools}
    for tool, running_calls in connection.execute(counted):
        room[tool] -= running_calls
    refused: list[tuple[str, str]] = []
    for call in limited:
        if room[call.tool] > 0:
            room[call.tool] -= 1
        else:
            refused.append((call.session_id, call.id))
    return refused


def nested_calls(connection: Connection, callers: Iterable[ExecutionRow]) -> list[Claim]:
    """Return the unfinished nested calls that run where these executions do."""
    keys = [(row.session_id, row.id) for row in callers]
    nested = select(executions.c.session_id, executions.c.id, executions.c.user_id, executions.c.kind).where(
        queued, executions.c.queue == "", tuple_(executions.c.session_id, executions.c.parent_id).in_(keys)
    )
    return [Claim(*row) for row in connection.execute(nested.order_by(executions.c.session_id, executions.c.place))]
