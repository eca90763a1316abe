"""Queries of brief rows for lists: the database leaves long fields out, so that they are never read into memory."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, LargeBinary, Text, and_, cast, func, null, select, type_coerce

from ...storage.brief import EXCERPT, Brief, Cut, R, nothing
from ...storage.rows import ExecutionRow, RequestRow
from .json_text import JsonText
from .tables import executions, request_conditions, requests


def brief_executions(
    connection: Connection,
    json: JsonText,
    session_id: str,
    before: str | None,
    unfinished: bool,
    limit: int,
    longest: int,
) -> list[Brief[ExecutionRow]]:
    """See `ExecutionRecords.brief_executions`."""
    columns = _columns(ExecutionRow, executions, longest, "display_arguments", "value")
    statement = select(*columns).where(executions.c.session_id == session_id)
    if unfinished:
        statement = statement.where(executions.c.completed_at.is_(None))
    if before is not None:
        known = and_(executions.c.session_id == session_id, executions.c.id == before)
        statement = statement.where(executions.c.place < select(executions.c.place).where(known).scalar_subquery())
    newest = connection.execute(statement.order_by(executions.c.place.desc()).limit(limit)).mappings().all()
    return [_brief(ExecutionRow, dict(row), longest, json, "display_arguments", "value") for row in reversed(newest)]


def brief_requests(
    connection: Connection,
    json: JsonText,
    closed: bool,
    after: str | None,
    limit: int,
    longest: int,
    **wanted: str | None,
) -> list[Brief[RequestRow]]:
    """See `RequestRecords.brief_requests`."""
    statement = select(*_columns(RequestRow, requests, longest, "payload"))
    statement = statement.where(*request_conditions(**wanted))
    place = requests.c.place
    if closed:
        statement = statement.where(requests.c.status != "open")
    if after is not None:
        known = select(place).where(requests.c.id == after).scalar_subquery()
        statement = statement.where(place < known if closed else place > known)
    rows = connection.execute(statement.order_by(place.desc() if closed else place).limit(limit)).mappings()
    return [_brief(RequestRow, dict(row), longest, json, "payload") for row in rows]


def _columns(kind: type[Any], table: Any, longest: int, *names: str) -> list[ColumnElement[Any]]:
    """Return the columns of a row: of the named fields the first `longest` characters, and their lengths."""
    columns: list[ColumnElement[Any]] = []
    for name in kind.__dataclass_fields__:
        column = table.c[name]
        if name == "document":
            columns.append(type_coerce(null(), LargeBinary).label(name))
        elif name not in names:
            columns.append(column)
        else:
            text = cast(column, Text)
            columns += [func.substr(text, 1, longest).label(name), func.length(text).label(f"{name}_length")]
    return columns


def _brief(kind: type[R], found: dict[str, Any], longest: int, json: JsonText, *names: str) -> Brief[R]:
    cut: dict[str, Cut] = {}
    for name in names:
        text, length = found[name], found.pop(f"{name}_length")
        if text is None:
            continue
        if length > longest:
            cut[name] = Cut(length, json.beginning(text)[:EXCERPT])
            found[name] = nothing(name)
        else:
            found[name] = json.read(text)
    return Brief(kind(**found), cut)
