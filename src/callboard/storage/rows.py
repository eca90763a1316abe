"""What is stored, as plain values: times as seconds since 1970, JSON as bytes.

A database may give JSON back with other spaces and another order of keys, never with another meaning. `document` and
the entries of a transcript come back byte for byte.
"""

from dataclasses import dataclass

TOOL, WORKER = "tool", "worker"
"""The kinds of executions: a call of a tool, and the work on a request of people, of which only the answer is told."""
TURN, INPUT = "turn", "input"
"""The other kinds of work that a process owns: a running turn, and an input that is not delivered to the model yet."""
RUNNING = "running"
"""The status of a turn that has not ended. Afterwards it is a value of `TurnStatus`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session: whose it is and what it may see. Where its board stands is the store's to say, not the writer's."""

    id: str
    user_id: str
    namespaces: tuple[str, ...] | None
    """None: all."""
    channel: str | None
    allow: tuple[str, ...] | None
    """The only tools that it sees; None: no such list."""
    tools: tuple[str, ...]
    """The names of the tools that it saw when it was last written."""
    open: bool
    """False after a logout."""
    created_at: float
    updated_at: float
    last_seq: int = 0
    """The number of its newest event. Given by the store; ignored in what is written."""
    first_seq: int = 1
    """The number of the oldest event that is kept. Given by the store."""
    unconsumed: tuple[str, ...] = ()
    """The executions whose late results nobody has taken, oldest first. Changed by `Change.late` and `Change.taken`."""
    wake: str | None = None
    """What late results do to it while it is idle; None: what their tools say."""
    writes: int = 0
    """How often it was written: of two, the one with more is the newer. Given by the store."""
    active_at: float | None = None
    """When its newest event was posted; None where no event is kept. Given by the store."""

    @property
    def last_activity(self) -> float:
        """When anything last happened in it: an event, or a change of the session itself."""
        return max(self.updated_at, self.active_at or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRow:
    """An execution, with all that is needed to carry it on in another process."""

    id: str
    session_id: str
    user_id: str
    call_id: str
    """The caller's id; unique within a session. The execution's own id where the caller gave none."""
    tool: str
    kind: str
    """`tool`, or `worker` for a request that a system worker answers."""
    document: bytes | None
    """The arguments as they came. None where they held secrets and are not needed any more."""
    fingerprint: str
    """A hash of the arguments, for those who come with the same id again."""
    shown: bytes
    """The arguments as people may see them."""
    status: str
    priority: int
    attempt: int
    max_attempts: int
    errors: bytes
    """Why earlier attempts failed: a JSON list."""
    value: bytes | None
    error: bytes | None
    late: bool
    """Whether its caller was let go before it ended."""
    parent_id: str | None
    queued_at: float
    started_at: float | None
    completed_at: float | None
    """None: it is unfinished."""
    owner: str | None
    """The process that carries it out; None where nobody does, because it waits for a person."""
    cancelling: bool = False
    """Whether somebody, in any process, asked for it to stop. Once asked, it stays so, whatever is written."""
    retry_at: float | None = None
    """The time before which the next attempt must not begin; None where the execution waits for no retry."""


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
    """None: it is running."""
    owner: str
    """The process that runs it."""
    cancelling: bool = False
    """Whether a process asked for it to stop. Later writes do not reset this."""


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
    """Something that a person is asked."""

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
    """What an answer must look like, as a JSON schema."""
    fingerprint: str
    """A hash of the arguments that are asked about: what is approved is what runs."""
    status: str
    """`open`, `answered`, `used`, `refused`, `expired` or `withdrawn`."""
    answer: bytes | None
    created_at: float
    expires_at: float | None
    answered_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyRow:
    """A client's id for one write to a session, and what that write came to.

    It is written in one transaction with the change that it names, so a repeated request finds either both or neither.
    """

    key: str
    """The client's id; unique within a session."""
    fingerprint: str
    """A hash of the request. The same key with another fingerprint is a conflict."""
    at: float
    """When it was written. Old keys are forgotten."""
    answer: bytes = b"null"
    """What the client is answered beside the number, as a small JSON document."""
    seq: int | None = None
    """The number that the client is answered with. None in a change: the store fills in that of the change's first
    event, or of the session's newest one where the change has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRow:
    """A process that carries executions out, as long as its beat goes on."""

    id: str
    host: str
    """The machine and its boot, so that process ids can be compared."""
    pid: int
    started: str
    """When the process was started, in the machine's own words: process ids are used again."""
    beat: int
    """A number that goes up while it lives. Whoever sees it stand still for a lease's time may recover its work.

    -1: it has left, and work of it is still there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """An API key: whose it is, and how it is known again. The key itself is not stored."""

    id: str
    """The part of the key that may be shown."""
    user_id: str
    name: str | None
    """What its owner calls it."""
    digest: str
    """The SHA-256 hash of its secret, in hexadecimal digits."""
    created_at: float
    expires_at: float | None
    """None: never."""
    revoked_at: float | None = None
    last_used_at: float | None = None
    """About when it was last used: it is not written for every request."""
