"""How a group of changes is written, inside of a transaction.

The sessions' rows are locked first, in the order of their ids, so that nobody else writes to them meanwhile. Then what
the changes speak of is read; each change is judged and taken in, in their order; and the outcome is written with one
statement per table, however many changes there are.
"""

import json
import re
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy import Connection, Dialect, delete, select

from ...storage.port import Change, Conflict
from ...storage.rows import ExecutionRow, SessionRow
from .encoded import posted
from .guards import refusal
from .sheets import Row, Sheet, among, keys
from .tables import events, executions, requests, session_tool_state, sessions, transcript

_EXECUTION = (
    *("session_id", "id", "user_id", "call_id", "tool", "kind", "fingerprint", "status", "priority", "attempt"),
    *("max_attempts", "late", "parent_id", "queued_at", "started_at", "completed_at", "owner", "document"),
)
_EXECUTION_JSON = ("shown", "errors", "value", "error")
_REQUEST = (
    *("id", "session_id", "user_id", "execution_id", "kind", "tool", "fingerprint", "status"),
    *("created_at", "expires_at", "answered_at"),
)
_REQUEST_JSON = ("payload", "schema", "answer")

_UNFIT = re.compile("[\0\ud800-\udfff]")

_execution_values = attrgetter(*_EXECUTION)
_execution_json = attrgetter(*_EXECUTION_JSON)
_request_values = attrgetter(*_REQUEST)
_request_json = attrgetter(*_REQUEST_JSON)


class _Encoded(NamedTuple):
    """A change in the values that the database takes. What cannot be encoded fails before anything is taken in."""

    executions: list[Row]
    requests: list[Row]
    transcript: list[str]


_NOTHING = _Encoded([], [], [])


class _Execution:
    """An execution that a change speaks of, as it will be after the changes that were taken in."""

    __slots__ = ("asked", "call_id", "cancelling", "finished", "owner", "place", "values")

    def __init__(self, place: int, call_id: str, owner: str | None, finished: bool, cancelling: bool) -> None:
        self.place = place
        self.call_id = call_id
        self.owner = owner
        self.finished = finished
        self.cancelling = cancelling
        self.values: Row | None = None
        """What is to be written of it."""
        self.asked = False
        """Whether nothing is to be written but that it was asked to stop."""


class _Request(NamedTuple):
    session_id: str
    status: str


class _Session:
    """A session that is written to, as it will be after the changes that were taken in."""

    __slots__ = (
        *("calls", "executions", "id", "last_entry", "last_execution", "last_seq", "row", "there", "unconsumed"),
        *("unconsumed_before", "user_id", "written"),
    )

    def __init__(self, session_id: str, last_seq: int, last_entry: int, last_execution: int) -> None:
        self.id = session_id
        self.last_seq = last_seq
        self.last_entry = last_entry
        self.last_execution = last_execution
        self.there = True
        self.user_id = ""
        self.unconsumed: dict[str, None] = {}
        self.unconsumed_before: tuple[str, ...] = ()
        self.executions: dict[str, _Execution] = {}
        self.calls: set[str] = set()
        self.row: SessionRow | None = None
        """What is to be written of it."""
        self.written = False
        """Whether its counters moved."""


class _Group:
    """What is known of that which a group speaks of, and what is to be written."""

    def __init__(self) -> None:
        self.sessions: dict[str, _Session] = {}
        self.known_requests: dict[str, _Request] = {}
        self.requests: dict[str, Row] = {}
        self.transcript: list[Row] = []
        self.events: list[Row] = []

    def take(self, change: Change) -> int | Conflict:
        """Judge a change and, if it fits, take it in."""
        session = self.sessions.get(change.session_id)
        conflict = refusal(change, session if session and session.there else None, self.known_requests)
        if conflict is not None:
            return conflict
        try:
            posts = [(posted(event), event.decode()) for event in change.events]
            encoded = _encoded(change) if change.executions or change.requests or change.transcript else _NOTHING
        except ValueError as error:
            return Conflict(f"A change of session {change.session_id} cannot be stored: {error}")
        if session is None:
            return Conflict("A session cannot be stored under this id.")
        if change.session is not None:
            session.there = True
            session.user_id = change.session.user_id
            session.row = change.session
        for write, values in zip(change.executions, encoded.executions, strict=True):
            self._execution(session, write.row, values)
        for write, values in zip(change.requests, encoded.requests, strict=True):
            self.known_requests[write.row.id] = _Request(write.row.session_id, write.row.status)
            self.requests[write.row.id] = values
        for execution_id in change.late:
            session.unconsumed[execution_id] = None
        for execution_id in change.taken:
            del session.unconsumed[execution_id]
        for execution_id in change.cancel:
            execution = session.executions[execution_id]
            if not execution.finished:
                execution.cancelling = execution.asked = True
        for entry in encoded.transcript:
            session.last_entry += 1
            self.transcript.append((session.id, session.last_entry, entry))
        seq = session.last_seq
        for (kind, at), body in posts:
            seq += 1
            self.events.append((session.id, seq, kind, at, body))
        session.last_seq = seq
        session.written = session.written or bool(posts or encoded.transcript or encoded.executions)
        return seq

    def _execution(self, session: _Session, row: ExecutionRow, values: Row) -> None:
        execution = session.executions.get(row.id)
        if execution is None:
            session.last_execution += 1
            session.calls.add(row.call_id)
            execution = session.executions[row.id] = _Execution(
                session.last_execution, row.call_id, row.owner, False, False
            )
        execution.owner = row.owner
        execution.finished = row.completed_at is not None
        execution.cancelling = execution.cancelling or row.cancelling
        execution.values = values


class Writing:
    """The statements by which one kind of database is written."""

    def __init__(self, dialect: Dialect) -> None:
        counters = ("last_seq", "last_entry", "last_execution")
        state = ("session_id", "user_id", "namespaces", "available_tools", "unconsumed_results")
        self._locked = (
            select(sessions.c.id, *(sessions.c[name] for name in counters))
            .where(among(dialect, sessions.c.id))
            .order_by(sessions.c.id)
            .with_for_update(of=sessions)
        )
        self._states = select(
            session_tool_state.c.session_id, session_tool_state.c.user_id, session_tool_state.c.unconsumed_results
        ).where(among(dialect, session_tool_state.c.session_id))
        self._executions = (
            select(
                *(executions.c.session_id, executions.c.id, executions.c.place, executions.c.call_id),
                *(executions.c.owner, executions.c.completed_at, executions.c.cancelling),
            )
            .where(among(dialect, executions.c.session_id, executions.c.id))
            .order_by(executions.c.session_id, executions.c.id)
            .with_for_update(of=executions)
        )
        self._calls = select(executions.c.session_id, executions.c.call_id).where(
            among(dialect, executions.c.session_id, executions.c.call_id)
        )
        self._requests = select(requests.c.id, requests.c.session_id, requests.c.status).where(
            among(dialect, requests.c.id)
        )
        self._unmade = delete(sessions).where(among(dialect, sessions.c.id))
        self._made = Sheet(dialect, "ensure", sessions, "id", "open", "first_seq", *counters, key=["id"])
        self._seen = Sheet(dialect, "update", sessions, "id", "channel", "allow", "open", key=["id"])
        self._counted = Sheet(dialect, "update", sessions, "id", *counters, key=["id"])
        self._state = Sheet(
            *(dialect, "replace", session_tool_state, *state, "created_at", "updated_at"),
            key=["session_id"],
            kept=["user_id", "created_at"],
        )
        self._waiting = Sheet(
            dialect, "update", session_tool_state, "session_id", "unconsumed_results", key=["session_id"]
        )
        self._run = Sheet(
            *(dialect, "replace", executions, *_EXECUTION, *_EXECUTION_JSON, "place", "cancelling"),
            key=["session_id", "id"],
            kept=["place"],
        )
        self._stopped = Sheet(
            dialect, "update", executions, "session_id", "place", "cancelling", key=["session_id", "place"]
        )
        self._asked = Sheet(dialect, "replace", requests, *_REQUEST, *_REQUEST_JSON, key=["id"])
        self._said = Sheet(dialect, "insert", transcript, "session_id", "position", "entry")
        self._posted = Sheet(dialect, "insert", events, "session_id", "seq", "kind", "at", "body")

    def lock(self, connection: Connection, session_ids: Iterable[str]) -> dict[str, _Session]:
        """Let nobody else write to these sessions until the transaction ends. Those that are there."""
        rows = connection.execute(self._locked, {"keys": keys(zip(filter(_can_be_an_id, session_ids)))})
        return {row[0]: _Session(*row) for row in rows.all()}

    def write(
        self, connection: Connection, changes: Sequence[Change], *, careful: bool = False
    ) -> list[int | Conflict]:
        """Write those that fit. Raises what the database says of their data, after which nothing of this may stay."""
        group = _Group()
        group.sessions = self.lock(connection, {change.session_id for change in changes})
        made = {change.session_id for change in changes if change.session and _can_be_an_id(change.session_id)}
        missing = sorted(made - group.sessions.keys())
        if missing:
            self._made.write(connection, [(missed, True, 1, 0, 0, 0) for missed in missing])
            group.sessions |= self.lock(connection, missing)
        self._know(connection, group, changes)
        results = [group.take(change) for change in changes]
        self._flush(connection, group, careful)
        unmade = [missed for missed in missing if not group.sessions[missed].there]
        if unmade:
            connection.execute(self._unmade, {"keys": keys(zip(unmade))})
        return results

    def _know(self, connection: Connection, group: _Group, changes: Sequence[Change]) -> None:
        """Read what the changes speak of."""
        states = {change.session_id for change in changes if change.session or change.late or change.taken}
        if states:
            for session in map(group.sessions.get, states):
                if session is not None:
                    session.there = False
            for session_id, user_id, unconsumed in connection.execute(self._states, {"keys": keys(zip(states))}).all():
                session = group.sessions[session_id]
                session.there = True
                session.user_id = user_id
                session.unconsumed_before = tuple(json.loads(unconsumed))
                session.unconsumed = dict.fromkeys(session.unconsumed_before)
        spoken = {
            (change.session_id, spoken_of)
            for change in changes
            for spoken_of in (*(write.row.id for write in change.executions), *change.late, *change.cancel)
        }
        if spoken:
            for row in connection.execute(self._executions, {"keys": keys(spoken)}).all():
                group.sessions[row.session_id].executions[row.id] = _Execution(
                    row.place, row.call_id, row.owner, row.completed_at is not None, row.cancelling
                )
        called = {
            (change.session_id, write.row.call_id) for change in changes for write in change.executions if write.new
        }
        if called:
            for session_id, call_id in connection.execute(self._calls, {"keys": keys(called)}).all():
                group.sessions[session_id].calls.add(call_id)
        asked = {write.row.id for change in changes for write in change.requests}
        if asked:
            for row in connection.execute(self._requests, {"keys": keys(zip(asked))}).all():
                group.known_requests[row.id] = _Request(row.session_id, row.status)

    def _flush(self, connection: Connection, group: _Group, careful: bool) -> None:
        """Write what was taken in."""
        touched = [session for session in group.sessions.values() if session.there]
        rows = [(session, session.row) for session in touched if session.row is not None]
        self._seen.write(
            connection, [(row.id, row.channel, _list(row.allow), row.open) for _, row in rows], careful=careful
        )
        self._state.write(connection, [_state(session, row) for session, row in rows], careful=careful)
        self._waiting.write(
            connection,
            [
                (session.id, _list(session.unconsumed))
                for session in touched
                if session.row is None and tuple(session.unconsumed) != session.unconsumed_before
            ],
            careful=careful,
        )
        runs = [execution for session in touched for execution in session.executions.values()]
        self._run.write(
            connection,
            [(*run.values, run.place, run.cancelling) for run in runs if run.values is not None],
            careful=careful,
        )
        self._stopped.write(
            connection,
            [
                (session.id, execution.place, True)
                for session in touched
                for execution in session.executions.values()
                if execution.asked and execution.values is None
            ],
        )
        self._asked.write(connection, list(group.requests.values()), careful=careful)
        self._said.write(connection, group.transcript, careful=careful)
        self._posted.write(connection, group.events, careful=careful)
        self._counted.write(
            connection,
            [
                (session.id, session.last_seq, session.last_entry, session.last_execution)
                for session in touched
                if session.written
            ],
        )


def _can_be_an_id(text: str) -> bool:
    """Whether databases take it as a text: no NUL, no half of a character."""
    return not _UNFIT.search(text)


def _encoded(change: Change) -> _Encoded:
    """Raises `ValueError` where something that should be JSON is not even text."""
    return _Encoded(
        [(*_execution_values(write.row), *_texts(_execution_json(write.row))) for write in change.executions],
        [(*_request_values(write.row), *_texts(_request_json(write.row))) for write in change.requests],
        [entry.decode() for entry in change.transcript],
    )


def _texts(documents: tuple[bytes | None, ...]) -> list[str | None]:
    return [None if document is None else document.decode() for document in documents]


def _list(names: Iterable[str] | None) -> str | None:
    return None if names is None else json.dumps(list(names))


def _state(session: _Session, row: SessionRow) -> Row:
    waiting = _list(session.unconsumed)
    return (row.id, row.user_id, _list(row.namespaces), _list(row.tools), waiting, row.created_at, row.updated_at)
