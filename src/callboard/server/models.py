"""What goes in and what comes out, as models: they validate, they write, and the OpenAPI document is made of them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_SAFE_INTEGER = 9_007_199_254_740_991
"""The largest number that every reader of JSON reads exactly."""
MAX_LIST = 1_000
MAX_MESSAGES = 500

Id = Annotated[str, Field(min_length=1, max_length=200, description="An id, as it was given")]
Number = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)]
Cursor = Annotated[
    int, Field(ge=0, le=MAX_SAFE_INTEGER, description="The number of an event: only what comes after it")
]
Limit = Annotated[int, Field(ge=1, le=MAX_LIST, description="How many at most")]


class Incoming(BaseModel):
    """What a caller sends. Fields that nobody knows are refused."""

    model_config = ConfigDict(extra="forbid")


class Outgoing(BaseModel):
    """What a caller gets."""

    model_config = ConfigDict(ser_json_inf_nan="null")


class ProblemDocument(Outgoing):
    """Why there is no other answer (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str = Field(description="What programs go by; it never changes its meaning")
    detail: str | None = None
    errors: list[dict[str, Any]] | None = Field(default=None, description="What is wrong, and at which path")


class CutInfo(Outgoing):
    """Something that was left out of a list because it is long."""

    length: Number = Field(description="How many characters it has, as JSON")
    excerpt: str = Field(description="The first of them")
    href: str = Field(description="Where all of it is")


# Sessions


class CreateSession(Incoming):
    session_id: Id | None = Field(default=None, description="One's own choice; made if it is not given")
    namespaces: list[Annotated[str, Field(max_length=200)]] | None = Field(
        default=None, max_length=100, description="Whose tools it sees; all where it is not given"
    )
    channel: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class SessionsQuery(Incoming):
    after: str = Field(default="", max_length=200, description="Only those after this id")
    limit: Limit = 100


class LogoutSession(Incoming):
    grace: float = Field(default=30.0, ge=0, le=300, description="Seconds that running work may take to end")


class SessionInfo(Outgoing):
    session_id: str
    open: bool = Field(description="False after a logout")
    namespaces: list[str] | None
    channel: str | None
    tools: list[str] = Field(description="The names of the tools that it sees")
    created_at: datetime
    last_seq: Number
    has_pending_work: bool | None = Field(default=None, description="Whether anything runs, waits or is not taken yet")


class SessionList(Outgoing):
    sessions: list[SessionInfo]
    next: str | None = Field(description="What to give as `after` for more; null: there are no more")


class Deleted(Outgoing):
    deleted: bool


# The conversation


class SessionRef(Incoming):
    session_id: Id


class ChatMessage(Incoming):
    session_id: Id
    message: str = Field(min_length=1, max_length=200_000)
    message_id: Id | None = Field(
        default=None, description="The sender's id of the message: the same again is the same message"
    )


class Queued(Outgoing):
    queued: bool = True
    seq: Number = Field(description="The number of the event, which is stored")


class Interrupted(Outgoing):
    interrupted: bool = Field(description="Whether a turn ran")


class StreamQuery(Incoming):
    session_id: Id
    after: Cursor | None = None
    family: Literal["chat", "system"] | None = Field(default=None, description="Only these events")


class StateQuery(Incoming):
    session_id: Id
    after: Cursor | None = Field(default=None, description="Only the system's events after this one; else the newest")
    limit: Limit = 100
    messages: int = Field(default=100, ge=1, le=MAX_MESSAGES, description="About how many of the newest messages")


class MessagesQuery(Incoming):
    session_id: Id
    before: Annotated[int, Field(ge=1, le=MAX_SAFE_INTEGER)] | None = Field(
        default=None, description="Only messages before this place: a `next` of earlier; else the newest"
    )
    limit: int = Field(default=100, ge=1, le=MAX_MESSAGES, description="About how many")


class MessageList(Outgoing):
    messages: list[dict[str, Any]] = Field(description="Oldest first")
    next: Number | None = Field(description="What to give as `before` for earlier ones; null: there are none")


# Events


class PostEvent(Incoming):
    session_id: Id
    event: dict[str, Any] = Field(description="Its `kind`, and the fields of that kind")


class EventQueued(Outgoing):
    queued: bool = True
    event_type: str
    seq: Number


class BoardEvent(Outgoing):
    seq: Number
    kind: str
    at: datetime
    data: dict[str, Any]


class EventsQuery(Incoming):
    session_id: Id
    before: Annotated[int, Field(ge=1, le=MAX_SAFE_INTEGER)] | None = Field(
        default=None, description="The number of an event: only what comes before it; the newest where it is not given"
    )
    limit: Annotated[int, Field(ge=1, le=500, description="How many at most")] = 100


class EventPage(Outgoing):
    events: list[BoardEvent] = Field(description="Oldest first; about 1 MB at most")
    next: Number | None = Field(description="What to give as `before` for earlier ones; null: there are none")


# Requests to people


class RequestsQuery(Incoming):
    session_id: Id | None = Field(default=None, description="Of this session; of all one's own where it is not given")
    after: Id | None = Field(default=None, description="Only those after this request")
    limit: Limit = 100


class RequestInfo(Outgoing):
    request_id: str
    session_id: str
    execution_id: str
    kind: str
    tool: str
    payload: Any = Field(description="What is asked")
    answer_schema: Any = Field(description="What an answer must look like")
    arguments_hash: str = Field(description="What is asked, as a hash that an answer can repeat")
    created_at: datetime
    expires_at: datetime | None
    cut: dict[str, CutInfo] | None = Field(default=None, description="What was left out, by field")


class RequestList(Outgoing):
    requests: list[RequestInfo]
    next: str | None = Field(description="What to give as `after` for more; null: there are no more")


class AnswerRequest(Incoming):
    session_id: Id
    answer: Any
    arguments_hash: Id | None = Field(
        default=None, description="The request's: an answer that was given for anything else is refused"
    )


# Tools and executions


class ToolsQuery(Incoming):
    session_id: Id | None = Field(default=None, description="As this session sees them")
    after: str = Field(default="", max_length=200, description="Only those after this name")
    limit: Limit = MAX_LIST


class ToolList(Outgoing):
    tools: list[dict[str, Any]] = Field(description="Entries of the manifest, by name")
    next: str | None


class Manifest(Outgoing):
    model_config = ConfigDict(extra="allow")

    version: int
    tools: list[dict[str, Any]]


class ExecutionsQuery(Incoming):
    session_id: Id
    before: Id | None = Field(default=None, description="Only those before this execution")
    limit: Limit = 100


class ExecutionInfo(Outgoing):
    execution_id: str
    call_id: str
    tool: str
    status: str
    arguments: Any = Field(description="With secret fields masked")
    value: Any
    error: dict[str, Any] | None
    queued_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    queued_for: float | None
    ran_for: float | None
    attempt: int
    max_attempts: int
    previous_errors: list[dict[str, Any]]
    promoted: bool
    parent_id: str | None
    cut: dict[str, CutInfo] | None = Field(default=None, description="What was left out of a list, by field")


class ExecutionList(Outgoing):
    executions: list[ExecutionInfo] = Field(description="The newest, oldest first")
    next: str | None = Field(description="What to give as `before` for earlier ones; null: there are none")


class RunTool(Incoming):
    session_id: Id
    tool: str = Field(min_length=1, max_length=200)
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])
    call_id: Id | None = None


class OutcomeInfo(Outgoing):
    status: str
    queued: bool = Field(description="Whether it waits for a free place and has not begun")
    execution_id: str
    call_id: str
    tool: str
    value: Any
    error: dict[str, Any] | None


class Cancelled(Outgoing):
    cancelled: bool = Field(description="False where it had ended")


# The whole


class State(Outgoing):
    session_id: str
    messages: list[dict[str, Any]] = Field(description="The newest messages, oldest first")
    messages_next: Number | None = Field(description="What to give `/api/messages` as `before` for earlier ones")
    is_processing: bool = Field(description="Whether a turn runs")
    pending_wallet_tx: RequestInfo | None = Field(description="The oldest transaction that waits for a wallet")
    open_requests: list[RequestInfo] = Field(description="The first that wait for a person, oldest first")
    requests_next: str | None = Field(description="What to give `/api/requests` as `after` for more")
    executions: list[ExecutionInfo] = Field(description="The newest that run or wait, oldest first")
    system_events: list[BoardEvent] = Field(description="Those of the system's family after the cursor")
    system_cursor: Number = Field(description="What to give as `after` for the system's events that follow")
    last_seq: Number = Field(description="The number after which to go on reading")


class Health(Outgoing):
    status: Literal["ok"] = "ok"
