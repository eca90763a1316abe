"""Changes that are taken in, one after the other, before anything is written. No database is touched here.

What a group of changes speaks of is read before and put into an `Intake`; each change is judged by what it knows then,
and alters what the next one is judged by. In the end the intake holds the rows that are to be written.
"""

from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from ...storage.port import MAX_KEYS, Change, Conflict
from ...storage.rows import ExecutionRow, IdempotencyRow, SessionRow
from .bulk_statements import Row
from .conflicts import refusal
from .encoded import posted

EXECUTION = (
    *("session_id", "id", "user_id", "call_id", "tool", "kind", "fingerprint", "status", "priority", "attempt"),
    *("max_attempts", "late", "parent_id", "queued_at", "started_at", "completed_at", "owner", "retry_at"),
    *("document", "shown", "errors", "value", "error"),
)
"""The columns of `Execution.values`."""

REQUEST = (
    *("id", "session_id", "user_id", "execution_id", "kind", "purpose", "tool", "fingerprint", "status"),
    *("created_at", "expires_at", "answered_at"),
    *("payload", "schema", "answer"),
)
"""The columns of `Intake.requests`."""

_execution_values, _execution_json = attrgetter(*EXECUTION[:-4]), attrgetter(*EXECUTION[-4:])
_request_values, _request_json = attrgetter(*REQUEST[:-3]), attrgetter(*REQUEST[-3:])


class Execution:
    """An execution that is spoken of, as it will be."""

    __slots__ = ("asked", "call_id", "cancelling", "finished", "owner", "place", "values")

    def __init__(
        self, place: int, call_id: str, owner: str | None = None, finished: bool = False, cancelling: bool = False
    ) -> None:
        self.place = place
        self.call_id = call_id
        self.owner = owner
        self.finished = finished
        self.cancelling = cancelling
        self.values: Row | None = None
        """What is to be written of it."""
        self.asked = False
        """Whether it was asked to stop."""


TURN = ("session_id", "number", "turn_id", "user_id", "status", "started_at", "completed_at", "owner")
"""The columns of `Turn.values`."""

INPUT = ("session_id", "id", "user_id", "received_at", "owner", "delivered_at")
"""The columns of `Intake.inputs`."""

_turn_values, _input_values = attrgetter(*TURN), attrgetter(*INPUT)


class Turn:
    """A turn that changes mention, as it will be."""

    __slots__ = ("cancelling", "finished", "is_stopped", "number", "owner", "values")

    def __init__(self, number: int, owner: str, finished: bool = False, cancelling: bool = False) -> None:
        self.number = number
        self.owner = owner
        self.finished = finished
        self.cancelling = cancelling
        self.values: Row | None = None
        """What is to be written of it."""
        self.is_stopped = False
        """Whether a change asks it to stop."""


class Request(NamedTuple):
    """A request that is spoken of, as it will be."""

    session_id: str
    status: str


class Session:
    """A session that is written to, as it will be."""

    __slots__ = (
        *("calls", "counted", "executions", "id", "idempotency", "inputs", "last_entry", "last_execution", "last_key"),
        *("last_seq", "made_at", "row", "there", "turns", "unconsumed", "unconsumed_before", "user_id", "writes"),
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
    ) -> None:
        self.id = session_id
        self.last_seq = last_seq
        self.last_entry = last_entry
        self.last_execution = last_execution
        self.last_key = last_key
        self.writes = writes
        self.made_at = made_at
        self.there = True
        self.user_id = ""
        self.unconsumed: dict[str, None] = {}
        self.unconsumed_before: tuple[str, ...] = ()
        self.executions: dict[str, Execution] = {}
        self.calls: set[str] = set()
        self.turns: dict[int, Turn] = {}
        self.inputs: set[str] = set()
        self.idempotency: dict[str, IdempotencyRow] = {}
        self.row: SessionRow | None = None
        """What is to be written of it."""
        self.counted = False
        """Whether its last numbers moved."""

    @property
    def entries(self) -> int:
        return self.last_entry


class Intake:
    """A group of changes."""

    def __init__(self, sessions: dict[str, Session]) -> None:
        self.sessions = sessions
        self.known_requests: dict[str, Request] = {}
        self.requests: dict[str, Row] = {}
        self.inputs: dict[tuple[str, str], Row] = {}
        """New inputs, by session and id."""
        self.deliveries: dict[tuple[str, str], Row] = {}
        """Deliveries of stored inputs, by session and id."""
        self.transcript: list[Row] = []
        self.events: list[Row] = []
        self.keys: dict[tuple[str, int], Row] = {}
        """Idempotency keys, by session and slot."""

    def take(self, change: Change) -> int | Conflict:
        """Judge a change and, if it fits, take it in."""
        session = self.sessions.get(change.session_id)
        conflict = refusal(change, session if session and session.there else None, self.known_requests)
        if conflict is not None:
            return conflict
        if session is None:
            return Conflict("A session cannot be stored under this id.")
        try:
            posts = [(posted(event), event.decode()) for event in change.events]
            if speaks_of_more(change):
                self._take_state(session, change)
        except ValueError as error:
            return Conflict(f"A change of session {change.session_id} cannot be stored: {error}")
        if posts:
            seq = session.last_seq
            for (kind, at), body in posts:
                seq += 1
                self.events.append((session.id, seq, kind, at, body))
            session.last_seq = seq
            session.counted = True
        if change.idempotency is not None:
            self._take_key(
                session, change.idempotency, session.last_seq - len(posts) + 1 if posts else session.last_seq
            )
        return session.last_seq

    def _take_state(self, session: Session, change: Change) -> None:
        """Everything but events. Raises `ValueError`, before anything is altered, where JSON is not even text."""
        executions = [
            (write.row, (*_execution_values(write.row), *_texts(_execution_json(write.row))))
            for write in change.executions
        ]
        requests = [
            (write.row, (*_request_values(write.row), *_texts(_request_json(write.row)))) for write in change.requests
        ]
        entries = [entry.decode() for entry in change.transcript]
        if change.session is not None:
            session.there = True
            session.user_id = change.session.user_id
            session.row = change.session
            session.writes += 1
        for row, values in executions:
            self._take_execution(session, row, values)
        for row, values in requests:
            self.known_requests[row.id] = Request(row.session_id, row.status)
            self.requests[row.id] = values
        self._take_conversation(session, change)
        for execution_id in change.late:
            session.unconsumed[execution_id] = None
        for execution_id in change.taken:
            del session.unconsumed[execution_id]
        for execution_id in change.cancel:
            execution = session.executions[execution_id]
            if not execution.finished:
                execution.cancelling = execution.asked = True
        for entry in entries:
            session.last_entry += 1
            self.transcript.append((session.id, session.last_entry, entry))
        session.counted = session.counted or bool(entries or executions)

    def _take_key(self, session: Session, row: IdempotencyRow, seq: int) -> None:
        """Keep a key in the next slot; the slots are used again in turn, so that a session has so many at most."""
        if row.seq is None:
            row = replace(row, seq=seq)
        session.idempotency[row.key] = row
        session.last_key += 1
        session.counted = True
        slot = session.last_key % MAX_KEYS
        self.keys[session.id, slot] = (session.id, slot, row.key, row.fingerprint, row.seq, row.answer.decode(), row.at)

    def _take_execution(self, session: Session, row: ExecutionRow, values: Row) -> None:
        execution = session.executions.get(row.id)
        if execution is None:
            session.last_execution += 1
            execution = session.executions[row.id] = Execution(session.last_execution, row.call_id)
            session.calls.add(row.call_id)
        execution.owner = row.owner
        execution.finished = row.completed_at is not None
        execution.cancelling = execution.cancelling or row.cancelling
        execution.values = values

    def _take_conversation(self, session: Session, change: Change) -> None:
        """Take in turns and inputs."""
        for row, _, _ in change.turns:
            turn = session.turns.setdefault(row.number, Turn(row.number, row.owner))
            turn.owner = row.owner
            turn.finished = row.completed_at is not None
            turn.cancelling = turn.cancelling or row.cancelling
            turn.values = _turn_values(row)
        for number in change.stop_turns:
            turn = session.turns[number]
            if not turn.finished:
                turn.cancelling = turn.is_stopped = True
        for row in change.inputs:
            session.inputs.add(row.id)
            self.inputs[session.id, row.id] = _input_values(row)
        for input_id, at in change.deliveries:
            if (new := self.inputs.get((session.id, input_id))) is not None:
                self.inputs[session.id, input_id] = (*new[:-1], at)
            else:
                self.deliveries[session.id, input_id] = (session.id, input_id, at)


def speaks_of_more(change: Change) -> bool:
    """Whether there is anything in a change but events."""
    return bool(
        change.session
        or change.executions
        or change.requests
        or change.turns
        or change.stop_turns
        or change.inputs
        or change.deliveries
        or change.late
        or change.taken
        or change.cancel
        or change.transcript
        or change.idempotency
    )


def _texts(documents: tuple[bytes | None, ...]) -> list[str | None]:
    return [None if document is None else document.decode() for document in documents]
