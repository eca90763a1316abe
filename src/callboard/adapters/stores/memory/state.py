"""The contents of a store in memory."""

import threading
from collections.abc import Sequence
from dataclasses import replace

from ....storage.change import Change, TitleWrite
from ....storage.document_records import CollectionLimits, DocumentRow, DocumentWrite
from ....storage.errors import Conflict
from ....storage.memory_records import MemoryQuery, NotesFull
from ....storage.records import MAX_IDEMPOTENCY_KEYS
from ....storage.rows import ExecutionRow, IdempotencyRow, InputRow, KeyRow, OwnerRow, RequestRow, SessionRow, TurnRow
from ....storage.session_list import SessionSummary, advance_activity
from ....storage.spoken import spoken
from ....turns import TurnStatus
from ....user_memory import MemoryHit, MemorySource, Note
from ..conflicts import find_conflict
from ..event_header import event_header
from .word_list import Entry, note_entry

CLOSED_REQUESTS = 10_000
"""The number of closed requests that are kept. A database keeps all of them."""


class MemorySession:
    """A session and all its records."""

    def __init__(self, row: SessionRow) -> None:
        self.row = replace(row, writes=0, given_title=None, auto_title=None)
        self.active_at = row.created_at
        """The time by which the session is listed: see `advance_activity`."""
        self.events: list[bytes] = []
        self.first_seq = 1
        self.executions: dict[str, ExecutionRow] = {}
        self.calls: dict[str, str] = {}
        self.turns: dict[int, TurnRow] = {}
        self.inputs: dict[str, InputRow] = {}
        self.unconsumed: dict[str, None] = {}
        self.transcript: list[bytes] = []
        self.messages: list[Entry] = []
        """The messages of the transcript that a search finds, oldest first."""
        self.idempotency: dict[str, IdempotencyRow] = {}

    @property
    def user_id(self) -> str:
        return self.row.user_id

    @property
    def made_at(self) -> float:
        return self.row.created_at

    @property
    def last_seq(self) -> int:
        return self.first_seq + len(self.events) - 1

    @property
    def entries(self) -> int:
        return len(self.transcript)

    @property
    def usage(self) -> bytes | None:
        """The usage that the newest turn has."""
        return self.turns[max(self.turns)].usage if self.turns else None

    @property
    def is_paused(self) -> bool:
        """Whether its newest turn waits for a person."""
        return bool(self.turns) and self.turns[max(self.turns)].status == TurnStatus.PAUSED

    def current_row(self) -> SessionRow:
        """Return the session's row with the fields that the store maintains."""
        return replace(
            self.row,
            last_seq=self.last_seq,
            first_seq=self.first_seq,
            unconsumed=tuple(self.unconsumed),
            active_at=event_header(self.events[-1]).at if self.events else None,
        )

    def write(self, change: Change) -> None:
        """Apply a change that fits."""
        if change.session is not None:
            self.row = replace(
                change.session,
                created_at=self.row.created_at,
                writes=self.row.writes + 1,
                given_title=self.row.given_title,
                auto_title=self.row.auto_title,
            )
        if change.title is not None:
            self._write_title(change.title)
        change.cancelled = cancelled = list[str]()
        for write in change.executions:
            row = write.row
            known = self.executions.get(row.id)
            if known is not None and known.cancelling:
                row = row if row.cancelling else replace(row, cancelling=True)
                if row.completed_at is None:
                    cancelled.append(row.id)
            self.executions[row.id] = row
            self.calls[row.call_id] = row.id
        self._write_conversation(change)
        for execution_id in change.late:
            self.unconsumed[execution_id] = None
        for execution_id in change.consumed:
            del self.unconsumed[execution_id]
        for execution_id in change.received:
            self.executions[execution_id] = replace(self.executions[execution_id], late=False)
        for execution_id in change.cancel:
            row = self.executions[execution_id]
            if row.completed_at is None and not row.cancelling:
                self.executions[execution_id] = replace(row, cancelling=True)
        self.transcript += change.transcript
        if change.said_at is not None:
            self._add_messages(change.transcript, change.said_at)
        self.events += change.events
        if change.events:
            self.active_at = advance_activity(self.active_at, event_header(change.events[-1]).at)
        if (key := change.idempotency) is not None:
            first = self.last_seq - len(change.events) + 1 if change.events else self.last_seq
            self.idempotency[key.key] = key if key.seq is not None else replace(key, seq=first)
            if len(self.idempotency) > MAX_IDEMPOTENCY_KEYS:
                del self.idempotency[next(iter(self.idempotency))]

    def _add_messages(self, entries: Sequence[bytes], at: float) -> None:
        for said in filter(None, map(spoken, entries)):
            hit = MemoryHit(
                source=MemorySource.CONVERSATION,
                text=said.text,
                at=at,
                score=0.0,
                session_id=self.row.id,
                role=said.role,
            )
            self.messages.append(Entry.of(hit, said.text))

    def _write_title(self, title: TitleWrite) -> None:
        if not title.automatic:
            self.row = replace(self.row, given_title=title.text, writes=self.row.writes + 1)
        elif self.row.auto_title is None:
            self.row = replace(self.row, auto_title=title.text, writes=self.row.writes + 1)

    def _write_conversation(self, change: Change) -> None:
        for turn, _, _ in change.turns:
            known = self.turns.get(turn.number)
            cancelling = turn.cancelling or (known is not None and known.cancelling)
            self.turns[turn.number] = replace(turn, cancelling=cancelling)
        for number in change.stop_turns:
            if self.turns[number].completed_at is None:
                self.turns[number] = replace(self.turns[number], cancelling=True)
        for row in change.inputs:
            self.inputs[row.id] = row
        for input_id, at in change.deliveries:
            self.inputs[input_id] = replace(self.inputs[input_id], delivered_at=at)


class MemoryState:
    """All sessions, requests, keys and processes."""

    def __init__(self) -> None:
        self.sessions: dict[str, MemorySession] = {}
        self.requests: dict[str, RequestRow] = {}
        self._closed: dict[str, None] = {}
        """Requests that no longer need an answer, in the order in which they were closed."""
        self.keys: dict[str, KeyRow] = {}
        self.notes: dict[str, dict[str, tuple[Note, Entry]]] = {}
        """The notes of each user by key, in the order of their last saves."""
        self.documents: dict[tuple[str, str], dict[str, DocumentRow]] = {}
        """The documents of each user and collection by key."""
        self.owners: dict[str, OwnerRow] = {}
        self.owners_lock = threading.Lock()
        """Guards `owners`: heartbeats come from another thread."""
        self.locks: set[str] = set()
        """The processes that joined through this object."""

    def write(self, change: Change) -> int | Conflict:
        """Apply a change if it fits. Return the session's last number, or the conflict."""
        session = self.sessions.get(change.session_id)
        conflict = find_conflict(change, session, self.requests)
        if conflict is not None:
            return conflict
        if session is None:
            assert change.session is not None
            session = self.sessions[change.session_id] = MemorySession(change.session)
        for write in change.requests:
            self._write_request(write.row)
        session.write(change)
        return session.last_seq

    def save_note(self, user_id: str, note: Note, most: int) -> Note:
        """Store a note, or replace the one with its key. Raises `NotesFull`."""
        mine = self.notes.setdefault(user_id, {})
        known = mine.pop(note.key, None)
        if known is not None:
            note = replace(note, created_at=known[0].created_at)
        elif len(mine) >= most:
            raise NotesFull(most)
        mine[note.key] = note, note_entry(note)
        return note

    def put_document(
        self, user_id: str, collection: str, write: DocumentWrite, limits: CollectionLimits
    ) -> DocumentRow:
        """Carry out a write to a document. Raises `DocumentConflict` and `DocumentsFull`."""
        known = self.documents.get((user_id, collection), {})
        stored = known.get(write.key)
        written = write.apply(stored)
        if written is not stored:
            limits.check(len(known), sum(len(row.value) for row in known.values()), stored, written)
            self.documents.setdefault((user_id, collection), known)[write.key] = written
        return written

    def memory_of(self, query: MemoryQuery) -> list[Entry]:
        """Return the entries of a user that a query may find, newest first, with the titles of their sessions."""
        notes = [entry for _, entry in self.notes.get(query.user_id, {}).values() if entry.at >= query.notes_since]
        messages = [
            entry.titled(session.row.title)
            for session in self.sessions.values()
            if session.user_id == query.user_id and session.row.id != query.without_session
            for entry in session.messages
            if entry.at >= query.messages_since
        ]
        return sorted(notes + messages, key=lambda entry: entry.at, reverse=True)

    def _write_request(self, row: RequestRow) -> None:
        self.requests[row.id] = row
        if row.status not in ("open", "answered"):
            self._closed[row.id] = None
            if len(self._closed) > CLOSED_REQUESTS:
                oldest = next(iter(self._closed))
                del self._closed[oldest]
                self.requests.pop(oldest, None)

    def summary(self, session: MemorySession, now: float) -> SessionSummary:
        """Return a session as it is listed."""
        asking = [each for each in self.requests.values() if each.session_id == session.row.id and each.asks_person]
        waiting = sum(each.expires_at is None or each.expires_at > now for each in asking)
        unfinished = {row.id for row in session.executions.values() if row.completed_at is None}
        calls = unfinished.difference(each.execution_id for each in asking)
        turns = any(row.completed_at is None for row in session.turns.values())
        return SessionSummary(
            session.current_row(),
            session.active_at,
            waiting,
            bool(calls) or turns,
            len(session.executions),
            session.usage,
        )

    def unfinished(self) -> list[ExecutionRow]:
        """Return the unfinished executions by session and then in the order in which they were queued."""
        return [row for each in self._by_id() for row in each.executions.values() if row.completed_at is None]

    def running_turns(self) -> list[TurnRow]:
        """Return the turns that have not ended, by session and number."""
        return [row for each in self._by_id() for row in each.turns.values() if row.completed_at is None]

    def undelivered_inputs(self) -> list[InputRow]:
        """Return the inputs that are not delivered, by session and then in the order in which they came."""
        return [row for each in self._by_id() for row in each.inputs.values() if row.delivered_at is None]

    def _by_id(self) -> list[MemorySession]:
        return [session for _, session in sorted(self.sessions.items())]
