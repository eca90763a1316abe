"""Turns and inputs as rows of the store, beside executions: so they are some process's, and taken over like those.

A turn has a row while it runs. An input has one until the model is told of it: whoever takes over the work of a dead
process finds both.
"""

import hashlib
import secrets

from ..execution.lifecycle import Status
from ..sessions.conversation_scope import ConversationScope
from ..storage.rows import INPUT, TURN, ExecutionRow


def turn_row(scope: ConversationScope, turn_id: str, number: int) -> ExecutionRow:
    """A turn that begins. There is one of each number in a session."""
    return _row(scope, TURN, f"{turn_id}.{number}", turn_call(number))


def turn_call(number: int) -> str:
    """The call id of a turn."""
    return _call(f"turn {number}")


def new_input(scope: ConversationScope, given: str | None = None) -> ExecutionRow:
    """An input that the model is to be told of. A session has one of each id that its senders have given."""
    return told_input(scope, f"i{secrets.token_hex(8)}" if given is None else input_row(given), told=False)


def input_row(given: str) -> str:
    """The id of an input's row, by the id that its sender gave it: a hash, since that id may be anything."""
    return f"i{hashlib.sha256(given.encode(errors='surrogatepass')).hexdigest()[:32]}"


def told_input(scope: ConversationScope, input_id: str, *, told: bool = True) -> ExecutionRow:
    """An input of which the model is told by what is written with it."""
    return _row(scope, INPUT, input_id, _call(input_id), scope.now() if told else None)


def _call(name: str) -> str:
    """A call id that no caller can choose: it has a character that cannot be printed."""
    return f"\x1f{name}"


def _row(
    scope: ConversationScope, kind: str, row_id: str, call_id: str, completed_at: float | None = None
) -> ExecutionRow:
    now = scope.now()
    return ExecutionRow(
        id=row_id,
        session_id=scope.session.id,
        user_id=scope.session.user_id,
        call_id=call_id,
        tool=kind,
        kind=kind,
        document=None,
        fingerprint="",
        shown=b"{}",
        status=(Status.EXECUTING if completed_at is None else Status.SUCCEEDED).value,
        priority=0,
        attempt=1,
        max_attempts=1,
        errors=b"[]",
        value=None,
        error=None,
        late=False,
        parent_id=None,
        queued_at=now,
        started_at=now,
        completed_at=completed_at,
        owner=scope.owner,
    )
