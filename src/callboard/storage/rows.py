"""Stored rows as plain values: times as seconds since 1970, JSON as bytes.

A database may return JSON with other spaces and another order of keys, but with the same meaning. `document` and the
entries of a transcript are returned byte for byte.
"""

from dataclasses import dataclass

from ..types import RequestPurpose

TOOL, WORKER = "tool", "worker"
"""The kinds of executions: a call of a tool, and the work on a user's request, of which only the answer is posted."""
TURN, INPUT = "turn", "input"
"""The other kinds of work that a process owns: a running turn, and an input that is not delivered to the model yet."""
RUNNING = "running"
"""The status of a turn that has not ended. Afterwards it is a value of `TurnStatus`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session: its user and what it may see."""

    id: str
    user_id: str
    namespaces: tuple[str, ...] | None
    """The namespaces that it sees; None: all."""
    channel: str | None
    allow: tuple[str, ...] | None
    """The only tools that it sees; None: all."""
    tools: tuple[str, ...]
    """The names of the tools that it saw when it was last written."""
    open: bool
    """Whether it is open: false after a logout."""
    created_at: float
    updated_at: float
    last_seq: int = 0
    """The number of its newest event. The store sets it and ignores it in writes."""
    first_seq: int = 1
    """The number of its oldest kept event. Set by the store."""
    unconsumed: tuple[str, ...] = ()
    """Executions whose late results are not consumed, oldest first. `Change.late` and `Change.consumed` change them."""
    wake: str | None = None
    """The effect of late results while it is idle; None: as their tools define it."""
    writes: int = 0
    """The number of times that it was written: of two rows, the newer has more. Set by the store."""
    active_at: float | None = None
    """The time of its newest event; None if no event is kept. Set by the store."""
    given_title: str | None = None
    """The title that a person gave it. Only `Change.title` changes it."""
    auto_title: str | None = None
    """The title from the first message of a person; None before it. Only `Change.title` changes it."""

    @property
    def title(self) -> str | None:
        """The title to show: the given one, or else the automatic one."""
        return self.auto_title if self.given_title is None else self.given_title

    @property
    def last_activity(self) -> float:
        """The time of its last event, or of the last change of the session itself."""
        return max(self.updated_at, self.active_at or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRow:
    """An execution, with everything that another process needs to continue it."""

    id: str
    session_id: str
    user_id: str
    call_id: str
    """The caller's id; unique within a session. The execution's own id if the caller gave none."""
    tool: str
    kind: str
    """`tool`, or `worker` for a request that a system worker answers."""
    document: bytes | None
    """The arguments as they were received. None if they held secrets and are no longer needed."""
    fingerprint: str
    """A hash of the arguments, which tells a repeated call from another call with the same id."""
    display_arguments: bytes
    """The arguments without secrets, for display."""
    status: str
    priority: int
    attempt: int
    max_attempts: int
    errors: bytes
    """The errors of earlier attempts: a JSON list."""
    value: bytes | None
    error: bytes | None
    late: bool
    """Whether its caller stopped waiting before it ended."""
    parent_id: str | None
    queued_at: float
    started_at: float | None
    completed_at: float | None
    """When it ended; None: it is unfinished."""
    owner: str | None
    """The process that runs it; None if it waits for a person without a process."""
    cancelling: bool = False
    """Whether a process asked for it to stop. Later writes do not reset this."""
    retry_at: float | None = None
    """The time before which the next attempt must not begin; None if no retry is pending."""
    queue: str | None = None
    """The queue whose workers run it; None: it runs in the process where it was called.

    Empty for a nested call that runs on a worker, in the process of its caller: it is recovered with its caller."""
    trace: str | None = None
    """The trace context of its call, in the format of the header `traceparent`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """A turn of the conversation. A turn that resumes after a pause has a row for each part."""

    session_id: str
    number: int
    """Counts the rows of a session from 1."""
    turn_id: str
    user_id: str
    status: str
    """`running`, or how it ended: a value of `TurnStatus`."""
    started_at: float
    completed_at: float | None
    """When it ended; None: it is running."""
    owner: str
    """The process that runs it."""
    cancelling: bool = False
    """Whether a process asked for it to stop. Later writes do not reset this."""
    usage: bytes | None = None
    """The usage of the conversation up to the end of this turn, and while it runs up to its last but one write.

    A JSON object with the fields of `turns.Usage`; None for a turn of a revision before 0013. It is the usage of all
    turns and not of one, so that the usage of a conversation is read from its newest row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRow:
    """An input of the user, stored until the session is deleted so that its id is accepted once."""

    session_id: str
    id: str
    """Unique within a session."""
    user_id: str
    received_at: float
    delivered_at: float | None
    """When it entered the transcript; None: the model has not received it."""
    owner: str
    """The process that delivers it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """A request to a person."""

    id: str
    session_id: str
    user_id: str
    execution_id: str
    kind: str
    """The kind of its event: `human_request` or `wallet_tx_request`."""
    purpose: str
    """A value of `RequestPurpose`."""
    tool: str
    payload: bytes
    schema: bytes
    """The JSON schema of an answer."""
    fingerprint: str
    """A hash of the arguments that the request is about: only what was approved runs."""
    status: str
    """`open`, `answered`, `used`, `refused`, `expired` or `withdrawn`."""
    answer: bytes | None
    created_at: float
    expires_at: float | None
    answered_at: float | None

    @property
    def asks_person(self) -> bool:
        """Whether it is open and a person must answer it. The page answers the requests of its own tools."""
        return self.status == "open" and self.purpose != RequestPurpose.FRONT_END_TOOL


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyRow:
    """A client's id for a write to a session, and the result of that write.

    It is written in one transaction with the change that it names, so a repeated request finds either both or neither.
    """

    key: str
    """The client's id; unique within a session."""
    fingerprint: str
    """A hash of the request. The same key with another fingerprint is a conflict."""
    at: float
    """When it was written. Old keys are deleted."""
    answer: bytes = b"null"
    """A small JSON document for the response, beside the number."""
    seq: int | None = None
    """The number for the response. None in a change: the store sets it to that of the change's first event, or of the
    session's newest event if the change has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRow:
    """A process that runs executions, as long as its beat advances."""

    id: str
    host: str
    """The machine and its boot, so that process ids can be compared."""
    pid: int
    started: str
    """The start time of the process in the system's format: process ids are reused."""
    beat: int
    """A number that increases while it lives. If it does not advance during a lease, its work may be recovered.

    -1: it has left, and some of its work is still stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """An API key: its user, and the hash of its secret. The key itself is not stored."""

    id: str
    """The public part of the key."""
    user_id: str
    name: str | None
    """A name that its user chose."""
    digest: str
    """The SHA-256 hash of its secret, in hexadecimal digits."""
    created_at: float
    expires_at: float | None
    """When it expires; None: never."""
    revoked_at: float | None = None
    last_used_at: float | None = None
    """The approximate time of its last use: it is not written for every request."""
