"""Queries of a store, one statement each, so that every result is of one moment."""

import json
from collections.abc import Callable, Collection
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    case,
    func,
    literal,
    select,
)

from ...storage.event_log import Head, Page
from ...storage.owners import Stopping
from ...storage.rows import TURN, ExecutionRow, IdempotencyRow, InputRow, OwnerRow, RequestRow, SessionRow, TurnRow
from .statements import key_document
from .tables import (
    events,
    executions,
    idempotency_keys,
    inputs,
    made_at,
    owners,
    requests,
    running,
    session_tool_state,
    sessions,
    stopping,
    stopping_turns,
    transcript,
    turns,
)

EXECUTION = [executions.c[name] for name in ExecutionRow.__dataclass_fields__]
"""The columns of an execution, by the names of its fields."""

_active_at = (
    select(events.c.at)
    .where(events.c.session_id == sessions.c.id, events.c.seq == sessions.c.last_seq)
    .correlate(sessions)
    .scalar_subquery()
    .label("active_at")
)
_SESSION = select(
    *(sessions.c.id, session_tool_state.c.user_id, session_tool_state.c.namespaces, sessions.c.channel),
    *(sessions.c.allow, session_tool_state.c.available_tools, sessions.c.open, session_tool_state.c.created_at),
    *(session_tool_state.c.updated_at, sessions.c.last_seq, sessions.c.first_seq),
    *(session_tool_state.c.unconsumed_results, sessions.c.wake, sessions.c.writes, _active_at),
).join(session_tool_state, session_tool_state.c.session_id == sessions.c.id)

_TURN = select(*(turns.c[name] for name in TurnRow.__dataclass_fields__))
_INPUT = select(*(inputs.c[name] for name in InputRow.__dataclass_fields__))
_REQUEST = select(*(requests.c[name] for name in RequestRow.__dataclass_fields__))


_FEW = 8
"""The number of events of a page that are read first, before their size is known."""


class Queries:
    """The queries of `SqlStore`, for one kind of database."""

    def __init__(self, key_filter: Callable[..., ColumnElement[bool]]) -> None:
        self._session = _SESSION.where(sessions.c.id == bindparam("id"))
        self._events = self._page()
        self._heads = select(sessions.c.id, sessions.c.last_seq, made_at).where(key_filter(sessions.c.id))
        self._execution = select(*EXECUTION).where(
            executions.c.session_id == bindparam("session_id"), executions.c.id == bindparam("id")
        )
        self._of_call = select(*EXECUTION).where(
            executions.c.session_id == bindparam("session_id"), executions.c.call_id == bindparam("call_id")
        )
        self._among = key_filter(executions.c.id)
        self._by_key = select(*EXECUTION).where(key_filter(executions.c.session_id, executions.c.id))
        self._of_executions = key_filter(requests.c.session_id, requests.c.execution_id)
        self._next_expiry = select(func.min(requests.c.expires_at)).where(requests.c.status == "open")
        self._stopping = select(executions.c.session_id, executions.c.id, executions.c.kind).where(
            executions.c.owner == bindparam("owner"), stopping
        )
        self._stopping_turns = select(turns.c.session_id, turns.c.turn_id, literal(TURN)).where(
            turns.c.owner == bindparam("owner"), stopping_turns
        )
        self._turn = _TURN.where(turns.c.session_id == bindparam("session_id"), turns.c.number == bindparam("number"))
        self._running_turns = _TURN.where(key_filter(turns.c.session_id), running).order_by(
            turns.c.session_id, turns.c.number
        )
        self._inputs = _INPUT.where(inputs.c.session_id == bindparam("session_id"), key_filter(inputs.c.id)).order_by(
            inputs.c.id
        )
        self._request = _REQUEST.where(requests.c.id == bindparam("id"))
        self._closed = _REQUEST.where(key_filter(requests.c.id), requests.c.status != "open").order_by(requests.c.place)
        self._transcript = (
            select(transcript.c.entry)
            .where(transcript.c.session_id == bindparam("session_id"), transcript.c.position > bindparam("after"))
            .order_by(transcript.c.position)
            .limit(bindparam("limit"))
        )
        self._transcript_before = (
            select(transcript.c.position, transcript.c.entry)
            .where(transcript.c.session_id == bindparam("session_id"), transcript.c.position < bindparam("before"))
            .order_by(transcript.c.position.desc())
            .limit(bindparam("limit"))
        )
        self._idempotency = select(
            *(idempotency_keys.c[name] for name in ("key", "fingerprint", "at", "answer", "seq"))
        ).where(idempotency_keys.c.session_id == bindparam("session_id"), idempotency_keys.c.key == bindparam("key"))
        self._owners = select(owners).order_by(owners.c.id)

    def session(self, connection: Connection, session_id: str) -> SessionRow | None:
        row = connection.execute(self._session, {"id": session_id}).one_or_none()
        return _session(row) if row else None

    def sessions(self, connection: Connection, user_id: str | None, after: str, limit: int) -> list[SessionRow]:
        statement = _SESSION.where(sessions.c.id > after).order_by(sessions.c.id).limit(limit)
        if user_id is not None:
            statement = statement.where(session_tool_state.c.user_id == user_id)
        return [_session(row) for row in connection.execute(statement)]

    def events(self, connection: Connection, session_id: str, after: int, limit: int, max_bytes: int) -> Page:
        """Read a page in parts: the size of the first few events says how many more to read."""
        first, first_seq, last_seq = after + 1, 1, 0
        lines: list[bytes] = []
        size, count = 0, min(limit, _FEW)
        while True:
            start = first + len(lines) - 1
            rows = connection.execute(self._events, {"id": session_id, "after": start, "limit": max(0, count)}).all()
            if not rows or (lines and rows[0].first_seq > start + 1):  # some were trimmed: a page has no gaps
                break
            first_seq, last_seq = rows[0].first_seq, rows[0].last_seq
            first = first if lines else max(first, first_seq)
            bodies = [row.body for row in rows if row.body is not None]
            for body in bodies:
                lines.append(body)
                size += len(body)
                if size >= max_bytes:
                    break
            if len(bodies) < count or len(lines) >= limit or size >= max_bytes:
                break
            count = min(limit - len(lines), max(1, (max_bytes - size) * len(lines) // size))
        return Page(first, lines, first_seq, last_seq)

    def heads(self, connection: Connection, session_ids: Collection[str]) -> dict[str, Head]:
        rows = connection.execute(self._heads, {"keys": key_document(zip(session_ids))})
        return {row.id: Head(row.last_seq, row.made_at) for row in rows}

    def execution(self, connection: Connection, session_id: str, execution_id: str) -> ExecutionRow | None:
        row = (
            connection.execute(self._execution, {"session_id": session_id, "id": execution_id}).mappings().one_or_none()
        )
        return ExecutionRow(**row) if row else None

    def execution_of_call(self, connection: Connection, session_id: str, call_id: str) -> ExecutionRow | None:
        rows = connection.execute(self._of_call, {"session_id": session_id, "call_id": call_id}).mappings()
        return next((ExecutionRow(**row) for row in rows), None)

    def executions(
        self, connection: Connection, session_id: str, ids: Collection[str] | None, unfinished: bool, limit: int
    ) -> list[ExecutionRow]:
        statement = select(*EXECUTION).where(executions.c.session_id == session_id)
        parameters: dict[str, str] = {}
        if ids is not None:
            statement = statement.where(self._among)
            parameters["keys"] = key_document(zip(ids))
        if unfinished:
            statement = statement.where(executions.c.completed_at.is_(None))
        newest = connection.execute(statement.order_by(executions.c.place.desc()).limit(limit), parameters)
        return [ExecutionRow(**row) for row in reversed(newest.mappings().all())]

    def executions_by_key(self, connection: Connection, wanted: Collection[tuple[str, str]]) -> list[ExecutionRow]:
        rows = connection.execute(self._by_key, {"keys": key_document(wanted)}).mappings()
        found = {(row["session_id"], row["id"]): ExecutionRow(**row) for row in rows}
        return [found[key] for key in dict.fromkeys(wanted) if key in found]

    def stopping(self, connection: Connection, owner_id: str) -> list[Stopping]:
        queries = (self._stopping, self._stopping_turns)
        return [Stopping(*row) for each in queries for row in connection.execute(each, {"owner": owner_id})]

    def turn(self, connection: Connection, session_id: str, number: int) -> TurnRow | None:
        rows = connection.execute(self._turn, {"session_id": session_id, "number": number}).mappings()
        return next((TurnRow(**row) for row in rows), None)

    def running_turns(self, connection: Connection, session_ids: Collection[str]) -> list[TurnRow]:
        rows = connection.execute(self._running_turns, {"keys": key_document(zip(session_ids))}).mappings()
        return [TurnRow(**row) for row in rows]

    def inputs(self, connection: Connection, session_id: str, ids: Collection[str]) -> list[InputRow]:
        wanted = {"session_id": session_id, "keys": key_document(zip(ids))}
        return [InputRow(**row) for row in connection.execute(self._inputs, wanted).mappings()]

    def closed_requests(self, connection: Connection, request_ids: Collection[str]) -> list[RequestRow]:
        rows = connection.execute(self._closed, {"keys": key_document(zip(request_ids))}).mappings()
        return [RequestRow(**row) for row in rows]

    def request(self, connection: Connection, request_id: str) -> RequestRow | None:
        rows = connection.execute(self._request, {"id": request_id}).mappings()
        return next((RequestRow(**row) for row in rows), None)

    def requests(
        self,
        connection: Connection,
        limit: int,
        due: float | None,
        of: Collection[tuple[str, str]] | None,
        **wanted: str | None,
    ) -> list[RequestRow]:
        wheres: list[ColumnElement[bool]] = [
            requests.c[name] == value for name, value in wanted.items() if value is not None
        ]
        if due is not None:
            wheres.append(requests.c.expires_at <= due)
        parameters: dict[str, str] = {}
        if of is not None:
            wheres.append(self._of_executions)
            parameters["keys"] = key_document(of)
        rows = connection.execute(_REQUEST.where(*wheres).order_by(requests.c.place).limit(limit), parameters)
        return [RequestRow(**row) for row in rows.mappings()]

    def next_expiry(self, connection: Connection) -> float | None:
        return connection.execute(self._next_expiry).scalar_one()

    def transcript(self, connection: Connection, session_id: str, after: int, limit: int) -> list[bytes]:
        wanted = {"session_id": session_id, "after": after, "limit": limit}
        return list(connection.execute(self._transcript, wanted).scalars())

    def transcript_before(
        self, connection: Connection, session_id: str, before: int, limit: int
    ) -> tuple[int, list[bytes]]:
        wanted = {"session_id": session_id, "before": before, "limit": limit}
        rows = connection.execute(self._transcript_before, wanted).all()[::-1]
        return (rows[0].position, [row.entry for row in rows]) if rows else (1, [])

    def idempotency(self, connection: Connection, session_id: str, key: str) -> IdempotencyRow | None:
        rows = connection.execute(self._idempotency, {"session_id": session_id, "key": key}).mappings()
        return next((IdempotencyRow(**{**row, "answer": row["answer"].encode()}) for row in rows), None)

    def owners(self, connection: Connection) -> list[OwnerRow]:
        return [OwnerRow(**row) for row in connection.execute(self._owners).mappings()]

    def _page(self) -> Select[*tuple[Any, ...]]:
        """Return the query of a session with its events after a number. Numbers have no gaps, so a limit is one."""
        after, limit = bindparam("after", type_=BigInteger()), bindparam("limit", type_=BigInteger())
        first = case((sessions.c.first_seq > after, sessions.c.first_seq), else_=after + 1)
        wanted = and_(events.c.session_id == sessions.c.id, events.c.seq > after, events.c.seq < first + limit)
        return (
            select(sessions.c.first_seq, sessions.c.last_seq, events.c.body)
            .select_from(sessions.outerjoin(events, wanted))
            .where(sessions.c.id == bindparam("id"))
            .order_by(events.c.seq)
        )


def _session(row: Row[*tuple[Any, ...]]) -> SessionRow:
    return SessionRow(
        id=row.id,
        user_id=row.user_id,
        namespaces=_names(row.namespaces),
        channel=row.channel,
        allow=_names(row.allow),
        tools=_names(row.available_tools) or (),
        open=row.open,
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_seq=row.last_seq,
        first_seq=row.first_seq,
        unconsumed=_names(row.unconsumed_results) or (),
        wake=row.wake,
        writes=row.writes,
        active_at=row.active_at,
    )


def _names(document: bytes | None) -> tuple[str, ...] | None:
    return None if document is None else tuple(json.loads(document))
