"""How a group of changes is written, inside of a transaction.

The sessions' rows are locked first, in the order of their ids, so that nobody else writes to them meanwhile. Then what
the changes speak of is read; each change is judged and taken in, in their order; and the outcome is written with one
statement per table, however many changes there are.
"""

import json
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, Dialect, delete, select, update

from ...storage.change import Change
from ...storage.errors import Conflict
from ...storage.rows import IdempotencyRow, SessionRow
from ...storage.text import is_storable
from .bulk_statements import BulkStatement, Query, Row, StatementBatch, among, keys
from .conflicts import has_storable_text
from .ownership import GOES_ON, UNHELD
from .revisions import require_current, revision
from .staging import EXECUTION, INPUT, REQUEST, TURN, Execution, Intake, Request, Session, Turn, speaks_of_more
from .tables import (
    events,
    executions,
    idempotency_keys,
    inputs,
    made_at,
    requests,
    session_tool_state,
    sessions,
    transcript,
    turns,
)

KEY = ("key", "fingerprint", "seq", "answer", "at")
"""The columns of an idempotency key, beside where it stands."""


class Writing:
    """The statements by which one kind of database is written."""

    def __init__(self, dialect: Dialect) -> None:
        counters = ("last_seq", "last_entry", "last_execution", "last_key")
        state = ("session_id", "user_id", "namespaces", "available_tools", "unconsumed_results")
        self._locked = Query(
            dialect,
            select(*(sessions.c[name] for name in ("id", *counters, "writes")), made_at, revision)
            .where(among(dialect, sessions.c.id))
            .order_by(sessions.c.id)
            .with_for_update(of=sessions),
        )
        self._states = Query(
            dialect,
            select(
                session_tool_state.c.session_id, session_tool_state.c.user_id, session_tool_state.c.unconsumed_results
            ).where(among(dialect, session_tool_state.c.session_id)),
        )
        self._executions = Query(
            dialect,
            select(
                *(executions.c.session_id, executions.c.id, executions.c.place, executions.c.call_id),
                *(executions.c.owner, executions.c.completed_at, executions.c.cancelling),
            )
            .where(among(dialect, executions.c.session_id, executions.c.id))
            .order_by(executions.c.session_id, executions.c.id)
            .with_for_update(of=executions),
        )
        self._calls = Query(
            dialect,
            select(executions.c.session_id, executions.c.call_id).where(
                among(dialect, executions.c.session_id, executions.c.call_id)
            ),
        )
        self._requests = Query(
            dialect,
            select(requests.c.id, requests.c.session_id, requests.c.status).where(among(dialect, requests.c.id)),
        )
        self._turns = Query(
            dialect,
            select(turns.c.session_id, turns.c.number, turns.c.owner, turns.c.completed_at, turns.c.cancelling)
            .where(among(dialect, turns.c.session_id, turns.c.number))
            .order_by(turns.c.session_id, turns.c.number)
            .with_for_update(of=turns),
        )
        self._inputs = Query(
            dialect,
            select(inputs.c.session_id, inputs.c.id)
            .where(among(dialect, inputs.c.session_id, inputs.c.id))
            .order_by(inputs.c.session_id, inputs.c.id)
            .with_for_update(of=inputs),
        )
        self._ready = (
            update(executions)
            .where(UNHELD, among(dialect, executions.c.session_id, executions.c.id))
            .values(ready=GOES_ON)
        )
        self._keys = Query(
            dialect,
            select(idempotency_keys.c.session_id, *(idempotency_keys.c[name] for name in KEY)).where(
                among(dialect, idempotency_keys.c.session_id, idempotency_keys.c.key)
            ),
        )
        self._unmade = delete(sessions).where(among(dialect, sessions.c.id))
        self._made = BulkStatement(
            dialect, "ensure", sessions, "id", "made_at", "open", "first_seq", *counters, key=["id"]
        )
        self._seen = BulkStatement(
            dialect, "update", sessions, "id", "channel", "allow", "wake", "open", "writes", key=["id"]
        )
        self._counted = BulkStatement(dialect, "update", sessions, "id", *counters, key=["id"])
        self._state = BulkStatement(
            *(dialect, "replace", session_tool_state, *state, "created_at", "updated_at"),
            key=["session_id"],
            kept=["user_id", "created_at"],
        )
        self._waiting = BulkStatement(
            dialect, "update", session_tool_state, "session_id", "unconsumed_results", key=["session_id"]
        )
        self._run = BulkStatement(
            *(dialect, "replace", executions, *EXECUTION, "place", "cancelling"),
            key=["session_id", "id"],
            kept=["place"],
        )
        self._stopped = BulkStatement(
            dialect, "update", executions, "session_id", "place", "cancelling", key=["session_id", "place"]
        )
        self._asked = BulkStatement(dialect, "replace", requests, *REQUEST, key=["id"])
        self._turn = BulkStatement(dialect, "replace", turns, *TURN, "cancelling", key=["session_id", "number"])
        self._stopped_turn = BulkStatement(
            dialect, "update", turns, "session_id", "number", "cancelling", key=["session_id", "number"]
        )
        self._input = BulkStatement(dialect, "insert", inputs, *INPUT)
        self._delivered = BulkStatement(
            dialect, "update", inputs, "session_id", "id", "delivered_at", key=["session_id", "id"]
        )
        self._keyed = BulkStatement(
            dialect, "replace", idempotency_keys, "session_id", "slot", *KEY, key=["session_id", "slot"]
        )
        self._said = BulkStatement(dialect, "insert", transcript, "session_id", "position", "entry")
        self._posted = BulkStatement(dialect, "insert", events, "session_id", "seq", "kind", "at", "body")

    def lock(self, connection: Connection, session_ids: Iterable[str]) -> dict[str, Session]:
        """Lock the rows of these sessions until the transaction ends, and return those that exist.

        Raises `StoreOutdated` if another version has migrated the database: a migration locks the sessions too, so
        that a writer sees either the old tables or the new revision.
        """
        rows = self._locked.rows(connection, keys(zip(filter(is_storable, session_ids))))
        if rows:
            require_current(rows[0][-1])
        return {row[0]: Session(*row[:-1]) for row in rows}

    def write(
        self,
        connection: Connection,
        changes: Sequence[Change],
        *,
        careful: bool = False,
        batch: StatementBatch | None = None,
    ) -> list[int | Conflict]:
        """Write those that fit. Raises what the database says of their data, after which nothing of this may stay."""
        intake = Intake(self.lock(connection, {change.session_id for change in changes}))
        speaking = [change for change in changes if speaks_of_more(change) and has_storable_text(change)]
        carried = {
            change.session_id: change.session.created_at
            for change in reversed(speaking)  # the first one makes it
            if change.session
        }
        missing = sorted(carried.keys() - intake.sessions.keys())
        if missing:
            self._made.write(connection, [(missed, carried[missed], True, 1, 0, 0, 0, 0) for missed in missing])
            intake.sessions |= self.lock(connection, missing)
        if speaking:
            self._know(connection, intake, [change for change in speaking if change.session_id in intake.sessions])
        results = [intake.take(change) for change in changes]
        self._flush(connection, intake, careful, batch)
        unmade = [missed for missed in missing if not intake.sessions[missed].there]
        if unmade:
            connection.execute(self._unmade, {"keys": keys(zip(unmade))})
        return results

    def _know(self, connection: Connection, intake: Intake, changes: Sequence[Change]) -> None:
        """Read what the changes speak of."""
        states = {change.session_id for change in changes if change.session or change.late or change.taken}
        if states:
            for session_id in states:
                intake.sessions[session_id].there = False
            for session_id, user_id, unconsumed in self._states.rows(connection, keys(zip(states))):
                session = intake.sessions[session_id]
                session.there = True
                session.user_id = user_id
                session.unconsumed_before = tuple(json.loads(unconsumed))
                session.unconsumed = dict.fromkeys(session.unconsumed_before)
        spoken = {
            (change.session_id, spoken_of)
            for change in changes
            for spoken_of in (*(write.row.id for write in change.executions), *change.late, *change.cancel)
        } | {
            (change.session_id, write.row.execution_id)
            for change in changes
            for write in change.requests
            if is_storable(write.row.execution_id)
        }
        if spoken:
            for session_id, found, place, call_id, owner, completed_at, cancelling in self._executions.rows(
                connection, keys(spoken)
            ):
                intake.sessions[session_id].executions[found] = Execution(
                    place, call_id, owner, completed_at is not None, bool(cancelling)
                )
        called = {
            (change.session_id, write.row.call_id) for change in changes for write in change.executions if write.new
        }
        if called:
            for session_id, call_id in self._calls.rows(connection, keys(called)):
                intake.sessions[session_id].calls.add(call_id)
        turn_keys = {
            (change.session_id, number)
            for change in changes
            for number in (*(write.row.number for write in change.turns), *change.stop_turns)
        }
        if turn_keys:
            for session_id, number, owner, completed_at, cancelling in self._turns.rows(connection, keys(turn_keys)):
                intake.sessions[session_id].turns[number] = Turn(
                    number, owner, completed_at is not None, bool(cancelling)
                )
        input_keys = {
            (change.session_id, input_id)
            for change in changes
            for input_id in (*(row.id for row in change.inputs), *(each.input_id for each in change.deliveries))
        }
        if input_keys:
            for session_id, input_id in self._inputs.rows(connection, keys(input_keys)):
                intake.sessions[session_id].inputs.add(input_id)
        named = {(change.session_id, change.idempotency.key) for change in changes if change.idempotency}
        if named:
            for session_id, key, fingerprint, seq, answer, at in self._keys.rows(connection, keys(named)):
                intake.sessions[session_id].idempotency[key] = IdempotencyRow(
                    key=key, fingerprint=fingerprint, at=at, answer=answer.encode(), seq=seq
                )
        asked = {write.row.id for change in changes for write in change.requests}
        if asked:
            for found, session_id, status in self._requests.rows(connection, keys(zip(asked))):
                intake.known_requests[found] = Request(session_id, status)

    def _flush(self, connection: Connection, intake: Intake, careful: bool, batch: StatementBatch | None) -> None:
        """Write what was taken in."""
        touched = [session for session in intake.sessions.values() if session.there]
        rows = [(session, session.row) for session in touched if session.row is not None]
        waiting = [
            (session.id, _list(session.unconsumed))
            for session in touched
            if session.row is None and tuple(session.unconsumed) != session.unconsumed_before
        ]
        runs = [(session, run) for session in touched for run in session.executions.values()]
        spoken_turns = [(session, turn) for session in touched for turn in session.turns.values()]
        unheld = [
            (session.id, execution_id)
            for session in touched
            for execution_id, run in session.executions.items()
            if run.owner is None and not run.finished
        ]
        if unheld:
            batch = None  # what follows looks at what is written here
        for sheet, written in (
            (self._seen, [_seen(session, row) for session, row in rows]),
            (self._state, [_state(session, row) for session, row in rows]),
            (self._waiting, waiting),
            (self._run, [(*run.values, run.place, run.cancelling) for _, run in runs if run.values is not None]),
            (self._stopped, [(session.id, run.place, True) for session, run in runs if run.asked and not run.values]),
            (self._asked, list(intake.requests.values())),
            (self._turn, [(*turn.values, turn.cancelling) for _, turn in spoken_turns if turn.values is not None]),
            (
                self._stopped_turn,
                [(session.id, turn.number, True) for session, turn in spoken_turns if _is_only_stopped(turn)],
            ),
            (self._input, list(intake.inputs.values())),
            (self._delivered, list(intake.deliveries.values())),
            (self._keyed, list(intake.keys.values())),
            (self._said, intake.transcript),
            (self._posted, intake.events),
            (self._counted, [_counted(session) for session in touched if session.counted]),
        ):
            if written:
                apart = (self._seen, self._state, self._stopped, self._stopped_turn)
                alone = sheet in apart or (sheet is self._counted and rows)
                sheet.write(connection, written, careful=careful, batch=None if alone else batch)
        if unheld:
            connection.execute(self._ready, {"keys": keys(unheld)})


def _is_only_stopped(turn: Turn) -> bool:
    return turn.is_stopped and turn.values is None


def _list(names: Iterable[str] | None) -> str | None:
    return None if names is None else json.dumps(list(names))


def _seen(session: Session, row: SessionRow) -> Row:
    return row.id, row.channel, _list(row.allow), row.wake, row.open, session.writes


def _state(session: Session, row: SessionRow) -> Row:
    waiting = _list(session.unconsumed)
    return (row.id, row.user_id, _list(row.namespaces), _list(row.tools), waiting, row.created_at, row.updated_at)


def _counted(session: Session) -> Row:
    return session.id, session.last_seq, session.last_entry, session.last_execution, session.last_key
