"""Stages a group of changes before anything is written. This module does not touch a database.

A `StagedGroup` begins with the stored records that the changes name. Each change is checked against it and, if it fits,
alters it, so that the next change is checked against the result. In the end it holds the rows to write.
"""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from ...storage.change import Change
from ...storage.errors import Conflict, Unstorable
from ...storage.records import MAX_IDEMPOTENCY_KEYS
from ...storage.rows import ExecutionRow, IdempotencyRow, SessionRow, TurnRow
from ...storage.session_list import advance_activity
from ...storage.titles import fold_title
from .conflicts import find_conflict
from .event_header import event_header
from .memory_words import message_row
from .statements import Row

# The values of rows, in the order of the columns in `statements.sql`. JSON comes last.
_execution_values = attrgetter(
    *("session_id", "id", "user_id", "call_id", "tool", "kind", "fingerprint", "status", "priority", "attempt"),
    *("max_attempts", "late", "parent_id", "queued_at", "started_at", "completed_at", "owner", "retry_at", "queue"),
    *("trace", "document"),
)
_execution_json = attrgetter("display_arguments", "errors", "value", "error")
_turn_values = attrgetter("session_id", "turn_id", "user_id", "status", "started_at", "completed_at", "owner")
_input_values = attrgetter("session_id", "id", "user_id", "received_at", "owner", "delivered_at")
_request_values = attrgetter(
    *("id", "session_id", "user_id", "execution_id", "kind", "purpose", "tool", "fingerprint", "status"),
    *("created_at", "expires_at", "answered_at"),
)
_request_json = attrgetter("payload", "schema", "answer")


@dataclass(slots=True, eq=False)
class StagedWork:
    """An execution or a turn that changes name, in its state after the group."""

    position: int
    """The `place` of an execution or the `number` of a turn."""
    call_id: str = ""
    """The call id of an execution."""
    owner: str | None = None
    finished: bool = False
    cancelling: bool = False
    queue: str | None = None
    """The queue that changes write for an execution."""
    values: Row | None = None
    """The values to write, without those of `row`."""
    only_cancelled: bool = False
    """Whether changes cancel it, and write nothing else of it."""
    received: bool = False
    """Whether its caller received the result, so that it is not late."""

    def write(self, row: ExecutionRow | TurnRow, values: Row) -> None:
        self.owner = row.owner
        self.finished = row.completed_at is not None
        self.cancelling = self.cancelling or row.cancelling
        self.queue = row.queue if isinstance(row, ExecutionRow) else None
        self.values = values
        self.only_cancelled = False

    def cancel(self) -> None:
        """Mark it to be cancelled, unless it is finished."""
        if not self.finished:
            self.cancelling = True
            self.only_cancelled = self.values is None

    @property
    def may_be_ready(self) -> bool:
        """Whether it is an execution that a process may have to take up: without an owner, and not for a worker."""
        return self.owner is None and not self.finished and (self.queue is None or self.cancelling)

    def row(self) -> Row:
        """Return the row to write."""
        return *(self.values or ()), self.position, self.cancelling


class StagedRequest(NamedTuple):
    """A request that changes name, in its state after the group."""

    session_id: str
    status: str


class StagedSession:
    """A session that changes write to, in its state after the group."""

    __slots__ = (
        *("active_at", "auto_title", "calls", "counted", "executions", "exists", "given_title", "has_records", "id"),
        *("idempotency", "inputs", "last_entry", "last_execution", "last_key", "last_seq", "made_at", "retitled"),
        *("row", "turns", "unconsumed", "unconsumed_before", "user_id", "writes"),
    )

    def __init__(
        self,
        session_id: str,
        last_seq: int,
        last_entry: int,
        last_execution: int,
        last_key: int,
        writes: int,
        made_at: float,
        active_at: float,
        user_id: str | None,
    ) -> None:
        self.id = session_id
        self.last_seq = last_seq
        self.last_entry = last_entry
        self.last_execution = last_execution
        self.last_key = last_key
        self.writes = writes
        self.made_at = made_at
        self.active_at = active_at
        self.exists = True
        self.user_id = user_id or ""
        self.row: SessionRow | None = None
        """The row to write."""
        self.counted = False
        """Whether its last numbers changed."""
        self.has_records = False
        """Whether a change has more than events. Most have not, and need none of the fields of `open_records`."""

    def open_records(self) -> None:
        """Prepare for changes of records."""
        if not self.has_records:
            self.has_records = True
            self.unconsumed: dict[str, None] = {}
            """The results that wait to be consumed; only those that the group adds, unless they were read."""
            self.unconsumed_before: tuple[str, ...] | None = None
            """Those that were read, if a change needs them."""
            self.executions: dict[str, StagedWork] = {}
            self.calls: set[str] = set()
            self.turns: dict[int, StagedWork] = {}
            self.inputs: set[str] = set()
            self.idempotency: dict[str, IdempotencyRow] = {}
            self.auto_title: str | None = None
            """The automatic title to write, if none is stored."""
            self.given_title: str | None = None
            """The given title to write, if it is `retitled`."""
            self.retitled = 0
            """The number of changes that give it a title."""

    @property
    def entries(self) -> int:
        return self.last_entry

    def counters(self) -> Row:
        """Return the row with its last numbers."""
        return self.id, self.last_seq, self.last_entry, self.last_execution, self.last_key, self.active_at


class StagedGroup:
    """The records that a group of changes names and writes."""

    def __init__(self, sessions: dict[str, StagedSession]) -> None:
        self.sessions = sessions
        self.known_requests: dict[str, StagedRequest] = {}
        self.requests: dict[str, Row] = {}
        self.inputs: dict[tuple[str, str], Row] = {}
        """New inputs, by session and id."""
        self.deliveries: dict[tuple[str, str], Row] = {}
        """Deliveries of stored inputs, by session and id."""
        self.transcript: list[Row] = []
        self.messages: list[Row] = []
        """Messages of these entries, for the search."""
        self.events: list[Row] = []
        self.keys: dict[tuple[str, int], Row] = {}
        """Idempotency keys, by session and slot."""

    def stage(self, change: Change) -> int | Conflict:
        """Stage a change if it fits. Return the session's last number, or the conflict."""
        session = self.sessions.get(change.session_id)
        conflict = find_conflict(change, session if session and session.exists else None, self.known_requests)
        if conflict is not None:
            return conflict
        if session is None:
            return Conflict("A session cannot be stored under this id.")
        try:
            posts = [(event_header(event), event.decode()) for event in change.events]
            if changes_records(change):
                self._stage_records(session, change)
        except ValueError as error:
            return Unstorable(f"A change of session {change.session_id} cannot be stored: {error}")
        if posts:
            seq = session.last_seq
            for (kind, at), body in posts:
                seq += 1
                self.events.append((session.id, seq, kind, at, body))
            session.last_seq = seq
            session.active_at = advance_activity(session.active_at, posts[-1][0].at)
            session.counted = True
        if change.idempotency is not None:
            self._stage_key(
                session, change.idempotency, session.last_seq - len(posts) + 1 if posts else session.last_seq
            )
        return session.last_seq

    def _stage_records(self, session: StagedSession, change: Change) -> None:
        """Stage everything but events. Raises `ValueError`, before it alters anything, if JSON is not UTF-8 text."""
        executions = [
            (write.row, (*_execution_values(write.row), *_texts(_execution_json(write.row))))
            for write in change.executions
        ]
        requests = [
            (write.row, (*_request_values(write.row), *_texts(_request_json(write.row)))) for write in change.requests
        ]
        entries = [entry.decode() for entry in change.transcript]
        usages = _texts(tuple(write.row.usage for write in change.turns)) if change.turns else []
        if change.session is not None:
            session.exists = True
            session.user_id = change.session.user_id
            session.row = change.session
            session.writes += 1
        if change.title is not None and not change.title.automatic:
            session.given_title = change.title.text
            session.retitled += 1
        elif change.title is not None and session.auto_title is None:
            session.auto_title = change.title.text
        change.cancelled = cancelled = list[str]()
        for row, values in executions:
            execution = session.executions.get(row.id)
            if execution is None:
                session.last_execution += 1
                execution = session.executions[row.id] = StagedWork(session.last_execution, row.call_id)
                session.calls.add(row.call_id)
            elif execution.cancelling and row.completed_at is None:
                cancelled.append(row.id)
            execution.write(row, values)
        for row, values in requests:
            self.known_requests[row.id] = StagedRequest(row.session_id, row.status)
            self.requests[row.id] = values
        self._stage_conversation(session, change, usages)
        for execution_id in change.late:
            session.unconsumed[execution_id] = None
        for execution_id in change.consumed:
            del session.unconsumed[execution_id]
        for execution_id in change.received:
            session.executions[execution_id].received = True
        for execution_id in change.cancel:
            session.executions[execution_id].cancel()
        for entry in entries:
            session.last_entry += 1
            self.transcript.append((session.id, session.last_entry, entry))
        if change.said_at is not None:
            first = session.last_entry - len(entries) + 1
            rows = (
                message_row(session.user_id, session.id, position, entry, change.said_at)
                for position, entry in enumerate(change.transcript, first)
            )
            self.messages += [row for row in rows if row is not None]
        session.counted = session.counted or bool(entries or executions)

    def _stage_key(self, session: StagedSession, row: IdempotencyRow, seq: int) -> None:
        """Stage a key for the next slot. Slots are reused in turn, which limits the keys of a session."""
        if row.seq is None:
            row = replace(row, seq=seq)
        session.idempotency[row.key] = row
        session.last_key += 1
        session.counted = True
        slot = session.last_key % MAX_IDEMPOTENCY_KEYS
        self.keys[session.id, slot] = (session.id, slot, row.key, row.fingerprint, row.seq, row.answer.decode(), row.at)

    def _stage_conversation(self, session: StagedSession, change: Change, usages: list[str | None]) -> None:
        for (row, _, _), usage in zip(change.turns, usages, strict=True):
            session.turns.setdefault(row.number, StagedWork(row.number)).write(row, (*_turn_values(row), usage))
        for number in change.stop_turns:
            session.turns[number].cancel()
        for row in change.inputs:
            session.inputs.add(row.id)
            self.inputs[session.id, row.id] = _input_values(row)
        for input_id, at in change.deliveries:
            if (new := self.inputs.get((session.id, input_id))) is not None:
                self.inputs[session.id, input_id] = (*new[:-1], at)
            else:
                self.deliveries[session.id, input_id] = (session.id, input_id, at)


def auto_title(session: StagedSession) -> Row:
    """Return the row that writes an automatic title."""
    return session.id, session.auto_title, fold_title(session.auto_title or "")


def given_title(session: StagedSession) -> Row:
    """Return the row that writes a given title."""
    title = session.given_title
    return session.id, title, None if title is None else fold_title(title), session.retitled


def changes_records(change: Change) -> bool:
    """Return whether a change has anything but events."""
    return bool(
        change.session
        or change.title
        or change.executions
        or change.requests
        or change.turns
        or change.stop_turns
        or change.inputs
        or change.deliveries
        or change.late
        or change.consumed
        or change.cancel
        or change.transcript
        or change.idempotency
    )


def _texts(documents: tuple[bytes | None, ...]) -> list[str | None]:
    return [None if document is None else document.decode() for document in documents]
