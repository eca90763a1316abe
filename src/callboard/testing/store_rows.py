"""Builders of rows and changes for tests of stores. Every field that a test leaves out has a default."""

from typing import Any

from pydantic_core import to_json

from ..events.event import encode_event
from ..storage.change import Change, ExecutionWrite, RequestWrite, TurnWrite
from ..storage.document_records import CollectionLimits, DocumentRow, DocumentWrite
from ..storage.memory_records import MemoryQuery
from ..storage.owners import Claim
from ..storage.rows import (
    ExecutionRow,
    IdempotencyRow,
    InputRow,
    KeyRow,
    OwnerRow,
    RequestRow,
    SessionRow,
    TurnRow,
)
from ..storage.search_words import terms_of
from ..user_memory import Note

NOW = 1_800_000_000.0


def session_row(session_id: str = "s", **fields: Any) -> SessionRow:
    filled: dict[str, Any] = {
        "user_id": "ann",
        "namespaces": None,
        "channel": None,
        "allow": None,
        "tools": (),
        "open": True,
        "created_at": NOW,
        "updated_at": NOW,
        "writes": 1,
    }
    return SessionRow(id=session_id, **filled | fields)


def execution_row(execution_id: str = "x", session_id: str = "s", **fields: Any) -> ExecutionRow:
    filled: dict[str, Any] = {
        "user_id": "ann",
        "call_id": f"call of {execution_id}",
        "tool": "add",
        "kind": "tool",
        "document": b'{"a":1}',
        "fingerprint": "f",
        "display_arguments": b'{"a": 1}',
        "status": "executing",
        "priority": 0,
        "attempt": 1,
        "max_attempts": 3,
        "errors": b"[]",
        "value": None,
        "error": None,
        "late": False,
        "parent_id": None,
        "queued_at": NOW,
        "started_at": None,
        "completed_at": None,
        "owner": "p1",
    }
    return ExecutionRow(id=execution_id, session_id=session_id, **filled | fields)


def finished_row(execution_id: str = "x", session_id: str = "s", **fields: Any) -> ExecutionRow:
    ended: dict[str, Any] = {"status": "succeeded", "value": b"1", "completed_at": NOW + 1, "owner": None}
    return execution_row(execution_id, session_id, **ended | fields)


def request_row(request_id: str = "r", session_id: str = "s", **fields: Any) -> RequestRow:
    filled: dict[str, Any] = {
        "user_id": "ann",
        "execution_id": "x",
        "kind": "human_request",
        "purpose": "question",
        "tool": "pay",
        "payload": b'{"ask": 1}',
        "schema": b'{"type": "object"}',
        "fingerprint": "f",
        "status": "open",
        "answer": None,
        "created_at": NOW,
        "expires_at": None,
        "answered_at": None,
    }
    return RequestRow(id=request_id, session_id=session_id, **filled | fields)


def turn_row(number: int = 1, session_id: str = "s", **fields: Any) -> TurnRow:
    filled: dict[str, Any] = {
        "turn_id": f"t{number}",
        "user_id": "ann",
        "status": "running",
        "started_at": NOW,
        "completed_at": None,
        "owner": "p1",
    }
    return TurnRow(session_id=session_id, number=number, **filled | fields)


def ended_turn(number: int = 1, session_id: str = "s", **fields: Any) -> TurnRow:
    return turn_row(number, session_id, **{"status": "finished", "completed_at": NOW + 1} | fields)


def input_row(input_id: str = "i", session_id: str = "s", **fields: Any) -> InputRow:
    filled: dict[str, Any] = {"user_id": "ann", "received_at": NOW, "delivered_at": None, "owner": "p1"}
    return InputRow(session_id=session_id, id=input_id, **filled | fields)


def owner_row(owner_id: str = "p1", **fields: Any) -> OwnerRow:
    filled: dict[str, Any] = {"host": "here", "pid": 7, "started": "then", "beat": 0}
    return OwnerRow(id=owner_id, **filled | fields)


def key_row(key_id: str = "k", **fields: Any) -> KeyRow:
    filled: dict[str, Any] = {
        "user_id": "ann",
        "name": None,
        "digest": "d" * 64,
        "created_at": NOW,
        "expires_at": None,
    }
    return KeyRow(id=key_id, **filled | fields)


def idempotency_row(key: str = "k", fingerprint: str = "f", **fields: Any) -> IdempotencyRow:
    filled: dict[str, Any] = {"at": NOW}
    return IdempotencyRow(key=key, fingerprint=fingerprint, **filled | fields)


def note(key: str = "k", text: str = "text", **fields: Any) -> Note:
    filled: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}
    return Note(key=key, text=text, **filled | fields)


ROOMY = CollectionLimits(1_000, 1_000_000)
"""Limits of a collection that a test does not reach."""


def document_write(key: str = "k", value: bytes = b"1", expected: int | None = None, **fields: Any) -> DocumentWrite:
    filled: dict[str, Any] = {"at": NOW, "writer": "x"}
    return DocumentWrite(key=key, value=value, expected=expected, **filled | fields)


def document_row(key: str = "k", value: bytes = b"1", version: int = 1, **fields: Any) -> DocumentRow:
    filled: dict[str, Any] = {"updated_at": NOW, "writer": "x"}
    return DocumentRow(key=key, value=value, version=version, **filled | fields)


def memory_query(text: str, user_id: str = "ann", **fields: Any) -> MemoryQuery:
    """Return a search for the words of a text."""
    return MemoryQuery(user_id=user_id, terms=terms_of(text), **fields)


def say(*texts: str, session_id: str = "s", role: str = "user", at: float = NOW) -> Change:
    """Return a change that adds messages of a person, or of the model, to a transcript."""
    if role == "user":
        lines = [b'{"kind":"input","text":%b}' % to_json(text) for text in texts]
    else:
        parts = [to_json([{"parts": [{"content": text, "part_kind": "text"}], "kind": "response"}]) for text in texts]
        lines = [b'{"kind":"said","message":%b}' % part for part in parts]
    return Change(session_id, transcript=lines, said_at=at)


def event(number: int = 0, kind: str = "system_notice", at: float = NOW) -> bytes:
    return encode_event(kind, at, b'{"n":%d}' % number)


def create(session_id: str = "s", **fields: Any) -> Change:
    """Return a change that creates a session."""
    return Change(session_id, session=session_row(session_id, **fields))


def post(*numbers: int, session_id: str = "s") -> Change:
    """Return a change that posts events with these numbers."""
    return Change(session_id, events=[event(number) for number in numbers])


def add(row: ExecutionRow | TurnRow | InputRow | RequestRow) -> Change:
    """Return a change that adds a row. An input comes with its event."""
    match row:
        case ExecutionRow():
            return Change(row.session_id, executions=[ExecutionWrite(row, new=True)])
        case TurnRow():
            return Change(row.session_id, turns=[TurnWrite(row, new=True)])
        case InputRow():
            posted = encode_event("user_input", NOW, b'{"text":"Hi.","input_id":"%s"}' % row.id.encode())
            return Change(row.session_id, inputs=[row], events=[posted])
        case RequestRow():
            return Change(row.session_id, requests=[RequestWrite(row)])


def update(row: ExecutionRow | TurnRow, by: str | None = None) -> Change:
    """Return a change that writes a stored row, which a process must hold; None: any process."""
    if isinstance(row, TurnRow):
        return Change(row.session_id, turns=[TurnWrite(row, by)])
    return Change(row.session_id, executions=[ExecutionWrite(row, by)])


def close(row: RequestRow, was: str = "open") -> Change:
    """Return a change that closes a request, which must have a status."""
    return Change(row.session_id, requests=[RequestWrite(row, was)])


def claims(*rows: ExecutionRow) -> list[Claim]:
    """Return the claims by which an heir learns of executions that it now owns."""
    return [Claim(row.session_id, row.id, row.user_id, row.kind) for row in rows]
