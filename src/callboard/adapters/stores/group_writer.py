"""Writes a group of changes inside a transaction.

The rows of the sessions are locked first, in the order of their ids, so that no other process writes to them. Then the
records that the changes name are read; each change is checked and staged, in order; and the result is written with one
statement per table, however many changes there are.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from pydantic_core import from_json, to_json
from sqlalchemy import Connection

from ...storage.change import Change
from ...storage.errors import Conflict
from ...storage.rows import IdempotencyRow, SessionRow
from ...storage.text import is_storable
from .conflicts import has_storable_text
from .revisions import require_current
from .staging import (
    StagedGroup,
    StagedRequest,
    StagedSession,
    StagedWork,
    auto_title,
    changes_records,
    given_title,
)
from .statements import Batch, Row, Statements

Keys = set[tuple[str | int, ...]]

Found = Mapping[str, Sequence[Row]]
"""The rows that statements found, by the names of the statements."""

MANY_RESULTS = 4
"""Late results of a session in one group from which its unconsumed ones are read and written once. Adding a result
rewrites all of them: with thousands that wait, a statement for each would delay the changes of other sessions."""

SEPARATE = frozenset(
    {
        *("update_sessions", "set_auto_titles", "set_titles", "write_states"),
        *("cancel_executions", "receive_results", "cancel_turns"),
    }
)
"""Statements that are not sent with others: one statement must not update a row twice."""


class GroupWriter:
    """Writes groups of changes with the statements of one kind of database."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    def lock(self, connection: Connection, session_ids: Iterable[str]) -> None:
        """Lock the rows of these sessions until the transaction ends.

        Raises `StoreOutdated` if another version has migrated the database: a migration locks the sessions too, so
        that a writer sees either the old tables or the new revision.
        """
        _locked(self._statements.execute(connection, "lock_sessions", _session_keys(session_ids)).fetchall())

    def write(
        self, connection: Connection, changes: Sequence[Change], *, careful: bool = False, batch: Batch | None = None
    ) -> list[int | Conflict]:
        """Write the changes that fit, and return a number or a conflict for each.

        Raises the database's error if it does not accept the data; the caller then rolls everything back.
        """
        named = [change for change in changes if changes_records(change) and has_storable_text(change)]
        keys = {"lock_sessions": _session_keys(change.session_id for change in changes), **_keys_of(named)}
        found = self._statements.read_all(connection, keys)
        created = {
            change.session_id: change.session.created_at
            for change in reversed(named)  # the first change creates the session
            if change.session
        }
        missing = sorted(created.keys() - {row[0] for row in found["lock_sessions"]})
        if missing:
            rows = [(each, created[each], True, 1, 0, 0, 0, 0, created[each]) for each in missing]
            self._statements.write(connection, "create_sessions", rows)
            found = self._statements.read_all(connection, keys)
        group = StagedGroup(_locked(found["lock_sessions"]))
        self._add_records(group, [change for change in named if change.session_id in group.sessions], found)
        results = [group.stage(change) for change in changes]
        self._flush(connection, group, careful, batch)
        unused = [session_id for session_id in missing if not group.sessions[session_id].exists]
        if unused:
            self._statements.execute(connection, "delete_sessions", zip(unused))
        return results

    def _add_records(self, group: StagedGroup, changes: Sequence[Change], found: Found) -> None:
        """Add what was read of the sessions of these changes, which the changes are checked against."""
        sessions = group.sessions
        for change in changes:
            sessions[change.session_id].open_records()
        for session_id in _needing_state(changes):
            sessions[session_id].exists = False
        for session_id, user_id, unconsumed in _of(sessions, found["read_states"]):
            session = sessions[session_id]
            session.exists = True
            session.user_id = user_id
            session.unconsumed_before = tuple(from_json(unconsumed))
            session.unconsumed = dict.fromkeys(session.unconsumed_before)
        for session_id, key, fingerprint, seq, answer, at in _of(sessions, found["read_idempotency_keys"]):
            sessions[session_id].idempotency[key] = IdempotencyRow(
                key=key, fingerprint=fingerprint, at=at, answer=answer.encode(), seq=seq
            )
        for session_id, execution_id, place, call_id, owner, completed_at, cancelling in _of(
            sessions, found["lock_executions"]
        ):
            sessions[session_id].executions[execution_id] = StagedWork(
                place, call_id, owner, completed_at is not None, bool(cancelling)
            )
        for session_id, call_id in _of(sessions, found["read_calls"]):
            sessions[session_id].calls.add(call_id)
        for session_id, number, owner, completed_at, cancelling in _of(sessions, found["lock_turns"]):
            sessions[session_id].turns[number] = StagedWork(
                number, "", owner, completed_at is not None, bool(cancelling)
            )
        for session_id, input_id in _of(sessions, found["lock_inputs"]):
            sessions[session_id].inputs.add(input_id)
        for request_id, session_id, status in found["read_requests"]:
            group.known_requests[request_id] = StagedRequest(session_id, status)

    def _flush(self, connection: Connection, group: StagedGroup, careful: bool, batch: Batch | None) -> None:
        """Write the staged rows."""
        sessions = [session for session in group.sessions.values() if session.exists]
        changed = [session for session in sessions if session.has_records]
        rows = [(session, session.row) for session in changed if session.row is not None]
        executions = [(session.id, execution) for session in changed for execution in session.executions.values()]
        turns = [(session.id, turn) for session in changed for turn in session.turns.values()]
        unowned = [
            (session.id, execution_id)
            for session in changed
            for execution_id, execution in session.executions.items()
            if execution.may_be_ready
        ]
        if unowned:
            batch = None  # `mark_ready` reads what these statements write
        for name, written in (
            ("update_sessions", [_settings(session, row) for session, row in rows]),
            ("set_auto_titles", [auto_title(each) for each in changed if each.auto_title is not None]),
            ("set_titles", [given_title(each) for each in changed if each.retitled]),
            ("write_states", [_state(session, row) for session, row in rows]),
            ("update_unconsumed", [(each.id, _ids(each.unconsumed)) for each in changed if _is_consumed(each)]),
            ("append_unconsumed", [row for each in changed for row in _appended(each)]),
            ("write_executions", [each.row() for _, each in executions if each.values is not None]),
            ("cancel_executions", [(of, each.position) for of, each in executions if each.only_cancelled]),
            ("receive_results", [(of, each.position) for of, each in executions if each.received]),
            ("write_requests", list(group.requests.values())),
            ("write_turns", [each.row() for _, each in turns if each.values is not None]),
            ("cancel_turns", [(of, each.position) for of, each in turns if each.only_cancelled]),
            ("insert_inputs", list(group.inputs.values())),
            ("deliver_inputs", list(group.deliveries.values())),
            ("write_idempotency_keys", list(group.keys.values())),
            ("insert_transcript", group.transcript),
            ("insert_memory_entries", group.messages),
            ("insert_events", group.events),
            ("update_counters", [each.counters() for each in sessions if each.counted]),
        ):
            if written:
                separate = name in SEPARATE or (name == "update_counters" and rows)
                self._statements.write(connection, name, written, careful=careful, batch=None if separate else batch)
        if unowned:
            self._statements.execute(connection, "mark_ready", unowned)


def _locked(rows: Sequence[Row]) -> dict[str, StagedSession]:
    """Return the sessions that were locked."""
    if rows:
        require_current(rows[0][-1])
    return {row[0]: StagedSession(*row[:-1]) for row in rows}


def _session_keys(session_ids: Iterable[str]) -> Keys:
    return {(session_id,) for session_id in session_ids if is_storable(session_id)}


def _keys_of(changes: Sequence[Change]) -> dict[str, Keys]:
    """Return the keys of the records that changes name, by the statements that read them, in the order of the locks."""
    executions: Keys = set()
    for change in changes:
        named = chain(
            (write.row.id for write in change.executions),
            (write.row.execution_id for write in change.requests),
            change.late,
            change.received,
            change.cancel,
        )
        executions.update((change.session_id, execution_id) for execution_id in named)
    return {
        "read_states": {(session_id,) for session_id in _needing_state(changes)},
        "read_idempotency_keys": {
            (change.session_id, change.idempotency.key) for change in changes if change.idempotency
        },
        "lock_executions": executions,
        "read_calls": {
            (change.session_id, write.row.call_id) for change in changes for write in change.executions if write.new
        },
        "lock_turns": {
            (change.session_id, number)
            for change in changes
            for number in chain((write.row.number for write in change.turns), change.stop_turns)
        },
        "lock_inputs": {
            (change.session_id, input_id)
            for change in changes
            for input_id in chain((row.id for row in change.inputs), (each.input_id for each in change.deliveries))
        },
        "read_requests": {(write.row.id,) for change in changes for write in change.requests},
    }


def _needing_state(changes: Sequence[Change]) -> set[str]:
    """Return the sessions whose state must be read: to check a change, or to write many late results at once."""
    added = Counter(change.session_id for change in changes for _ in change.late)
    many = {session_id for session_id, count in added.items() if count >= MANY_RESULTS}
    return many.union(change.session_id for change in changes if change.session or change.consumed)


def _of(sessions: Collection[str], rows: Iterable[Row]) -> Iterable[Row]:
    """Return the rows of locked sessions: another process may have created a session after these were locked."""
    return (row for row in rows if row[0] in sessions)


def _is_consumed(session: StagedSession) -> bool:
    """Return whether unconsumed results that were read have changed, without a change of the session itself."""
    before = session.unconsumed_before
    return session.row is None and before is not None and tuple(session.unconsumed) != before


def _appended(session: StagedSession) -> Iterable[Row]:
    """Return the rows that add late results to unconsumed ones which were not read: there may be many."""
    if session.row is None and session.unconsumed_before is None:
        return ((session.id, execution_id) for execution_id in session.unconsumed)
    return ()


def _ids(ids: Iterable[str]) -> str:
    return to_json(list(ids)).decode()


def _names(names: Iterable[str] | None) -> str | None:
    return None if names is None else json.dumps(list(names))


def _settings(session: StagedSession, row: SessionRow) -> Row:
    return row.id, row.channel, _names(row.allow), row.wake, row.open, session.writes, row.user_id


def _state(session: StagedSession, row: SessionRow) -> Row:
    unconsumed = _ids(session.unconsumed)
    return row.id, row.user_id, _names(row.namespaces), _names(row.tools), unconsumed, row.created_at, row.updated_at
