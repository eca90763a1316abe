"""Decides whether a change fits the stored records, for every store alike."""

from collections.abc import Callable, Container, Mapping
from operator import attrgetter
from typing import Protocol

from ...storage.change import Change
from ...storage.errors import AlreadyWritten, Conflict, IdempotencyConflict
from ...storage.rows import ExecutionRow, IdempotencyRow, RequestRow
from ...storage.text import is_storable

_execution_texts: Callable[[ExecutionRow], tuple[str, ...]] = attrgetter(
    "id", "session_id", "user_id", "call_id", "tool", "kind", "fingerprint", "status"
)
_request_texts: Callable[[RequestRow], tuple[str, ...]] = attrgetter(
    "id", "session_id", "user_id", "execution_id", "kind", "purpose", "tool", "fingerprint", "status"
)


class KnownTurn(Protocol):
    """The field of a turn that a decision needs."""

    @property
    def owner(self) -> str | None: ...


class KnownExecution(KnownTurn, Protocol):
    """The fields of an execution that a decision needs."""

    @property
    def call_id(self) -> str: ...


class KnownRequest(Protocol):
    """The fields of a request that a decision needs."""

    @property
    def session_id(self) -> str: ...
    @property
    def status(self) -> str: ...


class KnownSession(Protocol):
    """The records of a session that a decision needs. Only records that the change names have to be in it."""

    @property
    def user_id(self) -> str: ...
    @property
    def made_at(self) -> float: ...

    @property
    def executions(self) -> Mapping[str, KnownExecution]: ...
    @property
    def turns(self) -> Mapping[int, KnownTurn]: ...
    @property
    def inputs(self) -> Container[str]: ...
    @property
    def calls(self) -> Container[str]: ...
    @property
    def unconsumed(self) -> Container[str]: ...
    @property
    def entries(self) -> int: ...
    @property
    def idempotency(self) -> Mapping[str, IdempotencyRow]: ...


def find_conflict(
    change: Change, session: KnownSession | None, requests: Mapping[str, KnownRequest]
) -> Conflict | None:
    """Return the conflict of a change with the stored records, if any. `session` is None if it does not exist."""
    if not has_storable_text(change):
        return Conflict("An id or a name in this change has a NUL character or a lone surrogate, which no store holds.")
    if change.session is not None:
        if change.session.id != change.session_id:
            return Conflict(f"A change of session {change.session_id} holds another session.")
        if session is not None and session.user_id != change.session.user_id:
            return Conflict(f"The session {change.session_id} is another user's.")
    if session is None and (change.session is None or change.made_at is not None):
        return Conflict(f"There is no session {change.session_id}.")
    if session is not None and change.made_at is not None and session.made_at != change.made_at:
        return Conflict(f"The session {change.session_id} was deleted, and another has its id now.")
    if change.idempotency is not None and session is not None:
        known = session.idempotency.get(change.idempotency.key)
        if known is not None:
            return _repeated(known, change.idempotency)
    if change.entries is not None and change.entries != (0 if session is None else session.entries):
        return Conflict(f"The transcript of session {change.session_id} does not have {change.entries} entries.")
    return (
        (_executions(change, session) if change.executions else None)
        or (_requests(change, requests) if change.requests else None)
        or (_turns(change, session) if change.turns or change.stop_turns else None)
        or (_inputs(change, session) if change.inputs or change.deliveries else None)
        or (_results(change, session) if change.late or change.consumed or change.received or change.cancel else None)
    )


def has_storable_text(change: Change) -> bool:
    """Return whether every store can hold the ids and names in a change. JSON documents are not checked."""
    texts = [change.session_id, *change.late, *change.received, *change.cancel]
    if change.session is not None:
        texts += (change.session.id, change.session.user_id, change.session.channel or "", change.session.wake or "")
    if change.title is not None:
        texts.append(change.title.text or "")
    if change.idempotency is not None:
        texts += (change.idempotency.key, change.idempotency.fingerprint)
    for write in change.executions:
        texts += _execution_texts(write.row)
        texts += (write.row.parent_id or "", write.row.owner or "")
    for write in change.requests:
        texts += _request_texts(write.row)
    for write in change.turns:
        texts += (write.row.session_id, write.row.turn_id, write.row.user_id, write.row.status, write.row.owner)
    for row in change.inputs:
        texts += (row.session_id, row.id, row.user_id, row.owner)
    texts += (delivery.input_id for delivery in change.deliveries)
    return is_storable("".join(texts))


def _repeated(known: IdempotencyRow, row: IdempotencyRow) -> Conflict:
    """Return the conflict of a change whose idempotency key is stored."""
    return AlreadyWritten(known) if known.fingerprint == row.fingerprint else IdempotencyConflict(known.key)


def _executions(change: Change, session: KnownSession | None) -> Conflict | None:
    stored: dict[str, KnownExecution] = {}
    calls: set[str] = set()
    for write in change.executions:
        row = write.row
        if row.session_id != change.session_id:
            return Conflict(f"The execution {row.id} is not one of session {change.session_id}.")
        known = stored.get(row.id) or (session.executions.get(row.id) if session else None)
        if write.new:
            if known is not None:
                return Conflict(f"The execution {row.id} is there already.")
            if row.call_id in calls or (session and row.call_id in session.calls):
                return Conflict(f"The call {row.call_id} has an execution already.")
        elif known is None:
            return Conflict(f"There is no execution {row.id} in session {change.session_id}.")
        elif write.held_by is not None and known.owner != write.held_by:
            return Conflict(f"The execution {row.id} is no longer held by {write.held_by}.")
        elif known.call_id != row.call_id:
            return Conflict(f"The execution {row.id} is of another call.")
        stored[row.id] = row
        calls.add(row.call_id)
    return None


def _requests(change: Change, requests: Mapping[str, KnownRequest]) -> Conflict | None:
    stored: dict[str, KnownRequest] = {}
    for write in change.requests:
        row = write.row
        if row.session_id != change.session_id:
            return Conflict(f"The request {row.id} is not one of session {change.session_id}.")
        known = stored.get(row.id) or requests.get(row.id)
        if write.was is None:
            if known is not None:
                return Conflict(f"The request {row.id} is there already.")
        elif known is None or known.session_id != change.session_id:
            return Conflict(f"There is no request {row.id} in session {change.session_id}.")
        elif known.status != write.was:
            return Conflict(f"The request {row.id} is {known.status}, not {write.was}.")
        stored[row.id] = row
    return None


def _turns(change: Change, session: KnownSession | None) -> Conflict | None:
    written: set[int] = set()
    for row, held_by, is_new in change.turns:
        if row.session_id != change.session_id:
            return Conflict(f"The turn {row.number} is not one of session {change.session_id}.")
        known = session.turns.get(row.number) if session else None
        if is_new:
            if known is not None or row.number in written:
                return Conflict(f"The session {change.session_id} has a turn {row.number} already.")
        elif known is None:
            return Conflict(f"There is no turn {row.number} in session {change.session_id}.")
        elif held_by is not None and known.owner != held_by:
            return Conflict(f"The turn {row.number} is no longer held by {held_by}.")
        written.add(row.number)
    for number in change.stop_turns:
        if number not in written and (session is None or number not in session.turns):
            return Conflict(f"There is no turn {number} in session {change.session_id}.")
    return None


def _inputs(change: Change, session: KnownSession | None) -> Conflict | None:
    written: set[str] = set()
    for row in change.inputs:
        if row.session_id != change.session_id:
            return Conflict(f"The input {row.id} is not one of session {change.session_id}.")
        if row.id in written or (session and row.id in session.inputs):
            return Conflict(f"The session {change.session_id} has an input {row.id} already.")
        written.add(row.id)
    for input_id, _ in change.deliveries:
        if input_id not in written and (session is None or input_id not in session.inputs):
            return Conflict(f"There is no input {input_id} in session {change.session_id}.")
    return None


def _results(change: Change, session: KnownSession | None) -> Conflict | None:
    made = {write.row.id for write in change.executions}
    for execution_id in (*change.late, *change.received, *change.cancel):
        if execution_id not in made and (session is None or execution_id not in session.executions):
            return Conflict(f"There is no execution {execution_id} in session {change.session_id}.")
    late, consumed = set(change.late), set[str]()
    for execution_id in change.consumed:
        waits = execution_id in late or (session is not None and execution_id in session.unconsumed)
        if not waits or execution_id in consumed:
            return Conflict(f"No result of the execution {execution_id} waits to be consumed.")
        consumed.add(execution_id)
    return None
