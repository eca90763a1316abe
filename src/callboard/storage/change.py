"""A change: everything that happens to one session at one moment, events and the state that they describe.

A change is written whole or not at all. Many changes are committed as one group, and a change that does not fit the
stored state fails alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from .rows import ExecutionRow, IdempotencyRow, InputRow, RequestRow, SessionRow, TurnRow


class Notice(IntEnum):
    """The importance of changes of a session to other processes. Of several, the highest counts."""

    QUIET = 0
    """The changes only say how executions go: other processes may show it, and none has to act."""
    CHANGED = 1
    """Another process may have to act."""
    RESULTS_LEFT = 2
    """There are also late results for the model, and the process that wrote them has none."""


class ExecutionWrite(NamedTuple):
    """The current state of an execution. `Conflict` if the execution does not exist, unless it is new."""

    row: ExecutionRow
    held_by: str | None = None
    """The process that must own the stored execution; None: any."""
    new: bool = False
    """Whether the execution must not exist yet, nor another execution of its session with its call id."""


class RequestWrite(NamedTuple):
    """The current state of a request."""

    row: RequestRow
    was: str | None = None
    """The status that the stored request must have; None: the request must not exist."""


class TurnWrite(NamedTuple):
    """The current state of a turn. `Conflict` if the turn does not exist, unless it is new."""

    row: TurnRow
    held_by: str | None = None
    """The process that must own the stored turn; None: any."""
    new: bool = False
    """Whether the session must not have a turn of this number yet."""


class Delivery(NamedTuple):
    """An input that enters the transcript with a change. `Conflict` if the input does not exist."""

    input_id: str
    at: float


class TitleWrite(NamedTuple):
    """A new title of a session."""

    text: str | None
    """The title; None removes the given title, so that the automatic one is shown."""
    automatic: bool = False
    """Whether it is the automatic title, which is written only if the session has none."""


@dataclass(slots=True)
class Change:
    """Writes to one session in one transaction, in the order of the fields."""

    session_id: str
    session: SessionRow | None = None
    """The session itself: created if it does not exist. `Conflict` if it exists for another user.

    `created_at`, `unconsumed` and the titles of a stored session stay; `writes` goes up by one."""
    title: TitleWrite | None = None
    """A title of the session. `writes` goes up by one, unless nothing changes."""
    executions: Sequence[ExecutionWrite] = ()
    requests: Sequence[RequestWrite] = ()
    turns: Sequence[TurnWrite] = ()
    inputs: Sequence[InputRow] = ()
    """New inputs. `Conflict` if the session has one of these ids already."""
    deliveries: Sequence[Delivery] = ()
    late: Sequence[str] = ()
    """Executions whose results wait to be consumed from now on. One that waits already keeps its position."""
    consumed: Sequence[str] = ()
    """Executions whose results this change consumes. `Conflict` if a result does not wait."""
    received: Sequence[str] = ()
    """Those of the consumed results that their callers waited for, in another process: the executions are not late."""
    cancel: Sequence[str] = ()
    """Executions to cancel, in whatever process they run. Finished executions stay as they are."""
    stop_turns: Sequence[int] = ()
    """The numbers of turns to cancel, in whatever process they run. Finished turns stay as they are."""
    transcript: Sequence[bytes] = ()
    """Entries for the end of the transcript: JSON documents."""
    said_at: float | None = None
    """The time of these entries, with which their messages are found by a search; None: they are not found."""
    entries: int | None = None
    """The number of entries that the transcript must have before these; `Conflict` if it has another number."""
    made_at: float | None = None
    """The creation time of the session that this change is for; `Conflict` if the session has another, or is gone."""
    idempotency: IdempotencyRow | None = None
    """The client's id of this change. If the session has the key already, nothing is written: `AlreadyWritten` for
    the same fingerprint, `IdempotencyConflict` for another. See `MAX_IDEMPOTENCY_KEYS`."""
    events: Sequence[bytes] = field(default=())
    """Encoded events (see `events.event.encode_event`) for the end of the board: `{"kind":…,"at":…,"data":{…}}`."""
    results_left: bool = False
    """Whether the results that are late wait for another process, since this one has no model."""
    cancelled: Sequence[str] = ()
    """Those of its unfinished executions that were cancelled before. The store sets this when it writes the change."""

    @property
    def size(self) -> int:
        """The bytes of its documents."""
        size = sum(map(len, self.events)) + sum(map(len, self.transcript))
        for execution in self.executions:
            row = execution.row
            size += len(row.display_arguments) + len(row.errors)
            size += len(row.document or b"") + len(row.value or b"") + len(row.error or b"")
        for request in self.requests:
            size += len(request.row.payload) + len(request.row.schema) + len(request.row.answer or b"")
        return size

    @property
    def notice(self) -> Notice:
        """The kind of this change for other processes."""
        if self.results_left:
            return Notice.RESULTS_LEFT
        acted_on = self.session, self.title, self.requests, self.turns, self.inputs, self.deliveries
        is_acted_on = any(acted_on) or self.cancel or self.stop_turns or self.transcript or self.idempotency
        return Notice.CHANGED if is_acted_on else Notice.QUIET
